// Names of classes: the file labels.json of a run, and the names in a model's config.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace smelt::cli {

/// Returns the names of the classes of a model's directory: those of labels.json, or else of id2label in
/// config.json. Returns nothing if neither names them (LABEL_0, LABEL_1, ... are no names).
std::vector<std::string> class_names_of(const std::filesystem::path& model);

/// Writes the names to labels.json in the directory, and to config.json there, if it exists.
void write_class_names(const std::filesystem::path& directory, const std::vector<std::string>& names);

}  // namespace smelt::cli
