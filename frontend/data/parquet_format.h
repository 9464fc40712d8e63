// Metadata of Parquet files: the schema, the row groups and the headers of pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::parquet {

// The numbers of the enumerations are those of the format.
enum class Type : int32_t { boolean, int32, int64, int96, real32, real64, bytes, fixed_bytes };
enum class Repetition : int32_t { required, optional, repeated };
enum class Encoding : int32_t {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  bit_packed = 4,
  delta_binary_packed = 5,
  delta_length_byte_array = 6,
  delta_byte_array = 7,
  rle_dictionary = 8,
  byte_stream_split = 9
};
enum class Codec : int32_t { none, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
enum class PageType : int32_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 };

/// An element of the schema, with its children.
struct SchemaNode {
  std::string name;
  Repetition repetition = Repetition::required;
  Type type = Type::bytes;          // of a leaf
  int32_t type_length = 0;          // bytes of a value of fixed_bytes
  bool is_decimal = false;          // numbers with a decimal scale, which are not read
  bool is_text = false;             // bytes are text
  int leaf = -1;                    // number of the leaf; -1: the element has children
  int definition = 0, repeats = 0;  // definition and repetition level of the element
  std::vector<SchemaNode> children = {};
};

/// The values of a leaf in a row group.
struct ColumnChunk {
  Type type = Type::bytes;
  Codec codec = Codec::none;
  int64_t values = 0;          // including nulls
  int64_t begin = 0, end = 0;  // bytes of the file that have the pages
};

struct RowGroup {
  int64_t rows = 0;
  std::vector<ColumnChunk> columns = {};  // by leaf
};

struct FileMetadata {
  SchemaNode root;
  int leaves = 0;
  std::vector<RowGroup> groups;
};

/// Reads the metadata at the end of a file that is in memory. `file` is its name in messages. Throws Error
/// (invalid_file) if they are damaged; counts and positions are checked against the size of the file.
FileMetadata read_metadata(std::span<const std::byte> bytes, std::string_view file);

struct PageHeader {
  PageType type = PageType::data;
  int64_t stored = 0, size = 0;  // bytes of the page in the file, and after decompression
  int64_t values = 0;            // including nulls
  Encoding encoding = Encoding::plain;
  Encoding definition_encoding = Encoding::rle, repetition_encoding = Encoding::rle;
  int64_t definition_bytes = 0, repetition_bytes = 0;  // of data_v2, whose levels are not compressed
  bool is_compressed = true;
  size_t header_bytes = 0;
};

/// Reads the header of the page at the begin of `bytes`.
PageHeader read_page_header(std::span<const std::byte> bytes, std::string_view file);

std::string_view name(Encoding encoding);
std::string_view name(Codec codec);

}  // namespace smelt::parquet
