#include "codegen/llvm/reducer.h"

#include <limits>

namespace smelt {

using V = Reducer::V;
using ReducerState = Reducer::State;

namespace {

llvm::Constant* lowest(llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, true);
  return llvm::ConstantInt::getSigned(type, INT32_MIN);
}

llvm::Constant* highest(llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::getInfinity(type, false);
  return llvm::ConstantInt::getSigned(type, INT32_MAX);
}

V is_nan(llvm::IRBuilder<>& b, V x) {
  if (x->getType()->isFPOrFPVectorTy()) return b.CreateFCmpUNO(x, x);
  return llvm::ConstantInt::getFalse(with_element(x->getType(), b.getInt1Ty()));
}

V half_of(llvm::IRBuilder<>& b, V x, int from, int count) {
  if (count == 1) return b.CreateExtractElement(x, static_cast<uint64_t>(from));
  llvm::SmallVector<int, 32> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(from + i);
  return b.CreateShuffleVector(x, lanes);
}

}  // namespace

llvm::Value* finite_maximum(llvm::IRBuilder<>& b, ScalarMath& math, llvm::Value* m) {
  V none = b.CreateFCmpOEQ(m, math.constant(m, -std::numeric_limits<double>::infinity()));
  return b.CreateSelect(none, math.constant(m, 0), m);
}

bool Reducer::has_second() const { return op_ == ReduceOp::max_sumexp || needs_index(); }

llvm::Type* Reducer::second_type(llvm::Type* type) const {
  return needs_index() ? with_element(type, b.getInt32Ty()) : type;
}

ReducerState Reducer::identity(llvm::Type* type) const {
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  switch (op_) {
    case ReduceOp::add:
    case ReduceOp::pivot:  // lowered to loads
      return {zero};
    case ReduceOp::max:
      return {lowest(type)};
    case ReduceOp::min:
      return {highest(type)};
    case ReduceOp::argmax:
      return {lowest(type), llvm::ConstantInt::getSigned(second_type(type), -1)};
    case ReduceOp::max_sumexp:
      return {lowest(type), zero};
    case ReduceOp::first:
      return {zero, llvm::ConstantInt::getSigned(second_type(type), -1)};
  }
  llvm_unreachable("every row has a case");
}

ReducerState Reducer::lift(V x, V index) const {
  if (needs_index()) return {x, index};
  if (op_ != ReduceOp::max_sumexp) return {x};
  V none = b.CreateFCmpOEQ(x, math_.constant(x, -std::numeric_limits<double>::infinity()));
  return {x, b.CreateSelect(none, math_.constant(x, 0), math_.constant(x, 1))};
}

/// -1 marks no element; of argmax's equals the smaller index stays, and NaN wins; `first` keeps the smaller
/// index.
V Reducer::takes_right(const ReducerState& l, const ReducerState& r) const {
  V zero = math_.integer(l.second, 0);
  V earlier = b.CreateICmpSLT(r.second, l.second);
  V better = earlier;
  if (op_ == ReduceOp::argmax) {
    V left_nan = is_nan(b, l.first), right_nan = is_nan(b, r.first);
    V greater = b.CreateOr(math_.gt(r.first, l.first), b.CreateAnd(right_nan, b.CreateNot(left_nan)));
    V equal = b.CreateOr(math_.eq(r.first, l.first), b.CreateAnd(right_nan, left_nan));
    better = b.CreateOr(greater, b.CreateAnd(equal, earlier));
  }
  better = b.CreateOr(better, b.CreateICmpSLT(l.second, zero));
  return b.CreateAnd(better, b.CreateICmpSGE(r.second, zero));
}

ReducerState Reducer::add_exponentials(const ReducerState& l, const ReducerState& r) const {
  V m = math_.max(l.first, r.first);
  V against = finite_maximum(b, math_, m);
  V left = b.CreateFMul(l.second, math_.exp(b.CreateFSub(l.first, against)));
  V right = b.CreateFMul(r.second, math_.exp(b.CreateFSub(r.first, against)));
  return {m, b.CreateFAdd(left, right)};
}

ReducerState Reducer::combine(const ReducerState& l, const ReducerState& r) const {
  switch (op_) {
    case ReduceOp::add:
    case ReduceOp::pivot:
      return {math_.add(l.first, r.first)};
    case ReduceOp::max:
      return {math_.max(l.first, r.first)};
    case ReduceOp::min:
      return {math_.min(l.first, r.first)};
    case ReduceOp::max_sumexp:
      return add_exponentials(l, r);
    case ReduceOp::argmax:
    case ReduceOp::first: {
      V right = takes_right(l, r);
      return {b.CreateSelect(right, r.first, l.first), b.CreateSelect(right, r.second, l.second)};
    }
  }
  llvm_unreachable("every row has a case");
}

ReducerState Reducer::across(ReducerState state) const {
  for (int width = width_of(state.first->getType()); width > 1; width /= 2) {
    const auto part = [&](V x, int from) { return x == nullptr ? nullptr : half_of(b, x, from, width / 2); };
    state = combine({part(state.first, 0), part(state.second, 0)},
                    {part(state.first, width / 2), part(state.second, width / 2)});
  }
  return state;
}

V Reducer::finish(const ReducerState& state, int result) const {
  if (result == 0) return state.first;
  return needs_index() ? math_.max(state.second, math_.integer(state.second, 0)) : state.second;
}

}  // namespace smelt
