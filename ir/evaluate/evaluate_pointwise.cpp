// Leaves, pointwise operations, conversions and random numbers.
#include "ir/evaluate/evaluate_ops.h"
#include "ir/evaluate/rounding.h"
#include "ir/evaluate/scalar_reference.h"

namespace smelt::evaluation {

namespace {

/// Kernels have the number of its type that is nearest to a constant; folded constants may be between such
/// numbers.
void bound_constants(Array<Bounded>& constants, DType type) {
  if (!is_float(type)) return;
  for (Bounded& x : constants.data) x.error = bounding::distance(round_to(type, x.value), x.value);
}

}  // namespace

template <typename S>
Arrays<S> evaluate_constant(const Call<S>& call) {
  Array<S> result = call.zeros();
  if (call.node.has(attr::values)) {
    const std::vector<double>& values = call.node.get(attr::values);
    result.data.assign(values.begin(), values.end());
  } else {
    result.data.assign(result.data.size(), S(call.node.get(attr::value)));
  }
  if constexpr (std::is_same_v<S, Bounded>) bound_constants(result, call.node.result()->dtype());
  return {std::move(result)};
}

template <typename S>
Arrays<S> evaluate_iota(const Call<S>& call) {
  Array<S> result = call.zeros();
  const AxisView view(call.shape(), call.node.get(attr::axis));
  for (size_t i = 0; i < result.data.size(); ++i)
    result.data[i] = S(static_cast<double>(static_cast<int64_t>(i) / view.inner % view.size));
  return {std::move(result)};
}

namespace {

/// Part `part` of `parts` of a batch draws what a micro-step of its own would.
Philox philox_of(const Node& node, const EvaluateOptions& options) {
  Philox philox = options.philox;
  if (!node.has(attr::parts)) return philox;
  const int64_t parts = node.get(attr::parts), part = node.get(attr::part).evaluate(options.symbols);
  const auto step = static_cast<uint32_t>((philox.micro_step >> 16) * parts + part);
  philox.micro_step = step << 16 | (philox.micro_step & 0xFFFFu);
  return philox;
}

/// The places of the elements in the draw that this is a part of, and its columns.
std::pair<std::vector<int64_t>, int64_t> places_of_draw(const Node& node, const Sizes& shape,
                                                        const EvaluateOptions& options) {
  Sizes whole = shape, begins(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!node.has(draw_extent(i))) continue;
    whole[i] = node.get(draw_extent(i)).evaluate(options.symbols);
    begins[i] = node.get(draw_begin(i)).evaluate(options.symbols);
  }
  const Sizes strides = row_major_strides(whole);
  int64_t base = 0;
  for (size_t i = 0; i < shape.size(); ++i) base += begins[i] * strides[i];
  return {offsets(shape, strides, base), whole.empty() ? 1 : whole.back()};
}

}  // namespace

/// The flattened row over all dims but the last, and the index in the last dim, name an element's bits.
template <typename S>
Arrays<S> evaluate_random(const Call<S>& call) {
  Array<S> result = call.zeros();
  const auto id = static_cast<uint32_t>(call.node.get(attr::id));
  const Philox philox = philox_of(call.node, call.options);
  const auto [places, columns] = places_of_draw(call.node, call.shape(), call.options);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto row = static_cast<uint32_t>(places[i] / columns),
               column = static_cast<uint32_t>(places[i] % columns);
    result.data[i] = S(static_cast<double>(philox.bits(id, row, column)));
  }
  return {std::move(result)};
}

namespace {

/// f over elements; operands that the op lacks are stood in for by the first.
template <typename S, typename F>
Array<S> map(const Call<S>& call, F f) {
  Array<S> result = call.zeros();
  const S* a = call.operand(0).data.data();
  const S* b = call.operands.size() > 1 ? call.operand(1).data.data() : a;
  const S* c = call.operands.size() > 2 ? call.operand(2).data.data() : a;
  S* y = result.data.data();
  for (size_t i = 0, n = result.data.size(); i < n; ++i) y[i] = f(a[i], b[i], c[i]);
  return result;
}

template <typename S>
Array<S> map_reference(const Call<S>& call) {
  switch (call.node.scalar_op) {
#define SMELT_REFERENCE(name, ...) \
  case ScalarOp::name:             \
    return map(call, [](const S& a, const S& b, const S& c) { return math::reference_##name(a, b, c); });
    SMELT_SCALAR_OPS(SMELT_REFERENCE)
#undef SMELT_REFERENCE
  }
  return call.zeros();
}

template <>
Array<Bounded> map_reference(const Call<Bounded>& call) {
  return map(call, [op = call.node.scalar_op](const Bounded& a, const Bounded& b, const Bounded& c) {
    return apply_bounded(op, a, b, c);
  });
}

template <typename S>
S converted(DType type, bool round, const S& x) {
  return round ? S(static_cast<decltype(math::primal(x))>(round_to(type, math::primal(x)))) : x;
}

/// The derivative passes a rounding unchanged.
template <>
Dual<double> converted(DType type, bool round, const Dual<double>& x) {
  return {converted(type, round, x.value), x.tangent};
}

/// Rounded alike at both ends of the bound, or not.
template <>
Bounded converted(DType type, bool round, const Bounded& x) {
  if (!round || size_of(type) >= size_of(DType::f32)) return x;
  const double size =
      x.error > 0 && is_float(type) ? std::fabs(x.value) : 0;  // an exact number is rounded as it is
  const Bounded near = {x.value, x.error + std::min(size * bounding::kShortFormPart, bounding::kShortForm)};
  return bounding::unary([type](double value) { return round_to(type, value); }, near, 0);
}

/// The result of what knows values alone, such as arithmetic on integers.
template <typename S>
S of_values(const S& result, std::initializer_list<S> operands) {
  if constexpr (std::is_same_v<S, Bounded>)
    if (std::ranges::any_of(operands, [](const S& x) { return x.error > 0; }))
      return {result.value, bounding::kWild};
  return result;
}

/// An operand's elements as elements of an integer type or as flags.
template <typename S>
void convert_to_whole(const Node& node, Array<S>& array) {
  const DType from = node.operand(0)->dtype(), to = node.result()->dtype();
  for (S& x : array.data) {
    const double value = math::primal(x);
    x = of_values(to == DType::boolean ? S(math::truth(x) ? 1.0 : 0.0)
                                       : number_of_integer<S>(node, converted_to_integer(from, to, value)),
                  {x});
  }
}

/// Integer arithmetic wraps around as it does in kernels.
template <typename S>
Array<S> map_whole(const Call<S>& call) {
  const Node& node = call.node;
  const DType type = node.result()->dtype();
  return map(call, [&](const S& a, const S& b, const S&) {
    const std::array<double, 3> operands{math::primal(a), math::primal(b), 0};
    return of_values(number_of_integer<S>(node, *whole_result(node.scalar_op, type, operands)), {a, b});
  });
}

/// Returns whether the operation is arithmetic on integers.
bool is_whole(const Node& node) {
  const DType type = node.result()->dtype();
  return !is_float(type) && type != DType::boolean && whole_result(node.scalar_op, type, {0, 1, 0});
}

}  // namespace

template <typename S>
Arrays<S> evaluate_pointwise(const Call<S>& call) {
  return {is_whole(call.node) ? map_whole(call) : map_reference(call)};
}

template <typename S>
Array<S> stored(const Call<S>& call, Array<S> result) {
  const DType type = call.node.result()->dtype();
  if (call.options.round && is_float(type) && size_of(type) < size_of(DType::f32))  // f32 is the yardstick
    for (S& x : result.data) x = converted(type, true, x);
  return result;
}
template Array<float> stored(const Call<float>&, Array<float>);
template Array<double> stored(const Call<double>&, Array<double>);
template Array<Dual<double>> stored(const Call<Dual<double>>&, Array<Dual<double>>);
template Array<Bounded> stored(const Call<Bounded>&, Array<Bounded>);

template <typename S>
static Array<S> stochastic(const Call<S>& call) {
  Array<S> result = call.operand(0);
  for (size_t i = 0; i < result.data.size(); ++i) {
    const auto bits = static_cast<uint32_t>(math::primal(call.operand(1).data[i]));
    const double rounded = round_stochastically(static_cast<float>(math::primal(result.data[i])), bits);
    if (call.options.round)
      result.data[i] = of_values(S(static_cast<decltype(math::primal(S(0)))>(rounded)), {result.data[i]});
  }
  return result;
}

template <typename S>
Arrays<S> evaluate_convert(const Call<S>& call) {
  if (call.operands.size() == 2) return {stochastic(call)};
  Array<S> result = call.operand(0);
  const DType to = call.node.result()->dtype();
  const bool widens = call.node.operand(0)->dtype() == DType::boolean;  // exact in every type
  if (!widens && !is_float(to)) convert_to_whole(call.node, result);
  if (!widens && is_float(to))
    for (S& x : result.data) x = converted(to, call.options.round, x);
  return {std::move(result)};
}

SMELT_EVALUATE_ALL(evaluate_constant)
SMELT_EVALUATE_ALL(evaluate_iota)
SMELT_EVALUATE_ALL(evaluate_random)
SMELT_EVALUATE_ALL(evaluate_pointwise)
SMELT_EVALUATE_ALL(evaluate_convert)

}  // namespace smelt::evaluation
