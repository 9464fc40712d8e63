// Operations on the order of elements along an axis: scan and top_k.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/evaluate/evaluate_ops.h"
#include "ir/evaluate/reduction.h"

namespace smelt::evaluation {
namespace {

template <typename S>
S identity_of(const std::string& kind, DType dtype) {
  if (kind == "add") return S(0);
  if (kind == "mul") return S(1);
  if (dtype == DType::i64) return S(static_cast<double>(std::numeric_limits<int64_t>::min()));
  return dtype == DType::i32 ? S(std::numeric_limits<int32_t>::min()) : math::lowest<S>();
}

template <typename S>
S combined(const Node& scan, const std::string& kind, const S& a, const S& b) {
  const DType type = scan.result()->dtype();
  if (kind != "max" && !is_float(type)) {
    const ScalarOp op = kind == "add" ? ScalarOp::add : ScalarOp::mul;
    return number_of_integer<S>(scan, *whole_result(op, type, {math::primal(a), math::primal(b), 0}));
  }
  if (kind == "add") return a + b;
  return kind == "mul" ? a * b : math::maximum(a, b);
}

/// Bounds the effect of the order of a product's factors: some of them together may overflow, or fall below
/// the normal numbers, although the whole product does not.
class PartialProducts {
 public:
  template <typename S>
  void add(const S&) {}
  void add(const Bounded& x) {
    if (!std::isfinite(x.value)) return;
    largest_ *= std::max(1.0, std::fabs(x.value) + x.error);
    if (x.value != 0) least_ *= std::min(1.0, std::fabs(x.value));
  }
  template <typename S>
  S widened(const S& product) const {
    return product;
  }
  Bounded widened(const Bounded& product) const {
    if (product.is_nan()) return product;
    if (!(largest_ <= bounding::kLargest)) return {product.value, bounding::kWild};
    const bool may_be_zero = std::isfinite(product.value) && least_ < bounding::kLeastNormal && largest_ > 1;
    return may_be_zero ? Bounded{product.value, product.error + std::fabs(product.value)} : product;
  }

 private:
  double largest_ = 1, least_ = 1;  // of the products of some of the factors, in size
};

/// NaN comes before every number.
template <typename S>
bool is_larger(const S& a, const S& b) {
  const auto x = math::primal(a), y = math::primal(b);
  return x > y || (std::isnan(x) && !std::isnan(y));
}

/// The ends of the intervals of a row's elements, the largest first.
std::vector<double> ordered_ends(const Bounded* row, int64_t columns, double sign) {
  std::vector<double> ends(static_cast<size_t>(columns));
  std::transform(row, row + columns, ends.begin(),
                 [&](const Bounded& x) { return x.value + sign * x.error; });
  std::ranges::sort(ends, is_larger<double>);
  return ends;
}

/// The i-th largest element is between the i-th largest ends of the intervals.
void bound_values(const Bounded* row, int64_t columns, Bounded* values, int64_t k) {
  const std::vector<double> low = ordered_ends(row, columns, -1), high = ordered_ends(row, columns, 1);
  for (int64_t i = 0; i < std::min(k, columns); ++i) {
    const auto at = static_cast<size_t>(i);
    values[i].error =
        std::max(bounding::distance(low[at], values[i].value), bounding::distance(high[at], values[i].value));
  }
}

/// Marks results for which float32 may have any value of a row, or another order.
void bound_order(const Bounded* row, int64_t columns, const std::vector<int64_t>& order, Bounded* values,
                 Bounded* indices, int64_t k) {
  const bool wild = std::any_of(row, row + columns, [](const Bounded& x) { return x.is_wild(); });
  const auto may_swap = [&](const Bounded& a, const Bounded& b) {
    const double errors = a.error + b.error;
    return errors > 0 && !(std::fabs(a.value - b.value) > errors) && !a.is_nan() && !b.is_nan();
  };
  for (int64_t i = 0; i < std::min(k, columns); ++i) {
    const Bounded& taken = row[order[i]];
    const auto swaps = [&](const Bounded& x) { return &x != &taken && may_swap(x, taken); };
    if (wild) values[i].error = bounding::kWild;
    if (wild || std::any_of(row, row + columns, swaps)) indices[i].error = bounding::kWild;
  }
  if (!wild) bound_values(row, columns, values, k);
}

}  // namespace

template <typename S>
Arrays<S> evaluate_scan(const Call<S>& call) {
  const Array<S>& x = call.operand(0);
  const AxisView view(x.shape, call.node.get(attr::axis));
  const std::string& kind = call.node.get(attr::kind);
  const bool exclusive = call.node.get(attr::exclusive);
  const bool multiplies = kind == "mul" && is_float(call.node.result()->dtype());
  Array<S> result = call.zeros();
  for (int64_t outer = 0; outer < view.outer; ++outer)
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      PartialProducts parts;
      S sum = identity_of<S>(kind, call.node.result()->dtype());
      for (int64_t i = 0; i < view.size; ++i) {
        const int64_t at = (outer * view.size + i) * view.inner + inner;
        if (exclusive) result.data[at] = parts.widened(sum);
        sum = combined(call.node, kind, sum, x.data[at]);
        if (multiplies) parts.add(x.data[at]);
        if (!exclusive) result.data[at] = parts.widened(sum);
      }
    }
  return {std::move(result)};
}

/// Equal elements come in the order of their indices, NaN first. A row of fewer than k elements ends with
/// -inf at the index -1.
template <typename S>
Arrays<S> evaluate_top_k(const Call<S>& call) {
  const Array<S>& x = call.operand(0);
  const int64_t k = call.node.get(attr::k), columns = x.shape.back();
  Arrays<S> results = {call.zeros(0), call.zeros(1)};
  const int64_t rows = static_cast<int64_t>(results[0].data.size()) / k;
  std::vector<int64_t> order(static_cast<size_t>(columns));
  for (int64_t row = 0; row < rows; ++row) {
    const S* from = x.data.data() + row * columns;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return is_larger(from[a], from[b]); });
    for (int64_t i = 0; i < k; ++i) {
      const bool inside = i < columns;
      results[0].data[row * k + i] = inside ? from[order[i]] : math::lowest<S>();
      results[1].data[row * k + i] = S(static_cast<decltype(math::primal(S(0)))>(inside ? order[i] : -1));
    }
    if constexpr (std::is_same_v<S, Bounded>)
      bound_order(from, columns, order, &results[0].data[row * k], &results[1].data[row * k], k);
  }
  return results;
}

SMELT_EVALUATE_ALL(evaluate_scan)
SMELT_EVALUATE_ALL(evaluate_top_k)

}  // namespace smelt::evaluation
