// Sources of data, as the command line names them: files, directories, patterns, and their shares.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "frontend/data/rows.h"

namespace smelt {

/// A source: its files in order, and the share of an epoch that it has among the others.
struct DataSource {
  std::string text;              // as the user named it, without the share
  std::optional<double> weight;  // above 0; nothing: no share was named
  std::vector<std::filesystem::path> files;
};

/// A source as the user named it: its path, and its share.
struct NamedSource {
  std::string path;
  std::optional<double> weight;
};

/// Divides "PATH=WEIGHT"; without a share, or if a file of the whole name exists, all is the path.
NamedSource name_source(const std::string& argument);

/// Returns the source that "PATH" or "PATH=WEIGHT" names. A directory has its files with rows, in the order
/// of their names, or the files that its state.json lists (Hugging Face's save_to_disk). A pattern ("*", "?",
/// "[") has the files that match it. "-" is standard input. Throws Error if there is no such file.
DataSource read_source(const std::string& argument);

/// Returns whether the argument names rows rather than one file of text, tokens or tensors: a format of rows,
/// a compressed file, a directory, a pattern, standard input, or a share.
bool names_rows(const std::string& argument);

}  // namespace smelt
