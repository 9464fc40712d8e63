#include "frontend/json_text.h"

#include <set>
#include <vector>

#include "runtime/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

// Far above any description; keeps the recursion of nlohmann's own functions small.
constexpr int kDeepest = 64;
constexpr std::uintmax_t kLargestFile = 64u << 20;

/// Sees every event of a parse and objects to what a DOM would silently take.
class Strict {
 public:
  explicit Strict(std::string_view file) : file_(file) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kDeepest)
      fail_with(Status::invalid_file, "{}: nested deeper than {} levels", file_, kDeepest);
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second)
      fail_with(Status::invalid_file, "{}: key {} stands twice in one object", file_, brief(parsed));
    return true;
  }

 private:
  std::string_view file_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view file) {
  Strict strict(file);
  try {
    return Json::parse(text.begin(), text.end(), [&](int depth, Json::parse_event_t event, Json& parsed) {
      return strict(depth, event, parsed);
    });
  } catch (const Json::exception& error) {
    fail_with(Status::invalid_file, "{}: not valid JSON: {}", file, error.what());
  }
}

Json read_json_file(const std::filesystem::path& path) {
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (!code && size > kLargestFile)
    fail_with(Status::invalid_file, "{}: {} bytes, expected a text of at most {}", path.string(), size,
              kLargestFile);
  return parse_json(read_text_file(path), path.string());
}

std::string brief(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_number_integer()) return "an integer";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

}  // namespace smelt
