#include "runtime/system/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace smelt {
namespace {

using namespace std::string_view_literals;

/// `mark` is located at byte `place`; {} in the conversion is the file, in quotes.
struct Mark {
  std::string_view mark, name, conversion;
  size_t place = 0;
};

constexpr std::string_view kFromPyTorch =
    "python -c \"from transformers import AutoModelForCausalLM as M; "
    "M.from_pretrained('DIR').save_pretrained('NEW_DIR')\" for weights";
constexpr std::string_view kFromColumns =
    "python -c \"import pyarrow.parquet as p; open('data.txt', 'w').writelines(t + '\\n' for t in "
    "p.read_table({})['text'].to_pylist())\"";
constexpr std::string_view kFromArrow =
    "python -c \"import datasets as d; open('data.txt', 'w').writelines(t + '\\n' for t in "
    "d.Dataset.from_file({})['text'])\"";
constexpr std::string_view kFromNumPy =
    "python -c \"import numpy as n; n.load({}).astype('uint16').tofile('ids.u16')\" and --data-format=u16, "
    "for "
    "ids below 65536";

constexpr Mark kMarks[] = {
    {"\x1F\x8B"sv, "a gzip archive", "gunzip -k {}"},
    {"\x1F\x9D"sv, "an archive of compress", "uncompress -k {}"},
    {"\xFD"
     "7zXZ\0"sv,
     "an xz archive", "unxz -k {}"},
    {"LZIP"sv, "an lzip archive", "lzip -dk {}"},
    {"\x28\xB5\x2F\xFD"sv, "a zstd archive", "zstd -dk {}"},
    {"\x04\x22\x4D\x18"sv, "an lz4 archive", "lz4 -dk {}"},
    {"1AY&SY"sv, "a bzip2 archive", "bunzip2 -k {}", 4},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7-Zip archive", "7z x {}"},
    {"Rar!\x1A\x07"sv, "a RAR archive", "unrar x {}"},
    {"ustar"sv, "a tar archive", "tar -xf {}", 257},
    {"PAR1"sv, "a Parquet table", kFromColumns},
    {"ARROW1\0"sv, "an Arrow table", kFromArrow},
    {"FEA1"sv, "a Feather table", kFromArrow},
    {"Obj\x01"sv, "an Avro table", ""},
    {"\x93NUMPY"sv, "a NumPy array", kFromNumPy},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", ""},
    {"SQLite format 3\0"sv, "an SQLite database", "sqlite3 {} 'select text from TABLE' > data.txt"},
    {"%PDF-"sv, "a PDF document", "pdftotext {} data.txt"},
    {"{\\rtf"sv, "an RTF document", ""},
    {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, "an Office document", "libreoffice --convert-to txt {}"},
    {"\x89PNG\r\n\x1A\n"sv, "a PNG picture", ""},
    {"\xFF\xD8\xFF"sv, "a JPEG picture", ""},
    {"\x7F"
     "ELF"sv,
     "a program or library", ""},
    {"GGUF"sv, "a GGUF model", ""},
    {"SMELTPLN"sv, "a compiled plan", ""},
    {"version https://git-lfs.github.com/spec/"sv, "a pointer of Git LFS to a file that is not here",
     "git lfs pull"},
};

constexpr std::string_view kFromUtf16 = "iconv -f UTF-16 -t UTF-8 {} > data.txt",
                           kFromUtf32 = "iconv -f UTF-32 -t UTF-8 {} > data.txt";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string quoted(std::string_view path) { return fmt::format("'{}'", path); }

FileKind kind_of(std::string_view name, std::string_view conversion, std::string_view path) {
  std::string command(conversion);
  if (const size_t hole = command.find("{}"); hole != command.npos) command.replace(hole, 2, quoted(path));
  return {name, command};
}

bool has_mark(std::string_view text, const Mark& mark) {
  return text.size() >= mark.place + mark.mark.size() &&
         text.substr(mark.place, mark.mark.size()) == mark.mark;
}

/// PyTorch's files and NumPy's of several arrays are zip archives, too.
FileKind kind_of_zip(std::string_view text, std::string_view path) {
  const std::string_view names = text.substr(0, 4096);
  if (names.find("data.pkl") != names.npos) return kind_of("a file of PyTorch", kFromPyTorch, path);
  if (names.find(".npy") != names.npos) return kind_of("a file of NumPy arrays", kFromNumPy, path);
  return kind_of("a zip archive", "unzip {}", path);
}

/// Byte order marks, the longer ones first.
std::optional<FileKind> kind_by_byte_order(std::string_view text, std::string_view path) {
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv))
    return kind_of("a text in UTF-32", kFromUtf32, path);
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv))
    return kind_of("a text in UTF-16", kFromUtf16, path);
  return {};
}

/// Without a byte order mark: of the letters of most languages' texts one byte is often zero, and the other
/// one never.
std::optional<FileKind> kind_by_zeros(std::string_view text, std::string_view path) {
  constexpr size_t kSeen = 512, kFewest = 16;
  const std::string_view seen = text.substr(0, std::min(kSeen, text.size()) / 2 * 2);
  std::array<size_t, 2> zeros{};
  for (size_t i = 0; i < seen.size(); ++i) zeros[i % 2] += seen[i] == '\0' ? 1u : 0u;
  const bool little = zeros[0] == 0 && zeros[1] * 4 > seen.size();
  const bool big = zeros[1] == 0 && zeros[0] * 4 > seen.size();
  if (seen.size() < kFewest || (!little && !big)) return {};
  return kind_of(
      "a text in UTF-16",
      little ? "iconv -f UTF-16LE -t UTF-8 {} > data.txt" : "iconv -f UTF-16BE -t UTF-8 {} > data.txt", path);
}

/// Detects 4-byte characters, of whose bytes at least two are always zero.
std::optional<FileKind> kind_by_wide_zeros(std::string_view text, std::string_view path) {
  constexpr size_t kSeen = 512, kFewest = 16;
  const std::string_view seen = text.substr(0, std::min(kSeen, text.size()) / 4 * 4);
  std::array<size_t, 4> zeros{};
  for (size_t i = 0; i < seen.size(); ++i) zeros[i % 4] += seen[i] == '\0' ? 1u : 0u;
  const size_t all = seen.size() / 4;
  const bool little = zeros[0] == 0 && zeros[3] == all && zeros[2] * 4 > all * 3;
  const bool big = zeros[3] == 0 && zeros[0] == all && zeros[1] * 4 > all * 3;
  if (seen.size() < kFewest || (!little && !big)) return {};
  return kind_of(
      "a text in UTF-32",
      little ? "iconv -f UTF-32LE -t UTF-8 {} > data.txt" : "iconv -f UTF-32BE -t UTF-8 {} > data.txt", path);
}

bool is_pickle(std::string_view text) {
  return text.size() > 3 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5 && text.back() == '.';
}

/// A mark, and the length of the first message's metadata.
bool is_arrow_stream(std::string_view text) {
  constexpr uint32_t kMark = 0xFFFFFFFF, kMost = 1 << 24;
  uint32_t words[2];
  if (text.size() < sizeof words) return false;
  std::memcpy(words, text.data(), sizeof words);
  return words[0] == kMark && words[1] > 0 && words[1] < kMost;
}

/// Detects a safetensors file: it begins with the length of a JSON header.
bool is_safetensors(std::string_view text) {
  uint64_t length = 0;
  if (text.size() < sizeof length + 2) return false;
  std::memcpy(&length, text.data(), sizeof length);
  return length >= 2 && length <= text.size() - sizeof length && text[sizeof length] == '{';
}

}  // namespace

std::optional<FileKind> file_kind(std::span<const std::byte> bytes, std::string_view path) {
  const std::string_view text = as_text(bytes);
  if (auto kind = kind_by_byte_order(text, path); kind) return kind;
  if (text.starts_with("PK\x03\x04"sv) || text.starts_with("PK\x05\x06"sv)) return kind_of_zip(text, path);
  if (is_arrow_stream(text)) return kind_of("an Arrow stream", kFromArrow, path);
  if (is_pickle(text)) return kind_of("a pickle of Python", kFromPyTorch, path);
  if (is_safetensors(text)) return kind_of("a safetensors file", "mv {} data.safetensors", path);
  for (const Mark& mark : kMarks)
    if (has_mark(text, mark) && (mark.place != 4 || text.starts_with("BZh")))
      return kind_of(mark.name, mark.conversion, path);
  if (auto kind = kind_by_wide_zeros(text, path); kind) return kind;
  return kind_by_zeros(text, path);
}

std::string wrong_kind(std::string_view path, const FileKind& kind, std::string_view expected) {
  return fmt::format("'{}' is {}: expected {}{}", path, kind.name, expected,
                     kind.conversion.empty() ? "" : "; convert it: " + kind.conversion);
}

}  // namespace smelt
