#include "frontend/data/thrift.h"

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kDeepest = 32;  // nesting of structs and lists
constexpr int kVarintBits = 64;

}  // namespace

void ThriftReader::fail_damaged(std::string_view what) const {
  fail_with(Status::invalid_file, "'{}': the metadata are damaged at byte {}: {}", file_, at_, what);
}

void ThriftReader::enter() {
  if (++depth_ > kDeepest) fail_damaged("they are nested too deeply");
}

uint8_t ThriftReader::byte() {
  if (at_ == bytes_.size()) fail_damaged("they end too early");
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < kVarintBits; shift += 7) {
    const uint8_t next = byte();
    value |= static_cast<uint64_t>(next & 0x7F) << shift;
    if ((next & 0x80) == 0) return value;
  }
  fail_damaged("an integer is too long");
}

int64_t ThriftReader::integer() {
  const uint64_t zigzag = varint();
  return static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
}

std::string_view ThriftReader::text() {
  const uint64_t size = varint();
  if (size > bytes_.size() - at_) fail_damaged("a text is longer than the data");
  const std::string_view value(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
  at_ += size;
  return value;
}

ThriftReader::Type ThriftReader::field_header(int16_t& number) {
  const uint8_t header = byte();
  const auto type = static_cast<Type>(header & 0x0F);
  if (type == stop) return stop;
  const int delta = header >> 4;
  number = static_cast<int16_t>(delta == 0 ? integer() : number + delta);
  return type;
}

ThriftReader::List ThriftReader::list_header() {
  const uint8_t header = byte();
  uint64_t count = header >> 4;
  if (count == 15) count = varint();
  if (count > bytes_.size() - at_) fail_damaged("a list is longer than the data");
  return {static_cast<Type>(header & 0x0F), count};
}

void ThriftReader::skip(Type type) {
  switch (type) {
    case yes:
    case no:
      return;
    case i8:
      byte();
      return;
    case i16:
    case i32:
    case i64:
      varint();
      return;
    case real:
      for (int i = 0; i < 8; ++i) byte();
      return;
    case binary:
      text();
      return;
    case list:
    case set:
      // In a list, truth values have a byte each.
      read_list([&](Type each) { each == yes || each == no ? void(byte()) : skip(each); });
      return;
    case structure:
      read_struct([](int16_t, Type) { return false; });
      return;
    default:
      fail_damaged("an unknown type");
  }
}

}  // namespace smelt
