#include "frontend/data/arrow_format.h"

#include <array>

#include "frontend/data/codec.h"

namespace smelt::arrow {
namespace {

constexpr int kDeepestField = 16;
constexpr std::array<std::string_view, 27> kTypeNames = {"unknown",
                                                         "null",
                                                         "int",
                                                         "float",
                                                         "binary",
                                                         "utf8",
                                                         "bool",
                                                         "decimal",
                                                         "date",
                                                         "time",
                                                         "timestamp",
                                                         "interval",
                                                         "list",
                                                         "struct",
                                                         "union",
                                                         "fixed_size_binary",
                                                         "fixed_size_list",
                                                         "map",
                                                         "duration",
                                                         "large_binary",
                                                         "large_utf8",
                                                         "large_list",
                                                         "run_end_encoded",
                                                         "binary_view",
                                                         "utf8_view",
                                                         "list_view",
                                                         "large_list_view"};

/// Numbers of fields in the tables of Arrow's schema.
enum MessageField { kHeaderType = 1, kHeader = 2, kBodyLength = 3 };
enum FieldField { kName = 0, kTypeType = 2, kType = 3, kDictionary = 4, kChildren = 5 };
enum BatchField { kNodes = 1, kBuffers = 2, kCompression = 3 };

int read_bits(const FlatTable& integer, int otherwise) { return integer.number<int32_t>(0, otherwise); }

bool is_list(Type type) { return type == Type::list || type == Type::large_list || type == Type::map; }
bool is_text(Type type) {
  return type == Type::text || type == Type::large_text || type == Type::binary || type == Type::large_binary;
}

[[noreturn]] void refuse_type(const Field& field, uint8_t type, std::string_view file) {
  fail_with(
      Status::invalid_file,
      "'{}', column '{}' has the type {}, which is not read: expected texts, numbers, truth values, lists or "
      "structs of them; cast the column, such as with pyarrow's Table.cast",
      file, field.name, type < kTypeNames.size() ? kTypeNames[type] : kTypeNames[0]);
}

/// Precisions are half, single and double; any other has no bits, and its values are refused.
int real_bits(int16_t precision) {
  constexpr std::array<int, 3> kBits = {16, 32, 64};
  return precision >= 0 && precision < 3 ? kBits[static_cast<size_t>(precision)] : 0;
}

void read_type(const FlatTable& table, Field& field) {
  const std::optional<FlatTable> type = table.table(kType);
  if (!type) return;
  if (field.type == Type::integer) {
    field.bits = read_bits(*type, 0), field.is_signed = type->number<uint8_t>(1, 0) != 0;
  } else if (field.type == Type::real) {
    field.bits = real_bits(type->number<int16_t>(0, 0));
  } else if (field.type == Type::fixed_list) {
    field.list_size = type->number<int32_t>(0, 0);
  }
}

}  // namespace

Field read_field(const FlatTable& table, std::string_view file, int& left, int depth) {
  if (--left < 0) fail_with(Status::invalid_file, "'{}': more than {} columns", file, kMostFields);
  if (depth > kDeepestField) fail_with(Status::invalid_file, "'{}': columns are nested too deeply", file);
  Field field{.name = std::string(table.text(kName))};
  const auto type = table.number<uint8_t>(kTypeType, 0);
  if (type == 0 || type > static_cast<uint8_t>(Type::large_list) || static_cast<Type>(type) == Type::one_of)
    refuse_type(field, type, file);
  field.type = static_cast<Type>(type);
  read_type(table, field);
  if (const auto dictionary = table.table(kDictionary)) {
    field.dictionary = dictionary->number<int64_t>(0, 0);
    if (const auto index = dictionary->table(1))
      field.index_bits = read_bits(*index, 32), field.index_signed = index->number<uint8_t>(1, 0) != 0;
  }
  for (size_t i = 0; i < table.count(kChildren); ++i)
    field.children.push_back(read_field(table.table_at(kChildren, i), file, left, depth + 1));
  const bool one = is_list(field.type) || field.type == Type::fixed_list;
  if ((one && field.children.size() != 1) || field.list_size < 0)
    fail_with(Status::invalid_file, "'{}', column '{}': the list is damaged", file, field.name);
  return field;
}

std::optional<Message> read_message(std::span<const std::byte> bytes, size_t at, std::string_view file) {
  const auto cut = [&]() {
    fail_with(Status::invalid_file, "'{}' ends within a message: the file was cut off", file);
  };
  const auto word = [&](size_t place) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  };
  constexpr size_t kWord = sizeof(int32_t);
  if (at == bytes.size()) return std::nullopt;
  if (at > bytes.size() || bytes.size() - at < 2 * kWord) cut();
  int32_t size = word(at);
  at += kWord;
  if (size == -1) size = word(at), at += kWord;  // before Arrow 0.15 there was no mark
  if (size == 0) return std::nullopt;
  if (size < 0 || static_cast<size_t>(size) > bytes.size() - at) cut();
  const FlatTable message = FlatTable::root(bytes.subspan(at, static_cast<size_t>(size)), file);
  at += static_cast<size_t>(size);
  const auto length = message.number<int64_t>(kBodyLength, 0);
  if (length < 0 || static_cast<size_t>(length) > bytes.size() - at) cut();
  const std::optional<FlatTable> header = message.table(kHeader);
  if (!header) fail_with(Status::invalid_file, "'{}': a message without a header", file);
  const std::string_view body(reinterpret_cast<const char*>(bytes.data()) + at, static_cast<size_t>(length));
  return Message{static_cast<MessageType>(message.number<uint8_t>(kHeaderType, 0)), *header, body,
                 at + static_cast<size_t>(length)};
}

BatchReader::BatchReader(const FlatTable& batch, std::string_view body, std::string_view file)
    : batch_(batch), body_(body), file_(file) {
  constexpr int kZstd = 1;
  if (const auto compression = batch.table(kCompression)) codec_ = compression->number<uint8_t>(0, 0);
  if (codec_ != -1 && codec_ != kZstd)
    fail_with(
        Status::invalid_file,
        "'{}' is compressed by {}, which is not read: expected none or ZSTD; write it anew, such as with "
        "pyarrow.ipc.IpcWriteOptions(compression='zstd')",
        file, codec_ == 0 ? "LZ4_FRAME" : "an unknown codec");
  constexpr int64_t kMostRows = int64_t{1} << 31;
  if (length() < 0 || length() > kMostRows) fail_damaged("the length of a batch");
}

void BatchReader::fail_damaged(std::string_view what) const {
  fail_with(Status::invalid_file, "'{}' is damaged: {}", file_, what);
}

int64_t BatchReader::next_length() {
  const int64_t length = batch_.struct_number(kNodes, node_++, 2, 0);
  if (length < 0) fail_damaged("the length of an array");
  return length;
}

std::string_view BatchReader::next_buffer(std::deque<std::string>& owned) {
  const int64_t offset = batch_.struct_number(kBuffers, buffer_, 2, 0);
  const int64_t length = batch_.struct_number(kBuffers, buffer_++, 2, 1);
  const auto size = static_cast<int64_t>(body_.size());
  if (offset < 0 || length < 0 || offset > size || length > size - offset)
    fail_damaged("a buffer is outside its batch");
  std::string_view stored = body_.substr(static_cast<size_t>(offset), static_cast<size_t>(length));
  if (codec_ == -1 || stored.empty()) return stored;
  int64_t whole = 0;
  if (stored.size() < sizeof whole) fail_damaged("a compressed buffer is too short");
  std::memcpy(&whole, stored.data(), sizeof whole);
  stored.remove_prefix(sizeof whole);
  if (whole == -1) return stored;
  constexpr int64_t kLargest = int64_t{1} << 31;
  if (whole < 0 || whole > kLargest ||
      !decompress(BlockCodec::zstd, stored, static_cast<size_t>(whole), owned.emplace_back()))
    fail_damaged("a buffer cannot be decompressed");
  return owned.back();
}

Array BatchReader::read(const Field& field, std::deque<std::string>& owned) {
  Array array{.field = &field, .length = next_length()};
  if (field.type == Type::null && !field.dictionary) return array;
  array.validity = next_buffer(owned);
  if (field.dictionary) return array.data = next_buffer(owned), array;
  if (is_list(field.type) || is_text(field.type)) array.offsets = next_buffer(owned);
  const bool has_children =
      is_list(field.type) || field.type == Type::structure || field.type == Type::fixed_list;
  if (!has_children) array.data = next_buffer(owned);
  for (const Field& child : field.children) array.children.push_back(read(child, owned));
  return array;
}

void BatchReader::skip(const Field& field) {
  ++node_;
  if (field.type == Type::null && !field.dictionary) return;
  const bool has_children =
      is_list(field.type) || field.type == Type::structure || field.type == Type::fixed_list;
  buffer_ += 1;
  if (field.dictionary) return void(++buffer_);
  buffer_ += (is_list(field.type) || is_text(field.type) ? 1 : 0) + (has_children ? 0 : 1);
  for (const Field& child : field.children) skip(child);
}

}  // namespace smelt::arrow
