#include "frontend/data/parquet_format.h"

#include <array>
#include <cstring>

#include "frontend/data/thrift.h"
#include "runtime/base/error.h"

namespace smelt::parquet {
namespace {

using Thrift = ThriftReader;

constexpr std::string_view kMark = "PAR1", kEncryptedMark = "PARE";
constexpr int kDeepestSchema = 16;
constexpr int64_t kLargestPage = int64_t{1} << 28;  // bytes
constexpr int64_t kMostValues = int64_t{1} << 24;   // of a page, because runs of equal values take few bytes

/// An element of the schema as it is stored: the children follow it.
struct StoredNode {
  SchemaNode node;
  int64_t children = 0;
};

StoredNode read_element(Thrift& in) {
  StoredNode element;
  in.read_struct([&](int16_t field, Thrift::Type) {
    SchemaNode& node = element.node;
    switch (field) {
      case 1:
        node.type = static_cast<Type>(in.integer());
        return true;
      case 2:
        node.type_length = static_cast<int32_t>(in.integer());
        return true;
      case 3:
        node.repetition = static_cast<Repetition>(in.integer());
        return true;
      case 4:
        node.name = in.text();
        return true;
      case 5:
        element.children = in.integer();
        return true;
      case 6: {
        constexpr int64_t kUtf8 = 0, kEnum = 4, kDecimal = 5, kJson = 19;
        const int64_t converted = in.integer();
        node.is_text |= converted == kUtf8 || converted == kEnum || converted == kJson;
        node.is_decimal |= converted == kDecimal;
        return true;
      }
      default:
        return false;
    }
  });
  return element;
}

ColumnChunk read_chunk_metadata(Thrift& in) {
  ColumnChunk chunk;
  int64_t data_page = 0, dictionary_page = -1, size = 0;
  in.read_struct([&](int16_t field, Thrift::Type) {
    switch (field) {
      case 1:
        chunk.type = static_cast<Type>(in.integer());
        return true;
      case 4:
        chunk.codec = static_cast<Codec>(in.integer());
        return true;
      case 5:
        chunk.values = in.integer();
        return true;
      case 7:
        size = in.integer();
        return true;
      case 9:
        data_page = in.integer();
        return true;
      case 11:
        dictionary_page = in.integer();
        return true;
      default:
        return false;
    }
  });
  chunk.begin = dictionary_page > 0 && dictionary_page < data_page ? dictionary_page : data_page;
  if (size < 0 || chunk.begin < 0 || chunk.begin > INT64_MAX - size) in.fail_damaged("a column's place");
  chunk.end = chunk.begin + size;
  return chunk;
}

RowGroup read_group(Thrift& in) {
  RowGroup group;
  in.read_struct([&](int16_t field, Thrift::Type) {
    if (field == 3) return group.rows = in.integer(), true;
    if (field != 1) return false;
    in.read_list([&](Thrift::Type) {
      ColumnChunk chunk;
      in.read_struct([&](int16_t member, Thrift::Type) {
        if (member == 1) in.fail_damaged("a column is stored in another file: expected one file");
        if (member != 3) return false;
        chunk = read_chunk_metadata(in);
        return true;
      });
      group.columns.push_back(chunk);
    });
    return true;
  });
  return group;
}

/// Makes a tree of the list, in which each element stands before its children.
class SchemaTree {
 public:
  SchemaTree(std::vector<StoredNode>& list, std::string_view file) : list_(list), file_(file) {}

  SchemaNode take(int definition, int repeats, int depth) {
    if (next_ == list_.size() || depth > kDeepestSchema)
      fail_with(Status::invalid_file, "'{}': the schema is damaged or nested too deeply", file_);
    StoredNode stored = std::move(list_[next_++]);
    SchemaNode node = std::move(stored.node);
    if (depth > 0) {
      definition += node.repetition == Repetition::required ? 0 : 1;
      repeats += node.repetition == Repetition::repeated ? 1 : 0;
    }
    node.definition = definition, node.repeats = repeats;
    if (stored.children <= 0 && depth > 0) node.leaf = leaves_++;
    for (int64_t i = 0; i < stored.children; ++i)
      node.children.push_back(take(definition, repeats, depth + 1));
    return node;
  }
  int leaves() const { return leaves_; }

 private:
  std::vector<StoredNode>& list_;
  std::string_view file_;
  size_t next_ = 0;
  int leaves_ = 0;
};

/// The metadata are before their length and the mark at the end of the file.
std::span<const std::byte> footer_of(std::span<const std::byte> bytes, std::string_view file) {
  constexpr size_t kEnd = 8;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kEncryptedMark) || text.ends_with(kEncryptedMark))
    fail_with(Status::invalid_file, "'{}' is an encrypted Parquet file: expected one without encryption",
              file);
  if (bytes.size() < kMark.size() + kEnd || !text.starts_with(kMark) || !text.ends_with(kMark))
    fail_with(Status::invalid_file,
              "'{}' is no whole Parquet file: it does not begin and end with PAR1; was it cut off?", file);
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + bytes.size() - kEnd, sizeof size);
  if (size > bytes.size() - kMark.size() - kEnd)
    fail_with(Status::invalid_file, "'{}': the metadata are said to have {} bytes, more than the file", file,
              size);
  return bytes.subspan(bytes.size() - kEnd - size, size);
}

void check_groups(const FileMetadata& made, size_t file_bytes, std::string_view file) {
  for (const RowGroup& group : made.groups) {
    bool good = group.rows >= 0 && std::ssize(group.columns) == made.leaves;
    for (const ColumnChunk& chunk : group.columns)
      good &= chunk.values >= 0 && chunk.end <= static_cast<int64_t>(file_bytes);
    if (!good)
      fail_with(Status::invalid_file, "'{}': the places of columns are damaged, or the file was cut off",
                file);
  }
}

}  // namespace

FileMetadata read_metadata(std::span<const std::byte> bytes, std::string_view file) {
  Thrift in(footer_of(bytes, file), file);
  FileMetadata made;
  std::vector<StoredNode> schema;
  in.read_struct([&](int16_t field, Thrift::Type) {
    if (field == 2) return in.read_list([&](Thrift::Type) { schema.push_back(read_element(in)); }), true;
    if (field == 4) return in.read_list([&](Thrift::Type) { made.groups.push_back(read_group(in)); }), true;
    return false;
  });
  SchemaTree tree(schema, file);
  made.root = tree.take(0, 0, 0);
  made.leaves = tree.leaves();
  check_groups(made, bytes.size(), file);
  return made;
}

PageHeader read_page_header(std::span<const std::byte> bytes, std::string_view file) {
  Thrift in(bytes, file);
  PageHeader page;
  const auto data = [&](int16_t field, Thrift::Type) {
    switch (field) {
      case 1:
        page.values = in.integer();
        return true;
      case 2:
        page.encoding = static_cast<Encoding>(in.integer());
        return true;
      case 3:
        page.definition_encoding = static_cast<Encoding>(in.integer());
        return true;
      case 4:
        page.repetition_encoding = static_cast<Encoding>(in.integer());
        return true;
      default:
        return false;
    }
  };
  const auto dictionary = [&](int16_t field, Thrift::Type) {
    return field == 1 && (page.values = in.integer(), true);
  };
  const auto data_v2 = [&](int16_t field, Thrift::Type type) {
    switch (field) {
      case 1:
        page.values = in.integer();
        return true;
      case 4:
        page.encoding = static_cast<Encoding>(in.integer());
        return true;
      case 5:
        page.definition_bytes = in.integer();
        return true;
      case 6:
        page.repetition_bytes = in.integer();
        return true;
      case 7:
        page.is_compressed = type == Thrift::yes;
        return true;
      default:
        return false;
    }
  };
  in.read_struct([&](int16_t field, Thrift::Type) {
    switch (field) {
      case 1:
        page.type = static_cast<PageType>(in.integer());
        return true;
      case 2:
        page.size = in.integer();
        return true;
      case 3:
        page.stored = in.integer();
        return true;
      case 5:
        in.read_struct(data);
        return true;
      case 7:
        in.read_struct(dictionary);
        return true;
      case 8:
        in.read_struct(data_v2);
        return true;
      default:
        return false;
    }
  });
  page.header_bytes = in.position();
  const int64_t levels = page.definition_bytes + page.repetition_bytes;
  if (page.size < 0 || page.size > kLargestPage || page.stored < 0 || page.values < 0 ||
      page.values > kMostValues || page.definition_bytes < 0 || page.repetition_bytes < 0 ||
      levels > page.size || levels > page.stored ||
      page.stored > static_cast<int64_t>(bytes.size() - page.header_bytes))
    in.fail_damaged("a page's sizes");
  return page;
}

std::string_view name(Encoding encoding) {
  constexpr std::array<std::string_view, 10> kNames = {
      "PLAIN",          "GROUP_VAR_INT",       "PLAIN_DICTIONARY",        "RLE",
      "BIT_PACKED",     "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
      "RLE_DICTIONARY", "BYTE_STREAM_SPLIT"};
  const auto i = static_cast<size_t>(encoding);
  return i < kNames.size() ? kNames[i] : "unknown";
}

std::string_view name(Codec codec) {
  constexpr std::array<std::string_view, 8> kNames = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                                      "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  const auto i = static_cast<size_t>(codec);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace smelt::parquet
