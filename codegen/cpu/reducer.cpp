#include "codegen/cpu/reducer.h"

#include <limits>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace smelt {

using V = Reducer::V;
using ReducerState = Reducer::State;
using ReductionKind = ReductionStep::Kind;

namespace {

llvm::Constant* lowest(llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, true);
  return llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
}

llvm::Constant* highest(llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, false);
  return llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(type->getScalarSizeInBits()));
}

llvm::Constant* number(llvm::Type* type, double value) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::get(type, value);
  return llvm::ConstantInt::getSigned(type, static_cast<int64_t>(value));
}

V half_of(llvm::IRBuilder<>& b, V x, int from, int count) {
  if (count == 1) return b.CreateExtractElement(x, static_cast<uint64_t>(from));
  llvm::SmallVector<int, 32> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(from + i);
  return b.CreateShuffleVector(x, lanes);
}

}  // namespace

llvm::Value* finite_maximum(llvm::IRBuilder<>& b, ScalarMath& math, llvm::Value* m) {
  V size = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, m);
  V infinite = b.CreateFCmpOEQ(size, math.constant(m, std::numeric_limits<double>::infinity()));
  return b.CreateSelect(infinite, math.constant(m, 0), m);
}

llvm::Type* Reducer::type_of(size_t scalar, llvm::Type* type) const {
  return row_.state[scalar] == ReduceType::index ? with_element(type, b.getInt32Ty()) : type;
}

V Reducer::constant(const ReductionStep& step, llvm::Type* type) const {
  switch (step.kind) {
    case ReductionKind::number:
      return number(type, step.number);
    case ReductionKind::index:
      return number(with_element(type, b.getInt32Ty()), step.number);
    case ReductionKind::lowest:
      return lowest(type);
    case ReductionKind::highest:
      return highest(type);
    default:
      llvm_unreachable("the others are variables and operations");
  }
}

/// `variable` gives those leaves that are no constants, null for those that are.
ReducerState Reducer::run(const ReductionFunction& function, llvm::Type* type,
                          llvm::function_ref<V(const ReductionStep&)> variable) const {
  const auto leaf = [&](const ReductionStep& step) {
    V value = variable(step);
    return value != nullptr ? value : constant(step, type);
  };
  const auto apply = [&](ScalarOp op, llvm::ArrayRef<V> operands) { return math_.apply(op, operands); };
  return llvm::to_vector<4>(translate<V>(function, leaf, apply));
}

ReducerState Reducer::identity(llvm::Type* type) const {
  return run(code_.identity, type, [](const ReductionStep&) { return nullptr; });
}

ReducerState Reducer::lift(V x, V index) const {
  return run(code_.lift, x->getType(), [&](const ReductionStep& step) -> V {
    return step.kind == ReductionKind::element ? x : step.kind == ReductionKind::place ? index : nullptr;
  });
}

ReducerState Reducer::combine(const State& l, const State& r) const {
  return run(code_.combine, l[0]->getType(), [&](const ReductionStep& step) -> V {
    return step.kind == ReductionKind::left    ? l[step.slot]
           : step.kind == ReductionKind::right ? r[step.slot]
                                               : nullptr;
  });
}

ReducerState Reducer::across(State state) const {
  for (int width = width_of(state[0]->getType()); width > 1; width /= 2) {
    const auto half = [&](int from) {
      return llvm::map_to_vector<4>(state, [&](V x) { return half_of(b, x, from, width / 2); });
    };
    const State right = half(width / 2), left = half(0);
    state = combine(left, right);
  }
  return state;
}

V Reducer::finish(const State& state, size_t result) const {
  return run(code_.finish[result], state[0]->getType(), [&](const ReductionStep& step) -> V {
    return step.kind == ReductionKind::left ? state[step.slot] : nullptr;
  })[0];
}

bool Reducer::is_plain() const {
  for (const auto& [i, finish] : llvm::enumerate(code_.finish))
    if (finish.steps != std::vector{ReductionStep{.kind = ReductionKind::left, .slot = static_cast<int>(i)}})
      return false;
  return true;
}

}  // namespace smelt
