// Numbers of packed codes.
#include "ir/evaluate/evaluate_ops.h"
#include "ir/evaluate/rounding.h"
#include "runtime/base/packed_format.h"

namespace smelt::evaluation {
namespace {

template <typename S>
double plain(const S& x) {
  return static_cast<double>(math::primal(x));
}
double plain(const Bounded& x) { return x.value; }

template <typename S>
S product(double x) {
  return S(static_cast<decltype(math::primal(S(0)))>(x));
}
template <>
Bounded product(double x) {
  return bounding::rounded(x, 0, 1);
}

/// The rows of codes, whose bytes are whole numbers in every S.
template <typename S>
uint32_t code_at(const PackedFormat& format, const std::vector<S>& bytes, size_t i) {
  const auto per_word = static_cast<size_t>(format.codes_per_word());
  uint32_t word = 0;
  for (size_t byte = 0; byte < 4; ++byte)
    word |= static_cast<uint32_t>(plain(bytes[i / per_word * 4 + byte])) << 8 * byte;
  return format.code(word, static_cast<int>(i % per_word));
}

}  // namespace

template <typename S>
Arrays<S> evaluate_dequantize(const Call<S>& call) {
  const PackedFormat& format = *find_packed_format(call.node.get(attr::format));
  const Array<S>& scales = call.operand(1);
  const bool has_zeros = call.operands.size() > 2;
  Array<S> result = call.zeros();
  const size_t count = result.data.size(), group = scales.data.empty() ? 1 : count / scales.data.size();
  for (size_t i = 0; i < count; ++i) {
    const double value = double{format.values[code_at(format, call.operand(0).data, i)]},
                 zero = has_zeros ? plain(call.operand(2).data[i / group]) : 0;
    result.data[i] = product<S>((value - zero) * plain(scales.data[i / group]));
  }
  return {stored(call, std::move(result))};
}

SMELT_EVALUATE_ALL(evaluate_dequantize)

}  // namespace smelt::evaluation
