#include "codegen/gpu/lower/state_code.h"

#include <fmt/format.h>

#include <limits>

#include "codegen/gpu/lower/scalar_values.h"

namespace smelt::gpu {
namespace {

using Step = ReductionStep::Kind;

}  // namespace

StateCode::StateCode(ReduceOp op, DType element, bool fast, bool own_forms)
    : op_(op),
      row_(info(op)),
      code_(reduction_code(op)),
      element_(row_.domain == Domain::reals ? Scalar::real : std::max(computed_type(element), Scalar::int32)),
      fast_(fast),
      own_forms_(own_forms && (element_ != Scalar::int64 || row_.state.size() > 1 || op == ReduceOp::add)) {}

Scalar StateCode::type(size_t scalar) const {
  return row_.state[scalar] == ReduceType::index ? Scalar::int32 : element_;
}

Expr StateCode::extreme(bool highest) const {
  using Int = std::numeric_limits<int32_t>;
  using Wide = std::numeric_limits<int64_t>;
  const double infinity = std::numeric_limits<double>::infinity();
  if (element_ == Scalar::real) return real_number(highest ? infinity : -infinity);
  if (element_ == Scalar::int64) return number(highest ? Wide::max() : Wide::min(), element_);
  return number(highest ? Int::max() : Int::min(), element_);
}

/// Returns the expression of a step that is a variable or a constant.
Expr StateCode::leaf(const ReductionStep& step, const Leaves& leaves) const {
  switch (step.kind) {
    case Step::element:
      return leaves.element;
    case Step::place:
      return leaves.place;
    case Step::left:
      return (*leaves.left)[step.slot];
    case Step::right:
      return (*leaves.right)[step.slot];
    case Step::number:
      return element_ == Scalar::real ? real_number(step.number)
                                      : number(static_cast<int64_t>(step.number), element_);
    case Step::index:
      return static_cast<int64_t>(step.number);
    case Step::lowest:
      return extreme(false);
    case Step::highest:
      return extreme(true);
    case Step::operation:
      break;
  }
  return {};
}

StateCode::State StateCode::expressions(const ReductionFunction& function, const Leaves& leaves) const {
  return translate<Expr>(
      function, [&](const ReductionStep& step) { return leaf(step, leaves); },
      [&](ScalarOp op, const State& operands) { return apply(op, operands, precision()); });
}

StateCode::State StateCode::identity() const { return expressions(code_.identity, {}); }

StateCode::State StateCode::lift(const Expr& x, const Expr& place) const {
  return expressions(code_.lift, {.element = x, .place = place});
}

Expr StateCode::finish(const State& state, size_t result) const {
  if (!own_forms_ || row_.cuda_finish[result].empty())
    return expressions(code_.finish[result], {.left = &state})[0];
  ExprNode node{.kind = ExprNode::Kind::result, .type = type(result), .operands = state};
  node.reduce = op_, node.slot = static_cast<int>(result);
  return Expr(std::move(node));
}

// ---- combinations

void StateCode::combine(BodyBuilder& out, const State& to, const State& other) const {
  if (!own_forms_ || row_.cuda_combine.empty()) return combine_by_parts(out, to, other);
  out.append(Combination{op_, fast_, Combination::With::state, to, other});
}

/// Declares a variable for every operation, since several results may want it. All are computed before any
/// scalar of the state changes.
void StateCode::combine_by_parts(BodyBuilder& out, const State& to, const State& other) const {
  out.open_scope();
  const Leaves leaves{.left = &to, .right = &other};
  int parts = 0;
  const State results = translate<Expr>(
      code_.combine, [&](const ReductionStep& step) { return leaf(step, leaves); },
      [&](ScalarOp op, const State& operands) {
        const Expr value = apply(op, operands, precision());
        return out.declare(value.type(), fmt::format("part{}", parts++), value);
      });
  State next;
  for (size_t i = 0; i < to.size(); ++i)
    next.push_back(out.declare(type(i), fmt::format("next{}", i), converted(results[i], type(i))));
  for (size_t i = 0; i < to.size(); ++i) out.set(to[i], next[i]);
  out.close();
}

void StateCode::combine_vector(BodyBuilder& out, const State& to, const Expr& vector) const {
  out.append(Combination{op_, fast_, Combination::With::vector, to, {vector}});
}

void StateCode::combine_lanes(BodyBuilder& out, const State& to, int lanes, const Expr& mask) const {
  out.append(Combination{op_, fast_, Combination::With::lanes, to, {mask}, lanes});
}

}  // namespace smelt::gpu
