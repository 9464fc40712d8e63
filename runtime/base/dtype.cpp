#include "runtime/base/dtype.h"

#include <array>

namespace smelt {
namespace {

struct Row {
  DType type;
  std::string_view name;
  int64_t bytes;
  bool is_float;
};

constexpr std::array<Row, 11> kTypes = {{
    {DType::f32, "f32", 4, true},
    {DType::bf16, "bf16", 2, true},
    {DType::f16, "f16", 2, true},
    {DType::f64, "f64", 8, true},
    {DType::i32, "i32", 4, false},
    {DType::i64, "i64", 8, false},
    {DType::u16, "u16", 2, false},
    {DType::u8, "u8", 1, false},
    {DType::boolean, "bool", 1, false},
    {DType::i8, "i8", 1, false},
    {DType::f8e4m3, "f8e4m3", 1, true},
}};

const Row& row(DType type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

std::string_view name(DType type) { return row(type).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& r : kTypes)
    if (r.name == name) return r.type;
  return std::nullopt;
}

int64_t size_of(DType type) { return row(type).bytes; }
bool is_float(DType type) { return row(type).is_float; }

}  // namespace smelt
