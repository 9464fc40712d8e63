#include "compiler/cli/shared/prompt_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kExpected = R"(expected {"prompt": "a text"} or {"ids": [15496, 11]})";

bool holds_json(const fs::path& path) {
  constexpr std::array kEndings = {".jsonl", ".ndjson", ".json"};
  return std::ranges::count(kEndings, path.extension()) > 0;
}

[[noreturn]] void wrong(const GivenPrompt& prompt, std::string_view what) {
  fail_with(Status::invalid_file, "'{}': {}", prompt.place, what);
}

bool is_token(const Json& id) {
  return id.is_number_integer() && id >= Json(0) && id <= Json(std::numeric_limits<int32_t>::max());
}

void read_member(const std::string& name, const Json& value, GivenPrompt& prompt) {
  if (name == "prompt") {
    if (!value.is_string()) wrong(prompt, fmt::format("prompt = {}: expected a text", brief(value)));
    prompt.text = value.get<std::string>();
  } else if (name == "ids") {
    if (!value.is_array() || value.empty() || !std::ranges::all_of(value, is_token))
      wrong(prompt, fmt::format("ids = {}: expected a list of at least one token id", brief(value)));
    prompt.ids = value.get<std::vector<int32_t>>();
  } else {
    wrong(prompt, fmt::format("there is no member '{}': {}", name, kExpected));
  }
}

void read_object(std::string_view line, GivenPrompt& prompt) {
  const Json object = parse_json(line, prompt.place);
  if (!object.is_object()) wrong(prompt, fmt::format("{}: {}", kind_of(object), kExpected));
  for (const auto& [name, value] : object.items()) read_member(name, value, prompt);
  if (object.size() != 1)
    wrong(prompt, fmt::format("{}: {}", object.empty() ? "an empty object" : "two members", kExpected));
}

void require_utf8(std::string_view line, const GivenPrompt& prompt) {
  const size_t valid = valid_utf8_prefix(line).valid;
  if (valid != line.size())
    wrong(prompt, fmt::format("byte {} of the line is no UTF-8; save the file as UTF-8", valid + 1));
}

GivenPrompt read_line(std::string_view line, std::string place, int64_t number, bool json) {
  GivenPrompt prompt{.text = {}, .ids = {}, .place = std::move(place), .line = number};
  require_utf8(line, prompt);
  if (json)
    read_object(line, prompt);
  else
    prompt.text = line;
  return prompt;
}

/// Takes the first line from `rest` and returns it without its end.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

}  // namespace

std::vector<GivenPrompt> read_prompt_file(const fs::path& path) {
  const MappedFile file(path);
  std::string_view rest(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  std::vector<GivenPrompt> prompts;
  for (int64_t number = 1; !rest.empty(); ++number)
    if (const std::string_view line = take_line(rest); !is_blank(line))
      prompts.push_back(
          read_line(line, fmt::format("{}, line {}", path.string(), number), number, holds_json(path)));
  if (prompts.empty())
    fail_with(Status::invalid_file, "'{}' holds no prompt: expected one a line", path.string());
  return prompts;
}

}  // namespace smelt::cli
