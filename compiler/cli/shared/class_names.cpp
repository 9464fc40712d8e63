#include "compiler/cli/shared/class_names.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLabels = "labels.json", *kConfig = "config.json", *kNames = "id2label",
                     *kNumbers = "label2id";

std::vector<std::string> names_in_table(const fs::path& file) {
  const Json table = read_json_file(file);
  std::vector<std::string> names;
  if (table.is_array())
    for (const Json& name : table)
      if (name.is_string()) names.push_back(name.get<std::string>());
  if (names.empty() || names.size() != table.size())
    fail_with(Status::invalid_file, "'{}': expected a list of texts, the names of the classes",
              file.string());
  return names;
}

std::vector<std::string> names_in_config(const fs::path& file) {
  const Json config = read_json_file(file);
  std::vector<std::string> names;
  if (!config.is_object() || !config.contains(kNames) || !config[kNames].is_object()) return names;
  for (size_t i = 0; i < config[kNames].size(); ++i) {
    const auto name = config[kNames].find(std::to_string(i));
    if (name == config[kNames].end() || !name->is_string()) return {};
    if (*name == fmt::format("LABEL_{}", i)) return {};
    names.push_back(name->get<std::string>());
  }
  return names;
}

}  // namespace

std::vector<std::string> class_names_of(const fs::path& model) {
  if (fs::is_regular_file(model / kLabels)) return names_in_table(model / kLabels);
  if (fs::is_regular_file(model / kConfig)) return names_in_config(model / kConfig);
  return {};
}

void write_class_names(const fs::path& directory, const std::vector<std::string>& names) {
  if (names.empty()) return;
  write_file(directory / kLabels, Json(names).dump(1) + "\n");
  if (!fs::is_regular_file(directory / kConfig)) return;
  auto config = parse_ordered_json(read_text_file(directory / kConfig), (directory / kConfig).string());
  auto numbers = nlohmann::ordered_json::object(), texts = nlohmann::ordered_json::object();
  for (size_t i = 0; i < names.size(); ++i) texts[std::to_string(i)] = names[i], numbers[names[i]] = i;
  config[kNames] = texts, config[kNumbers] = numbers;
  write_file(directory / kConfig, config.dump(2) + "\n");
}

}  // namespace smelt::cli
