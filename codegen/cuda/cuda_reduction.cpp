#include "codegen/cuda/cuda_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace smelt {
namespace {

using ReductionKind = ReductionStep::Kind;

}  // namespace

CudaReduction::CudaReduction(ReduceOp op, DType element, bool fast, bool own_forms)
    : row_(info(op)),
      code_(reduction_code(op)),
      element_(row_.domain == Domain::reals ? CudaKind::real
                                            : std::max(cuda_kind(element), CudaKind::integer)),
      fast_(fast),
      own_forms_(own_forms && (element_ != CudaKind::wide || row_.state.size() > 1 || op == ReduceOp::add)) {}

CudaKind CudaReduction::kind(size_t scalar) const {
  return row_.state[scalar] == ReduceType::index ? CudaKind::integer : element_;
}

CudaValue CudaReduction::leaf(const ReductionStep& step, const Leaves& leaves) const {
  const bool real = element_ == CudaKind::real, wide = element_ == CudaKind::wide;
  const DType type = real ? DType::f32 : wide ? DType::i64 : DType::i32;
  switch (step.kind) {
    case ReductionKind::element:
      return {leaves.element, element_};
    case ReductionKind::place:
      return {leaves.place, CudaKind::integer};
    case ReductionKind::left:
      return {(*leaves.left)[step.slot], kind(step.slot)};
    case ReductionKind::right:
      return {(*leaves.right)[step.slot], kind(step.slot)};
    case ReductionKind::number:
      return cuda_number(step.number, type);
    case ReductionKind::index:
      return {fmt::format("{}", static_cast<int>(step.number)), CudaKind::integer};
    case ReductionKind::lowest:
      return {real ? "-sm_infinity()" : wide ? "-9223372036854775807ll - 1" : "-2147483647 - 1", element_};
    case ReductionKind::highest:
      return {real ? "sm_infinity()" : wide ? "9223372036854775807ll" : "2147483647", element_};
    case ReductionKind::operation:
      break;
  }
  return {};
}

CudaReduction::State CudaReduction::expressions(const ReductionFunction& function,
                                                const Leaves& leaves) const {
  const auto apply = [&](ScalarOp op, const std::vector<CudaValue>& operands) {
    return cuda_apply(op, operands, fast_);
  };
  State texts;
  for (const CudaValue& value :
       translate<CudaValue>(function, [&](const ReductionStep& step) { return leaf(step, leaves); }, apply))
    texts.push_back(value.text);
  return texts;
}

CudaReduction::State CudaReduction::identity() const { return expressions(code_.identity, {}); }

CudaReduction::State CudaReduction::lift(const std::string& x, const std::string& place) const {
  return expressions(code_.lift, {.element = x, .place = place});
}

/// Every operation gets a name, since several results may want it.
void CudaReduction::combine(CodeText& out, const State& to, const State& other) const {
  if (own_forms_ && !row_.cuda_combine.empty()) {
    State operands = to;
    for (const std::string& scalar : other) operands.push_back(operand_text(scalar));
    return out.line("{}", filled(row_.cuda_combine, operands));
  }
  out.open("");
  const Leaves leaves{.left = &to, .right = &other};
  int names = 0;
  const auto named = [&](ScalarOp op, const std::vector<CudaValue>& operands) {
    const CudaValue value = cuda_apply(op, operands, fast_);
    std::string name = fmt::format("part{}", names++);
    out.line("const {} {} = {};", cuda_type(value.kind), name, value.text);
    return CudaValue{std::move(name), value.kind};
  };
  const auto results = translate<CudaValue>(
      code_.combine, [&](const ReductionStep& step) { return leaf(step, leaves); }, named);
  // All are read before any changes.
  for (size_t i = 0; i < to.size(); ++i)
    out.line("const {} next{} = {};", cuda_type(kind(i)), i, coerce(results[i], kind(i)));
  for (size_t i = 0; i < to.size(); ++i) out.line("{} = next{};", to[i], i);
  out.close();
}

std::string CudaReduction::finish(const State& state, size_t result) const {
  if (own_forms_ && !row_.cuda_finish[result].empty()) return filled(row_.cuda_finish[result], state);
  return expressions(code_.finish[result], {.left = &state})[0];
}

std::string CudaReduction::combine_vector(const State& to, const std::string& vector) const {
  if (!own_forms_ || row_.cuda_combine_vector.empty()) return "";
  return fill_pattern(row_.cuda_combine_vector, to, {{"fast", fmt::format("{}", fast_)}, {"vector", vector}});
}

std::string CudaReduction::combine_lanes(const State& to, int lanes, const std::string& mask) const {
  if (!own_forms_ || row_.cuda_combine_lanes.empty()) return "";
  return fill_pattern(
      row_.cuda_combine_lanes, to,
      {{"fast", fmt::format("{}", fast_)}, {"lanes", fmt::format("{}", lanes)}, {"mask", mask}});
}

std::string CudaReduction::filled(std::string_view pattern, const State& operands) const {
  return fill_pattern(pattern, operands, {{"fast", fmt::format("{}", fast_)}});
}

}  // namespace smelt
