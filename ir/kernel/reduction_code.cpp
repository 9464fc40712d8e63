#include "ir/kernel/reduction_code.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "ir/evaluate/reduction.h"

namespace smelt {
namespace {

using Kind = ReductionStep::Kind;

/// A scalar type whose operations are written down instead of computed.
class Written {
 public:
  explicit Written(double number) : Written(ReductionStep{.kind = Kind::number, .number = number}) {}
  explicit Written(ReductionStep leaf, std::vector<Written> operands = {})
      : tree_(std::make_shared<Tree>(Tree{leaf, std::move(operands)})) {}
  static Written apply(ScalarOp op, std::vector<Written> operands) {
    return Written({.kind = Kind::operation, .op = op}, std::move(operands));
  }

  /// The step that makes this, after those that it needs: in the order in which expressions are written.
  int append_to(std::vector<ReductionStep>& steps) const {
    ReductionStep step = tree_->step;
    for (size_t i = 0; i < tree_->operands.size(); ++i)
      step.operands[i] = tree_->operands[i].append_to(steps);
    const auto place = std::ranges::find(steps, step) - steps.begin();
    if (place == std::ssize(steps)) steps.push_back(step);
    return static_cast<int>(place);
  }

 private:
  struct Tree {
    ReductionStep step;
    std::vector<Written> operands;
  };
  std::shared_ptr<const Tree> tree_;
};

#define SMELT_BINARY(symbol, name)                                               \
  [[maybe_unused]] Written operator symbol(const Written& a, const Written& b) { \
    return Written::apply(ScalarOp::name, {a, b});                               \
  }
SMELT_BINARY(+, add)
SMELT_BINARY(-, sub)
SMELT_BINARY(*, mul)
SMELT_BINARY(/, div)
SMELT_BINARY(<, lt)
SMELT_BINARY(<=, le)
SMELT_BINARY(>, gt)
SMELT_BINARY(>=, ge)
SMELT_BINARY(==, eq)
SMELT_BINARY(!=, ne)
SMELT_BINARY(&&, logical_and)
SMELT_BINARY(||, logical_or)
#undef SMELT_BINARY
[[maybe_unused]] Written operator!(const Written& a) { return Written::apply(ScalarOp::logical_not, {a}); }
[[maybe_unused]] Written operator-(const Written& a) { return Written::apply(ScalarOp::neg, {a}); }

Written maximum(const Written& a, const Written& b) { return Written::apply(ScalarOp::max, {a, b}); }
[[maybe_unused]] Written minimum(const Written& a, const Written& b) {
  return Written::apply(ScalarOp::min, {a, b});
}
Written select(const Written& condition, const Written& yes, const Written& no) {
  return Written::apply(ScalarOp::select, {condition, yes, no});
}
Written is_nan(const Written& a) { return Written::apply(ScalarOp::ne, {a, a}); }
#define SMELT_UNARY(name) \
  [[maybe_unused]] Written name(const Written& a) { return Written::apply(ScalarOp::name, {a}); }
SMELT_UNARY(abs)
SMELT_UNARY(exp)
SMELT_UNARY(log)
SMELT_UNARY(sqrt)
#undef SMELT_UNARY

}  // namespace

namespace math {

template <>
Written highest<Written>() {
  return Written(ReductionStep{.kind = Kind::highest});
}
template <>
Written lowest<Written>() {
  return Written(ReductionStep{.kind = Kind::lowest});
}
template <>
Written place<Written>(int number) {
  return Written(ReductionStep{.kind = Kind::index, .number = static_cast<double>(number)});
}

}  // namespace math

namespace {

template <typename State>
State leaves(Kind kind) {
  return [&]<size_t... slot>(std::index_sequence<slot...>) {
    return State{Written(ReductionStep{.kind = kind, .slot = static_cast<int>(slot)})...};
  }(std::make_index_sequence<std::tuple_size_v<State>>());
}

ReductionFunction function(const auto& results) {
  ReductionFunction code;
  for (const Written& result : results) code.results.push_back(result.append_to(code.steps));
  return code;
}

template <ReduceOp op>
ReductionCode written() {
  using R = Reduction<op, Written>;
  using State = typename R::State;
  const Written x(ReductionStep{.kind = Kind::element}), i(ReductionStep{.kind = Kind::place});
  const State left = leaves<State>(Kind::left), right = leaves<State>(Kind::right);
  ReductionCode code{function(R::identity()), function(R::lift(x, i)), function(R::combine(left, right)), {}};
  for (const Written& result : R::finish(left)) code.finish.push_back(function(std::array{result}));
  return code;
}

}  // namespace

bool ReductionCode::reads_place() const {
  return std::ranges::any_of(lift.steps, [](const ReductionStep& s) { return s.kind == Kind::place; });
}

const ReductionCode& reduction_code(ReduceOp op) {
#define SMELT_WRITTEN(name) written<ReduceOp::name>(),
  static const ReductionCode codes[] = {SMELT_REDUCE_OPS(SMELT_WRITTEN)};
#undef SMELT_WRITTEN
  return codes[static_cast<size_t>(op)];
}

bool is_expensive(ReduceOp op) {
  return std::ranges::any_of(reduction_code(op).combine.steps, [](const ReductionStep& step) {
    return step.kind == ReductionStep::Kind::operation && info(step.op).expensive;
  });
}

}  // namespace smelt
