// Images with labels as people keep them: a directory for each class, or a table of files and labels next
// to them (the ImageFolder of Hugging Face's datasets).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A file of an image and its class, which has a name, a number, or a text in a table that may be either.
struct LabelledImage {
  std::filesystem::path file;
  std::optional<std::string> class_name = {};
  std::optional<int64_t> number = {};
  std::string fault = {};  // message about an image that cannot be used; empty: it has a label
};

/// The images of a source, and its files that have the ending of no image.
struct ListedImages {
  std::vector<LabelledImage> images = {};
  int64_t others = 0;
  std::string first_other = {};
};

/// Returns the images that a directory, a pattern ("*", "?", "[") or a file names, sorted by their paths. If
/// a directory has a metadata.jsonl, metadata.csv or metadata.parquet, that table names the files
/// ("file_name") and their labels (`label_column`; empty: "label"). Otherwise the class of an image is the
/// name of the directory that it is in; links to directories are followed. Throws Error if there is no image,
/// and if a directory holds several data sets, such as train and test, or directories with such tables.
ListedImages list_images(const std::string& argument, const std::string& label_column);

/// Returns the whole number that a text consists of; nothing if it is none.
std::optional<int64_t> whole_number(std::string_view text);

/// Returns whether the argument, without its share, may name images: a directory, a pattern, or a file with
/// the ending of an image.
bool names_images(const std::string& argument);

}  // namespace smelt
