#include "runtime/ranks/rank_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "runtime/base/error.h"
#include "runtime/base/half.h"

namespace smelt {
namespace {

constexpr int64_t kElements = 256;  // elements that are summed at a time: they stay in the nearest cache

// Storage type of an element, and its type in sums. Integers are summed as unsigned, which wraps.
struct Float32 {
  using Stored = float;
  using Sum = double;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return static_cast<float>(value); }
};
struct Float64 {
  using Stored = double;
  using Sum = double;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};
struct BFloat16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) { return from_bf16(value); }
  static Stored store(Sum value) { return to_bf16(value); }
};
struct Float16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) { return from_f16(value); }
  static Stored store(Sum value) { return to_f16(value); }
};
template <typename T>
struct Integer {
  using Stored = T;
  using Sum = T;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};

struct Add {
  template <typename T>
  static T combine(T a, T b) {
    return a + b;
  }
  static int32_t combine(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }
  static int64_t combine(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct Max {
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return ((a > b) | std::isnan(a)) ? a : b;
    return a > b ? a : b;
  }
};

/// All loops are over a whole block, of which the end may be unused: a constant length is what compilers make
/// vectors for.
template <typename Type, typename Op>
void sum_block(std::span<const std::byte* const> from, std::byte* to, int64_t begin, int64_t count) {
  using Stored = typename Type::Stored;
  const auto offset = begin * static_cast<int64_t>(sizeof(Stored));
  const auto bytes = static_cast<size_t>(count) * sizeof(Stored);
  std::array<Stored, kElements> stored{};
  std::array<typename Type::Sum, kElements> sums;
  std::memcpy(stored.data(), from[0] + offset, bytes);
  for (size_t i = 0; i < kElements; ++i) sums[i] = Type::load(stored[i]);
  for (size_t rank = 1; rank < from.size(); ++rank) {
    std::memcpy(stored.data(), from[rank] + offset, bytes);
    for (size_t i = 0; i < kElements; ++i) sums[i] = Op::combine(sums[i], Type::load(stored[i]));
  }
  for (size_t i = 0; i < kElements; ++i) stored[i] = Type::store(sums[i]);
  std::memcpy(to + offset, stored.data(), bytes);
}

using SumBlock = void (*)(std::span<const std::byte* const>, std::byte*, int64_t, int64_t);

struct SumRow {
  DType dtype;
  SumBlock add, max;
};
template <typename Type>
constexpr SumRow row(DType dtype) {
  return {dtype, sum_block<Type, Add>, sum_block<Type, Max>};
}
constexpr std::array<SumRow, 6> kSums = {
    {row<Float32>(DType::f32), row<BFloat16>(DType::bf16), row<Float16>(DType::f16), row<Float64>(DType::f64),
     row<Integer<int32_t>>(DType::i32), row<Integer<int64_t>>(DType::i64)}};

const SumRow& row_of(DType dtype) {
  const auto found = std::ranges::find(kSums, dtype, &SumRow::dtype);
  if (found == kSums.end())
    fail("a sum over ranks of {}: expected f32, bf16, f16, f64, i32 or i64", name(dtype));
  return *found;
}

}  // namespace

void check_summable(DType dtype) { row_of(dtype); }

void sum_of_ranks(std::span<const std::byte* const> from, std::byte* to, int64_t count, DType dtype,
                  CollectiveSum sum) {
  const SumRow& row = row_of(dtype);
  const SumBlock block = sum == CollectiveSum::add ? row.add : row.max;
  for (int64_t begin = 0; begin < count; begin += kElements)
    block(from, to, begin, std::min(kElements, count - begin));
}

}  // namespace smelt
