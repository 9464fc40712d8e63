// Detection of file formats by their first bytes, for error messages about a file that has another format
// than expected.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// A file format.
struct FileKind {
  std::string_view name;   // for example "a gzip archive"
  std::string conversion;  // command that converts the file to text or to the expected format; may be empty
};

/// Returns the format of a file with these first bytes; nothing for UTF-8 text and for unknown formats. Text
/// in UTF-16 or UTF-32 is a format of its own. `path` is used in FileKind::conversion.
std::optional<FileKind> file_kind(std::span<const std::byte> bytes, std::string_view path);

/// Returns the text of an error: "'t.gz' is a gzip archive: expected a text; convert it with ...".
std::string wrong_kind(std::string_view path, const FileKind& kind, std::string_view expected);

}  // namespace smelt
