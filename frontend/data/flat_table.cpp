#include "frontend/data/flat_table.h"

namespace smelt {

FlatTable FlatTable::root(std::span<const std::byte> bytes, std::string_view file) {
  FlatTable none(bytes, file, 0);
  return {bytes, file, none.follow(0)};
}

FlatTable::FlatTable(std::span<const std::byte> bytes, std::string_view file, size_t at)
    : bytes_(bytes), file_(file), at_(at) {
  if (at == 0) return;  // the buffer itself
  const auto list = static_cast<int64_t>(at) - load<int32_t>(at);
  if (list < 0) fail_damaged();
  fields_ = static_cast<size_t>(list);
  fields_end_ = fields_ + load<uint16_t>(fields_);
}

size_t FlatTable::place(int field) const {
  constexpr size_t kHeader = 4;  // the sizes of the list and of the table
  const size_t entry = fields_ + kHeader + 2 * static_cast<size_t>(field);
  if (entry + 2 > fields_end_) return 0;
  const auto offset = load<uint16_t>(entry);
  return offset == 0 ? 0 : at_ + offset;
}

std::optional<FlatTable> FlatTable::table(int field) const {
  const size_t at = place(field);
  if (at == 0) return std::nullopt;
  return FlatTable(bytes_, file_, follow(at));
}

std::string_view FlatTable::text(int field) const {
  const size_t at = place(field);
  if (at == 0) return {};
  const size_t begin = follow(at), size = load<uint32_t>(begin);
  if (bytes_.size() - begin - sizeof(uint32_t) < size) fail_damaged();
  return {reinterpret_cast<const char*>(bytes_.data()) + begin + sizeof(uint32_t), size};
}

size_t FlatTable::count(int field) const {
  const size_t at = place(field);
  if (at == 0) return 0;
  const size_t count = load<uint32_t>(follow(at));
  if (count > bytes_.size()) fail_damaged();
  return count;
}

size_t FlatTable::element(int field, size_t i, size_t bytes_each) const {
  if (i >= count(field)) fail_damaged();
  return follow(place(field)) + sizeof(uint32_t) + i * bytes_each;
}

FlatTable FlatTable::table_at(int field, size_t i) const {
  return {bytes_, file_, follow(element(field, i, sizeof(uint32_t)))};
}

int64_t FlatTable::struct_number(int field, size_t i, size_t numbers, size_t number) const {
  return load<int64_t>(element(field, i, numbers * sizeof(int64_t)) + number * sizeof(int64_t));
}

}  // namespace smelt
