// Files by their first bytes: those that are often given where a text, or a file of another kind, is
// expected.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

struct FileKind {
  std::string_view name;   // "a gzip archive"
  std::string conversion;  // a command that makes text, or what is expected, of it; empty where there is none
};

/// Returns the kind of a file that holds these bytes and is called `path`; nothing for texts and for bytes
/// that have no such mark. UTF-16 and UTF-32 are kinds, too: texts are read as UTF-8.
std::optional<FileKind> file_kind(std::span<const std::byte> bytes, std::string_view path);

/// "'t.gz' is a gzip archive: expected a text; convert it with ..."
std::string wrong_kind(std::string_view path, const FileKind& kind, std::string_view expected);

}  // namespace smelt
