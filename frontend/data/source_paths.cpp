#include "frontend/data/source_paths.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

bool is_pattern(const std::string& path) {
  std::error_code ignored;
  return path.find_first_of("*?[") != path.npos && !fs::exists(path, ignored);
}

std::vector<fs::path> matches(const std::string& pattern) {
  ::glob_t found{};
  const std::unique_ptr<::glob_t, void (*)(::glob_t*)> owner(&found, &::globfree);
  if (::glob(pattern.c_str(), 0, nullptr, &found) != 0 || found.gl_pathc == 0)
    fail_with(Status::io, "no file matches the pattern '{}'", pattern);
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

/// The files that Hugging Face's save_to_disk lists.
std::vector<fs::path> listed_files(const fs::path& directory) {
  const Json state = read_json_file(directory / "state.json");
  std::vector<fs::path> files;
  if (state.is_object() && state.contains("_data_files") && state["_data_files"].is_array())
    for (const Json& file : state["_data_files"])
      if (file.is_object() && file.contains("filename") && file["filename"].is_string())
        files.push_back(directory / fs::path(file["filename"].get<std::string>()).filename());
  if (files.empty())
    fail_with(Status::invalid_file, "'{}': _data_files names no file: expected what save_to_disk writes",
              (directory / "state.json").string());
  return files;
}

std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(directory); entry != fs::recursive_directory_iterator();
       ++entry) {
    if (is_hidden(entry->path()) && entry->is_directory()) entry.disable_recursion_pending();
    if (entry->is_regular_file() && !is_hidden(entry->path()) && row_format_of(entry->path()))
      files.push_back(entry->path());
  }
  const auto is_text = [](const fs::path& file) { return row_format_of(file) == RowFormat::text; };
  if (!std::ranges::all_of(files, is_text)) std::erase_if(files, is_text);  // such as a licence
  std::ranges::sort(files);
  if (files.empty())
    fail_with(
        Status::invalid_file,
        "'{}': the directory has no file with rows: expected *.jsonl, *.csv, *.tsv, *.parquet, *.arrow or "
        "*.txt, or one of these with .gz or .zst",
        directory.string());
  return files;
}

/// A dictionary of data sets has a directory for each of them.
[[noreturn]] void refuse_splits(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    if (entry.is_directory()) names.push_back(entry.path().string());
  std::ranges::sort(names);
  fail("'{}' holds several data sets: name one of '{}'", directory.string(), fmt::join(names, "', '"));
}

std::vector<fs::path> files_of(const fs::path& directory) {
  if (fs::exists(directory / "dataset_dict.json")) refuse_splits(directory);
  return fs::exists(directory / "state.json") ? listed_files(directory) : files_below(directory);
}

}  // namespace

NamedSource name_source(const std::string& argument) {
  const size_t at = argument.rfind('=');
  std::error_code ignored;
  if (at == argument.npos || at == 0 || fs::exists(argument, ignored)) return {argument, std::nullopt};
  double weight = 0;
  const char *begin = argument.data() + at + 1, *end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(begin, end, weight);
  if (error != std::errc() || stop != end) return {argument, std::nullopt};
  if (!std::isfinite(weight) || weight <= 0)
    fail("'{}': a share of {}: expected a number above 0, such as {}=0.7", argument, weight,
         argument.substr(0, at));
  return {argument.substr(0, at), weight};
}

DataSource read_source(const std::string& argument) {
  const NamedSource named = name_source(argument);
  DataSource source{named.path, named.weight, {}};
  if (is_pattern(named.path))
    source.files = matches(named.path);
  else if (fs::is_directory(named.path))
    source.files = files_of(named.path);
  else
    source.files = {named.path};
  return source;
}

bool names_rows(const std::string& argument) {
  const NamedSource named = name_source(argument);
  if (named.weight || named.path == "-" || is_pattern(named.path)) return true;
  std::error_code ignored;
  if (fs::is_directory(named.path, ignored) || is_compressed_name(named.path)) return true;
  const auto format = row_format_of(named.path);
  return format && *format != RowFormat::text;
}

}  // namespace smelt
