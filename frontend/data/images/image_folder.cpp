#include "frontend/data/images/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "frontend/data/rows.h"
#include "frontend/data/source_paths.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

/// Endings of images; those that are neither JPEG nor PNG are listed, so that they are refused by name.
constexpr std::array<std::string_view, 13> kEndings = {".jpg",  ".jpeg", ".jpe", ".jfif", ".png",
                                                       ".webp", ".gif",  ".bmp", ".tif",  ".tiff",
                                                       ".ppm",  ".avif", ".heic"};
constexpr std::array<std::string_view, 3> kTables = {"metadata.jsonl", "metadata.csv", "metadata.parquet"};
constexpr std::array<std::string_view, 6> kSplits = {"train", "test", "validation", "valid", "val", "dev"};

bool has_image_ending(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

bool begins_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_split(const fs::path& directory) {
  return std::ranges::find(kSplits, directory.filename().string()) != kSplits.end();
}

std::optional<fs::path> table_in(const fs::path& directory) {
  std::vector<std::string> found;
  for (const std::string_view name : kTables)
    if (fs::is_regular_file(directory / name)) found.push_back((directory / name).string());
  if (found.size() > 1) fail("there are '{}': expected one of them", fmt::join(found, "' and '"));
  return found.empty() ? std::nullopt : std::optional<fs::path>(found[0]);
}

[[noreturn]] void refuse_parts(const fs::path& directory, std::vector<std::string> parts) {
  std::ranges::sort(parts);
  fail("'{}' holds several data sets: name one of '{}'", directory.string(), fmt::join(parts, "', '"));
}

/// The class of an image has the name of its directory, also if that is "." or "..".
LabelledImage with_class_of_directory(const fs::path& file) {
  return {.file = file,
          .class_name = fs::absolute(file).lexically_normal().parent_path().filename().string()};
}

LabelledImage without_class(const fs::path& file) {
  return {.file = file,
          .fault = fmt::format("'{}': it is in no directory of a class: expected CLASS/{}, or a "
                               "metadata.jsonl or metadata.csv with its label",
                               file.string(), file.filename().string())};
}

/// A walk through directories of classes, which follows links, but not to a directory that it is in.
class ClassWalk {
 public:
  explicit ClassWalk(const fs::path& root) {
    enter(root);
    refuse_data_sets(root);
  }
  ListedImages listed;

 private:
  void enter(const fs::path& directory) {
    const fs::path real = fs::canonical(directory);
    if (std::ranges::find(above_, real) != above_.end()) return;
    above_.push_back(real);
    if (above_.size() > 1 && table_in(directory)) with_table_.push_back(directory.string());
    for (const auto& entry : fs::directory_iterator(directory))
      if (!begins_hidden(entry.path())) visit(entry);
    above_.pop_back();
  }

  void visit(const fs::directory_entry& entry) {
    if (entry.is_directory()) {
      if (above_.size() == 1) tops_.push_back(entry.path());
      enter(entry.path());
    } else if (has_image_ending(entry.path())) {
      listed.images.push_back(above_.size() > 1 ? with_class_of_directory(entry.path())
                                                : without_class(entry.path()));
      if (above_.size() == 2) classes_.insert(entry.path().parent_path());
    } else {
      note_other(entry.path());
    }
  }

  void note_other(const fs::path& path) {
    if (listed.others++ == 0 || path.string() < listed.first_other) listed.first_other = path.string();
  }

  /// A directory of a class has images, and that of a part of the data has directories of classes, or a
  /// table, or is one of parts alone.
  void refuse_data_sets(const fs::path& root) const {
    if (!with_table_.empty()) refuse_parts(root, with_table_);
    const bool parts_alone = std::ranges::all_of(tops_, is_split);
    std::vector<std::string> parts;
    for (const fs::path& top : tops_)
      if (is_split(top) && (parts_alone || !classes_.contains(top))) parts.push_back(top.string());
    if (!parts.empty()) refuse_parts(root, parts);
  }

  std::vector<fs::path> above_;  // real paths, from the root to the current directory
  std::vector<fs::path> tops_;   // directories in the root
  std::set<fs::path> classes_;   // those of them that have images
  std::vector<std::string> with_table_;
};

/// Reads a row of a table: the name of a file, and a label.
LabelledImage labelled_by(const std::vector<Cell>& cells, const RowReader& reader,
                          const fs::path& directory) {
  LabelledImage image;
  const auto refuse = [&](const char* expected) {
    image.fault = fmt::format("'{}', row {}: expected {}", reader.file(), reader.row(), expected);
    return image;
  };
  if (!cells[0].is_string() || cells[0].get_ref<const std::string&>().empty())
    return refuse("the name of a file in 'file_name'");
  image.file = directory / cells[0].get<std::string>();
  if (cells[1].is_number_integer())
    image.number = cells[1].get<int64_t>();
  else if (cells[1].is_string() && !cells[1].get_ref<const std::string&>().empty())
    image.class_name = cells[1].get<std::string>(), image.number = whole_number(*image.class_name);
  else
    return refuse("a label, which is a text or a whole number");
  return image;
}

std::vector<LabelledImage> images_by_table(const fs::path& table, const std::string& label_column) {
  const auto reader = open_rows(table, *row_format_of(table),
                                {{"file_name"}, {label_column.empty() ? "label" : label_column}});
  std::vector<LabelledImage> images;
  std::vector<Cell> cells;
  for (bool more = true; more;) {
    try {
      more = reader->next(cells);
      if (more) images.push_back(labelled_by(cells, *reader, table.parent_path()));
    } catch (const RowError& error) {
      images.push_back({.file = {}, .fault = error.what()});
      more = !error.ends_file();
    }
  }
  return images;
}

ListedImages images_in(const fs::path& directory, const std::string& label_column) {
  if (const auto table = table_in(directory)) return {.images = images_by_table(*table, label_column)};
  if (!label_column.empty())
    fail("--label-field {}: '{}' has no metadata.jsonl, metadata.csv or metadata.parquet with that column",
         label_column, directory.string());
  return ClassWalk(directory).listed;
}

}  // namespace

ListedImages list_images(const std::string& argument, const std::string& label_column) {
  const NamedSource named = name_source(argument);
  if (named.weight) fail("'{}': sources of images have no shares: leave out ={}", named.path, *named.weight);
  ListedImages listed;
  std::error_code ignored;
  if (fs::is_directory(argument, ignored))
    listed = images_in(argument, label_column);
  else
    for (const fs::path& file : read_source(argument).files)
      listed.images.push_back(with_class_of_directory(file));
  if (listed.images.empty())
    fail_with(Status::invalid_file, "'{}' has no images: expected CLASS/*.jpg or CLASS/*.png", argument);
  std::ranges::stable_sort(listed.images, {}, &LabelledImage::file);
  return listed;
}

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool names_images(const std::string& argument) {
  const std::string path = name_source(argument).path;
  std::error_code ignored;
  return fs::is_directory(path, ignored) || has_image_ending(path) ||
         (path.find_first_of("*?[") != path.npos && fs::path(path).extension() != ".safetensors");
}

}  // namespace smelt
