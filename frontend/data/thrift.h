// Reader of Thrift's compact protocol, in which Parquet stores its metadata. The data are untrusted: every
// length is checked against the bytes that are left.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace smelt {

/// Reads the fields of structs in the order in which they are stored. Every function throws Error
/// (invalid_file) if the data end too early or are not of the protocol.
class ThriftReader {
 public:
  enum Type : uint8_t {
    stop = 0,
    yes = 1,
    no = 2,
    i8 = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    real = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12
  };

  ThriftReader(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  /// Calls field(number, type) for each field of a struct. The function returns whether it has read the
  /// value; a value that it has not read is skipped.
  template <typename F>
  void read_struct(F field) {
    enter();
    int16_t number = 0;
    for (Type type = field_header(number); type != stop; type = field_header(number))
      if (!field(number, type)) skip(type);
    --depth_;
  }
  /// Calls element(type) for each element of a list, which the function must read.
  template <typename F>
  void read_list(F element) {
    const auto [type, count] = list_header();
    enter();
    for (uint64_t i = 0; i < count; ++i) element(type);
    --depth_;
  }
  int64_t integer();
  std::string_view text();
  void skip(Type type);
  /// Returns the number of bytes that were read.
  size_t position() const { return at_; }
  [[noreturn]] void fail_damaged(std::string_view what) const;

 private:
  struct List {
    Type type;
    uint64_t count;
  };
  Type field_header(int16_t& number);
  List list_header();
  uint8_t byte();
  uint64_t varint();
  void enter();

  std::span<const std::byte> bytes_;
  std::string file_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace smelt
