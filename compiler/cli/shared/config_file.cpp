#include "compiler/cli/shared/config_file.h"

#include <algorithm>

#include "compiler/cli/shared/usage.h"
#include "compiler/cli/shared/words.h"
#include "compiler/driver/option_table.h"
#include "frontend/transformer_spec.h"
#include "ir/text/names.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

std::string option_name(std::string key) {
  std::ranges::replace(key, '_', '-');
  return "--" + key;
}

std::string json_name(const CLI::Option& option) {
  std::string key = option.get_lnames().front();
  std::ranges::replace(key, '-', '_');
  return key;
}

bool belongs_in_file(const CLI::Option& option) {
  if (option.get_lnames().empty()) return false;
  const std::string& name = option.get_lnames().front();
  return name != "help" && name != "config" && name != "version";
}

std::string word(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> words(const Json& value) {
  if (!value.is_array()) return {word(value)};
  std::vector<std::string> list;
  for (const Json& item : value) list.push_back(word(item));
  return list;
}

std::vector<std::string> keys_of(const CLI::App& command) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options())
    if (belongs_in_file(*option)) keys.push_back(json_name(*option));
  return keys;
}

void set(CLI::Option& option, const Json& value) {
  const bool flag = option.get_expected_min() == 0;
  if (flag && !value.is_boolean() && !value.is_number())
    fail("expected true or false, found {}", brief(value));
  for (std::string& text : words(value)) option.add_result(guarded(std::move(text)));
  option.run_callback();
}

/// Numbers and truth values as such, all else as text.
Json typed(const std::string& text) {
  const Json value = parse_json_or_null(text);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

/// "[a,b]" of the library's defaults, or one value.
Json default_of(const CLI::Option& option) {
  if (option.get_expected_min() == 0) return false;
  return option.get_default_str().empty() ? Json() : typed(option.get_default_str());
}

Json value_of(const CLI::Option& option) {
  if (option.count() == 0) return default_of(option);
  const std::vector<std::string>& results = option.results();
  if (option.get_expected_max() <= 1 && results.size() == 1) return typed(results[0]);
  Json list = Json::array();
  for (const std::string& text : results) list.push_back(typed(text));
  return list;
}

}  // namespace

void read_config(CLI::App& command, const std::string& path) {
  const Json json = read_json_file(path);
  if (!json.is_object()) fail("{}: expected one JSON object, options by name", path);
  std::vector<SpecProblem> problems;
  for (const auto& [key, value] : json.items()) {
    CLI::Option* option = command.get_option_no_throw(option_name(key));
    if (!option || !belongs_in_file(*option)) {
      const CLI::Option* now = command.get_option_no_throw(option_name(std::string(new_name(key))));
      problems.push_back({key, now ? fmt::format("is now {}", json_name(*now))
                                   : "is no option of this command" + did_you_mean(key, keys_of(command))});
      continue;
    }
    if (option->count() > 0 || value.is_null()) continue;
    try {
      set(*option, value);
    } catch (const std::exception& error) {
      problems.push_back({key, plain_problem(&command, error.what())});
    }
  }
  if (!problems.empty()) fail_with_problems(path, problems);
}

Json resolved_config(const CLI::App& command) {
  Json json = Json::object();
  for (const CLI::Option* option : command.get_options())
    if (belongs_in_file(*option))
      if (Json value = value_of(*option); !value.is_null()) json[json_name(*option)] = std::move(value);
  return json;
}

}  // namespace smelt::cli
