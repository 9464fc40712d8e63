// Reader of FlatBuffers, in which Arrow stores its metadata. The data are untrusted: every position is
// checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace smelt {

/// A table: fields with numbers, each of which may be missing. Functions throw Error (invalid_file) if a
/// position is outside the data.
class FlatTable {
 public:
  /// Returns the root table of a buffer. `file` is used in messages, and must outlive the table.
  static FlatTable root(std::span<const std::byte> bytes, std::string_view file);

  /// Returns a number; `otherwise` if the field is missing.
  template <typename T>
  T number(int field, T otherwise) const {
    const size_t at = place(field);
    return at == 0 ? otherwise : load<T>(at);
  }
  std::optional<FlatTable> table(int field) const;
  std::string_view text(int field) const;

  /// Returns the number of elements of a vector; 0 if it is missing.
  size_t count(int field) const;
  /// Returns element `i` of a vector of tables.
  FlatTable table_at(int field, size_t i) const;
  /// Returns number `number` of element `i` of a vector of structs of `numbers` int64 each.
  int64_t struct_number(int field, size_t i, size_t numbers, size_t number) const;

 private:
  FlatTable(std::span<const std::byte> bytes, std::string_view file, size_t at);
  template <typename T>
  T load(size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) fail_damaged();
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  /// Returns the position of a field's value; 0 if it is missing.
  size_t place(int field) const;
  /// Returns the position that the offset at `at` refers to.
  size_t follow(size_t at) const { return at + load<uint32_t>(at); }
  size_t element(int field, size_t i, size_t bytes_each) const;
  [[noreturn]] void fail_damaged() const {
    fail_with(Status::invalid_file, "'{}': the metadata are damaged", file_);
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t at_ = 0, fields_ = 0, fields_end_ = 0;  // the table, and its list of fields
};

}  // namespace smelt
