// Online softmax, a tile at a time: the exponentials of a tile wait for its maximum. Where later blocks want
// them they stay in a scratch row, with a scale a tile. Memory would idle meanwhile: what comes next is
// fetched.
#include "codegen/kernel_passes/keep_exponentials.h"
#include "codegen/llvm/kernel_emitter.h"
#include "codegen/llvm/loops.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

void KernelEmitter::find_kept_exponentials() {
  for (int id = 0; id < static_cast<int>(kernel_.instructions.size()); ++id)
    if (instruction(id).form == Form::kept) kept_[id] = reduction_of_kept(kernel_, id);
}

void KernelEmitter::begin_exponentials(Accumulator& accumulator) {
  const bool kept = llvm::any_of(kept_, [&](const auto& pair) { return pair.second == accumulator.id; });
  const int64_t elements = kept ? cached_elements() : tile_;
  accumulator.tile = alloca_array(b.getFloatTy(), elements + width_ + 8);
  if (kept) accumulator.scales = alloca_array(b.getFloatTy(), elements / tile_ + 2);
  accumulator.maximum = alloca_array(b.getFloatTy(), 1);
  b.CreateStore(llvm::ConstantFP::getInfinity(b.getFloatTy(), true), accumulator.maximum);
  if (kept) kept_rows_[accumulator.id] = accumulator;
}

/// Of column `column` in the array of exponentials: the whole row, or the tile.
V KernelEmitter::exponential_place(const Accumulator& accumulator, V column) {
  V at = accumulator.scales != nullptr ? column : b.CreateSub(column, tile_base_);
  return b.CreateGEP(b.getFloatTy(), accumulator.tile, at);
}

V KernelEmitter::scale_place(const Accumulator& accumulator, V column) {
  V number = one_tile() ? b.getInt64(0) : b.CreateUDiv(column, b.getInt64(tile_));
  return b.CreateGEP(b.getFloatTy(), accumulator.scales, number);
}

/// The sum so far is brought to the new maximum, then the tile's sum joins it.
void KernelEmitter::finish_exponentials(const Nest& nest, const Accumulator& accumulator, V first, V limit) {
  llvm::Type* lanes = lanes_of(b.getFloatTy(), width_);
  V old = b.CreateLoad(b.getFloatTy(), accumulator.maximum);
  V highest = Reducer(b, math_, ReduceOp::max).across({b.CreateLoad(lanes, accumulator.state[0])})[0];
  V maximum = math_.max(old, highest);
  V against = finite_maximum(b, math_, maximum);
  b.CreateStore(maximum, accumulator.maximum);
  if (accumulator.scales != nullptr) b.CreateStore(maximum, scale_place(accumulator, first));
  V tile_sum = alloca_array(lanes, 1);
  b.CreateStore(llvm::Constant::getNullValue(lanes), tile_sum);
  find_prefetches(nest);
  emit_loop(b, first, limit, width_, [&](V at) {
    V place = exponential_place(accumulator, at);
    V x = b.CreateAlignedLoad(lanes, place, llvm::Align(4));
    V e = math_.exp(b.CreateFSub(x, math_.widen(against, width_)));
    if (accumulator.scales != nullptr) b.CreateAlignedStore(e, place, llvm::Align(4));
    b.CreateStore(b.CreateFAdd(b.CreateLoad(lanes, tile_sum), e), tile_sum);
    prefetch_next(at);
  });
  V scale = math_.widen(math_.exp(b.CreateFSub(old, against)), width_);
  V scaled = b.CreateFMul(b.CreateLoad(lanes, accumulator.state[1]), scale);
  b.CreateStore(b.CreateFAdd(scaled, b.CreateLoad(lanes, tile_sum)), accumulator.state[1]);
}

/// exp(x - m) = exp(x - a tile's maximum) exp(that - m); a NaN in m reaches every element.
void KernelEmitter::finish_scales(const Accumulator& accumulator, V maximum) {
  emit_loop(b, row_begin_, row_end_, tile_, [&](V first) {
    V place = scale_place(accumulator, first);
    V above = b.CreateFSub(b.CreateLoad(b.getFloatTy(), place), maximum);
    b.CreateStore(math_.exp(above), place);
  });
}

/// Null: it has to be computed.
V KernelEmitter::kept_exponential(int id) {
  const auto kept = kept_.find(id);
  if (kept == kept_.end() || !lanes_.inner) return nullptr;
  const Accumulator& accumulator = kept_rows_.find(kept->second)->second;
  llvm::Type* lanes = lanes_of(b.getFloatTy(), lanes_.width);
  V e = b.CreateAlignedLoad(lanes, exponential_place(accumulator, lanes_.first), llvm::Align(4));
  V scale = b.CreateLoad(b.getFloatTy(), scale_place(accumulator, lanes_.first));
  return b.CreateFMul(e, math_.widen(scale, lanes_.width));
}

// ---- prefetches
// -----------------------------------------------------------------------------------------------

namespace {
/// A vector of them is a cache line.
constexpr int kLineElements = 16;
}  // namespace

/// What this block reads of the next tile (of a row of one tile: of the next row), and where later blocks
/// write.
void KernelEmitter::find_prefetches(const Nest& nest) {
  prefetches_.clear();
  if (width_ < kLineElements) return;
  for (int id : nest.block->instructions)
    if (instruction(id).kind == Kind::load && runs_along_columns(instruction(id).access)) {
      llvm::Type* type = memory_.element(kernel_.params[instruction(id).access.param].dtype);
      V next =
          b.CreateGEP(type, base_pointer(instruction(id), false), elements_ahead(instruction(id).access));
      prefetches_.push_back({next, type, false});
    }
  for (const Instruction& x : kernel_.instructions)
    if (x.kind == Kind::store && runs_along_columns(x.access))
      prefetches_.push_back(
          {base_pointer(x, false), memory_.element(kernel_.params[x.access.param].dtype), true});
}

bool KernelEmitter::runs_along_columns(const Access& access) const {
  return access.computed < 0 && shape_.inner < static_cast<int>(access.strides.size()) &&
         access.strides[shape_.inner].is_one();
}

V KernelEmitter::elements_ahead(const Access& access) {
  V tile = b.getInt64(tile_);
  if (digit_axes_.empty() || kernel_.schedule.flat) return tile;
  V row = dim(access.strides[digit_axes_.back()]);
  return b.CreateSelect(b.CreateICmpSLE(b.CreateSub(row_end_, row_begin_), tile), row, tile);
}

/// A hint: it may reach beyond the memory, which no prefetch minds.
void KernelEmitter::prefetch_next(V column) {
  for (const Prefetch& prefetch : prefetches_)
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer_type()},
                      {b.CreateGEP(prefetch.type, prefetch.pointer, column),
                       b.getInt32(prefetch.write ? 1 : 0), b.getInt32(3), b.getInt32(1)});
}

}  // namespace smelt
