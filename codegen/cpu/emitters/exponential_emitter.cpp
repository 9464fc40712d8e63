#include "codegen/cpu/emitters/exponential_emitter.h"

#include "codegen/cpu/emit_llvm.h"
#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {

using V = llvm::Value*;

ExponentialEmitter::ExponentialEmitter(KernelContext& context, PrefetchEmitter& prefetches)
    : c_(context), b(context.b), prefetches_(prefetches) {
  for (int id = 0; id < static_cast<int>(c_.kernel.instructions.size()); ++id)
    if (c_.instruction(id).form == Form::kept) kept_[id] = reduction_of_kept(c_.kernel, id);
}

bool ExponentialEmitter::is_kept(int reduction) const {
  return llvm::any_of(kept_, [&](const auto& pair) { return pair.second == reduction; });
}

void ExponentialEmitter::begin(Accumulator& accumulator) {
  Exponentials& exponentials = accumulator.exponentials;
  const bool kept = is_kept(accumulator.id);
  const int64_t elements = kept ? c_.row_elements() : c_.tile;
  exponentials.array = c_.frame.alloca_array(b.getFloatTy(), elements + c_.width + 8);
  if (kept) exponentials.scales = c_.frame.alloca_array(b.getFloatTy(), elements / c_.tile + 2);
  exponentials.maximum = c_.frame.alloca_array(b.getFloatTy(), 1);
  b.CreateStore(llvm::ConstantFP::getInfinity(b.getFloatTy(), true), exponentials.maximum);
  if (kept) kept_rows_[accumulator.id] = exponentials;
}

void ExponentialEmitter::begin_tile(const Accumulator& accumulator) {
  b.CreateStore(llvm::ConstantFP::getInfinity(lanes(), true), accumulator.state[0]);
}

V ExponentialEmitter::is_infinity(V maximum) {
  return b.CreateFCmpOEQ(maximum, llvm::ConstantFP::getInfinity(maximum->getType()));
}

/// A NaN is no maximum yet: it reaches the sum, and by that the result.
void ExponentialEmitter::add(const Accumulator& accumulator, V x) {
  V place = element_pointer(accumulator.exponentials, c_.place.lanes.first);
  b.CreateAlignedStore(x, place, llvm::Align(4));
  V highest = b.CreateLoad(x->getType(), accumulator.state[0]);
  b.CreateStore(b.CreateSelect(b.CreateFCmpOGT(x, highest), x, highest), accumulator.state[0]);
}

void ExponentialEmitter::finish_tile(const BlockNest& nest, const Accumulator& accumulator, V first,
                                     V limit) {
  const Exponentials& exponentials = accumulator.exponentials;
  V old = b.CreateLoad(b.getFloatTy(), exponentials.maximum);
  V highest = Reducer(b, c_.math, ReduceOp::max).across({b.CreateLoad(lanes(), accumulator.state[0])})[0];
  V maximum = c_.math.max(old, highest);
  V against = finite_maximum(b, c_.math, maximum);
  b.CreateStore(maximum, exponentials.maximum);
  if (exponentials.scales != nullptr) b.CreateStore(maximum, scale_pointer(exponentials, first));
  prefetches_.find(nest);
  V tile_sum = sum_of_tile(exponentials, against, first, limit);
  V factor =
      b.CreateSelect(is_infinity(maximum), c_.math.constant(old, 1), c_.math.exp(b.CreateFSub(old, against)));
  V scale = c_.math.widen(factor, c_.width);
  V scaled = b.CreateFMul(b.CreateLoad(lanes(), accumulator.state[1]), scale);
  b.CreateStore(b.CreateFAdd(scaled, b.CreateLoad(lanes(), tile_sum)), accumulator.state[1]);
}

/// Returns the address of the sum of each lane; replaces the elements by their exponentials.
V ExponentialEmitter::sum_of_tile(const Exponentials& exponentials, V against, V first, V limit) {
  V sum = c_.frame.alloca_array(lanes(), 1);
  b.CreateStore(llvm::Constant::getNullValue(lanes()), sum);
  emit_loop(b, first, limit, c_.width, [&](V at) {
    V place = element_pointer(exponentials, at);
    V x = b.CreateAlignedLoad(lanes(), place, llvm::Align(4));
    V e = c_.math.exp(b.CreateFSub(x, c_.math.widen(against, c_.width)));
    if (exponentials.scales != nullptr) b.CreateAlignedStore(e, place, llvm::Align(4));
    b.CreateStore(b.CreateFAdd(b.CreateLoad(lanes(), sum), e), sum);
    prefetches_.emit(at);
  });
  return sum;
}

/// The sum of a row with +infinity is infinite here, and NaN only where an element is.
Reducer::State ExponentialEmitter::finish(const Accumulator& accumulator) {
  V sums = b.CreateLoad(lanes(), accumulator.state[1]);
  V maximum = b.CreateLoad(b.getFloatTy(), accumulator.exponentials.maximum);
  V sum = Reducer(b, c_.math, ReduceOp::add).across({sums})[0];
  const Reducer::State state = {b.CreateSelect(b.CreateFCmpUNO(sum, sum), sum, maximum), sum};
  if (accumulator.exponentials.scales != nullptr) finish_scales(accumulator.exponentials, state[0]);
  return state;
}

/// exp(x - m) = exp(x - a tile's maximum) exp(that - m); a NaN in m reaches every element. Where m is
/// +infinity the scale is 0: finite elements become 0, infinite ones NaN.
void ExponentialEmitter::finish_scales(const Exponentials& exponentials, V maximum) {
  emit_loop(b, c_.place.row_begin, c_.place.row_end, c_.tile, [&](V first) {
    V place = scale_pointer(exponentials, first);
    V above = b.CreateFSub(b.CreateLoad(b.getFloatTy(), place), maximum);
    b.CreateStore(b.CreateSelect(is_infinity(maximum), c_.math.constant(maximum, 0), c_.math.exp(above)),
                  place);
  });
}

V ExponentialEmitter::kept_value(int id) {
  const Lanes& at = c_.place.lanes;
  const auto kept = kept_.find(id);
  if (kept == kept_.end() || !at.inner) return nullptr;
  const Exponentials& exponentials = kept_rows_.find(kept->second)->second;
  V place = element_pointer(exponentials, at.first);
  V e = b.CreateAlignedLoad(lanes_of(b.getFloatTy(), at.width), place, llvm::Align(4));
  V scale = b.CreateLoad(b.getFloatTy(), scale_pointer(exponentials, at.first));
  return b.CreateFMul(e, c_.math.widen(scale, at.width));
}

/// Returns the address of a column in the array: of the whole row, or of the tile.
V ExponentialEmitter::element_pointer(const Exponentials& exponentials, V column) {
  V at = exponentials.scales != nullptr ? column : b.CreateSub(column, c_.place.tile_first);
  return b.CreateGEP(b.getFloatTy(), exponentials.array, at);
}

V ExponentialEmitter::scale_pointer(const Exponentials& exponentials, V column) {
  V tile = c_.has_one_tile() ? b.getInt64(0) : b.CreateUDiv(column, b.getInt64(c_.tile));
  return b.CreateGEP(b.getFloatTy(), exponentials.scales, tile);
}

}  // namespace smelt
