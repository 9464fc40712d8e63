// Messages and arrays of Arrow's IPC format.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/data/flat_table.h"
#include "frontend/data/rows.h"

namespace smelt::arrow {

// The numbers are those of the format.
enum class Type : uint8_t {
  none = 0,
  null = 1,
  integer = 2,
  real = 3,
  binary = 4,
  text = 5,
  boolean = 6,
  decimal = 7,
  date = 8,
  time = 9,
  timestamp = 10,
  interval = 11,
  list = 12,
  structure = 13,
  one_of = 14,
  fixed_binary = 15,
  fixed_list = 16,
  map = 17,
  duration = 18,
  large_binary = 19,
  large_text = 20,
  large_list = 21
};
enum class MessageType : uint8_t { none = 0, schema = 1, dictionary = 2, batch = 3 };

/// A column, or an element of a column.
struct Field {
  std::string name;
  Type type = Type::none;
  int bits = 0;  // of an integer or float
  bool is_signed = true;
  int64_t list_size = 0;                   // of fixed_list
  std::optional<int64_t> dictionary = {};  // its values are positions in this dictionary
  int index_bits = 32;                     // of these positions
  bool index_signed = true;
  std::vector<Field> children = {};
};

/// The most fields of a schema. Tables of a schema may be shared, so that few bytes can mean very many
/// fields.
inline constexpr int kMostFields = 100'000;
/// Reads a field of a schema. `left`: fields that the schema may still have. Throws Error naming the column
/// and the type if the type is not read.
Field read_field(const FlatTable& table, std::string_view file, int& left, int depth = 0);

/// A message: its metadata, and the bytes after them.
struct Message {
  MessageType type;
  FlatTable header;
  std::string_view body;
  size_t end;  // of the message in the file
};

/// Reads the message at byte `at` of a file. Returns nothing at the end of the stream. Throws Error
/// (invalid_file) if the message is damaged or the file ends within it.
std::optional<Message> read_message(std::span<const std::byte> bytes, size_t at, std::string_view file);

/// The values of a field in a batch.
struct Array {
  const Field* field = nullptr;
  int64_t length = 0;
  std::string_view validity = {}, offsets = {}, data = {};  // empty: there is none
  std::vector<Array> children = {};
};

/// Reads the arrays of a batch one by one, in the order of the fields.
class BatchReader {
 public:
  BatchReader(const FlatTable& batch, std::string_view body, std::string_view file);
  /// Returns the array of the next field. Decompressed buffers are appended to `owned`.
  Array read(const Field& field, std::deque<std::string>& owned);
  /// Passes over the array of the next field.
  void skip(const Field& field);
  int64_t length() const { return batch_.number<int64_t>(0, 0); }

 private:
  int64_t next_length();
  std::string_view next_buffer(std::deque<std::string>& owned);
  [[noreturn]] void fail_damaged(std::string_view what) const;

  FlatTable batch_;
  std::string_view body_, file_;
  int codec_ = -1;  // -1: buffers are not compressed
  size_t node_ = 0, buffer_ = 0;
};

}  // namespace smelt::arrow
