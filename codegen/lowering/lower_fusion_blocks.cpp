#include <algorithm>
#include <functional>

#include "codegen/lowering/fusion_blocks.h"
#include "ir/analysis/view.h"
#include "ir/graph/insertion.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {

void FusionBlocks::emit() {
  for (int level = 0; level < fusion_.space().levels; ++level) emit_level(level);
  fusion_.kernel.random_slots = static_cast<int>(draws().ids.size());
}

void FusionBlocks::emit_level(int level) {
  const IterationSpace& space = fusion_.space();
  const auto is_segment = [](const auto& entry) { return entry.second == Reduction::segment; };
  row_ = add_block(Scope::row);
  column_ =
      add_block(level == 0 && llvm::any_of(space.reductions, is_segment) ? Scope::reduced : Scope::column);
  values_.begin_level(row_, column_);
  for (const auto& node : fusion_.body().nodes())
    if (node->is(Op::reduce) && space.level.lookup(node.get()) == level) reduce(*node);
  std::vector<const FusionStore*> behind;
  for (const FusionStore& store : fusion_.stores) {
    if (space.level.lookup(store.value->node()) != level) continue;
    stands_behind_loop(store, level) ? behind.push_back(&store) : emit_store(store, level);
  }
  if (!behind.empty()) values_.begin_level(row_, column_ = add_block(Scope::column));
  for (const FusionStore* store : behind) emit_store(*store, level);
  store_last();
  drop_empty_blocks();
}

/// Columns that do not move along the reduced axes: their loop would store them once per index, or never
/// where it is empty.
bool FusionBlocks::stands_behind_loop(const FusionStore& store, int level) const {
  return fusion_.kernel.blocks[column_].scope == Scope::reduced && fusion_.is_column(*store.value) &&
         ready_level(*store.value) == level &&
         !fusion_.space().follows(fusion_.axes_of(*store.value), AxisKind::reduced);
}

int FusionBlocks::add_block(Scope scope) {
  fusion_.kernel.blocks.push_back({scope, {}});
  return static_cast<int>(fusion_.kernel.blocks.size()) - 1;
}

/// Code that follows the level's column block.
void FusionBlocks::append_behind(Scope scope, Instruction instruction) {
  fusion_.append(add_block(scope), std::move(instruction));
}

/// Stores at the end of their block: what is read there may then be overwritten in place.
void FusionBlocks::store_last() {
  Kernel& kernel = fusion_.kernel;
  const auto is_store = [&](int number) { return kernel.instructions[number].kind == Kind::store; };
  for (KernelBlock& block : kernel.blocks)
    std::stable_partition(block.instructions.begin(), block.instructions.end(), std::not_fn(is_store));
}

void FusionBlocks::drop_empty_blocks() {
  llvm::erase_if(fusion_.kernel.blocks, [](const KernelBlock& block) { return block.instructions.empty(); });
}

// ---- reductions

void FusionBlocks::reduce(const Node& node) {
  const FromNode from(fusion_, node);
  const Reduction kind = fusion_.space().reductions.lookup(&node);
  if (kind == Reduction::first) return;  // computed where it is read
  if (kind == Reduction::row || kind == Reduction::segment) return reduce_columns(node);
  const auto is_its_sum = [&](const FusionSum& sum) { return sum.value == node.result(); };
  accumulate(*llvm::find_if(fusion_.sums, is_its_sum), kind, *node.operand(0));
}

void FusionBlocks::reduce_columns(const Node& node) {
  const int number = fusion_.append(column_, {.kind = Kind::reduce,
                                              .dtype = node.result()->dtype(),
                                              .operands = {values_.column_value(*node.operand(0))},
                                              .reduce_op = node.reduce_op});
  values_.set_row_value(*node.result(), number);
  for (unsigned i = 1; i < node.result_count(); ++i)
    values_.set_row_value(*node.result(i), fusion_.append(column_, {.kind = Kind::result,
                                                                    .dtype = node.result(i)->dtype(),
                                                                    .operands = {number},
                                                                    .slot = static_cast<int>(i)}));
}

/// A full sum of columns is reduced along the row first; rows add up chunk by chunk.
void FusionBlocks::accumulate(const FusionSum& sum, Reduction kind, const Value& operand) {
  const bool columns = kind == Reduction::column;
  const int value = columns ? values_.column_value(operand) : reduced_value(operand);
  Instruction instruction{
      .kind = Kind::accumulate, .dtype = operand.dtype(), .operands = {value}, .access = chunk_access(sum)};
  if (columns)
    fusion_.append(column_, std::move(instruction));
  else
    append_behind(Scope::row, std::move(instruction));
}

/// A row scalar: the sum along the row where the operand has columns.
int FusionBlocks::reduced_value(const Value& operand) {
  if (!fusion_.is_column(operand)) return values_.row_value(operand);
  return fusion_.append(column_, {.kind = Kind::reduce,
                                  .dtype = operand.dtype(),
                                  .operands = {values_.column_value(operand)},
                                  .reduce_op = ReduceOp::add});
}

/// Within a chunk's slice, which is dense.
Access FusionBlocks::chunk_access(const FusionSum& sum) const {
  return fusion_.access(sum.param, dense_strides(sum.value->shape()), fusion_.axes_of(*sum.value));
}

// ---- stores

/// Appends a store. The result of this level's reduction is stored after the block that computes it.
void FusionBlocks::emit_store(const FusionStore& store, int level) {
  const FromNode from(fusion_, *store.value->node());
  if (store.value->node()->is(Op::insert)) {
    for (const Node* insert : insert_chain(*store.value->node())) emit_insert(store, *insert);
    return;
  }
  const bool column = fusion_.is_column(*store.value);
  const int value = column ? values_.column_value(*store.value) : values_.row_value(*store.value);
  Instruction instruction{.kind = Kind::store,
                          .dtype = store.result->dtype(),
                          .operands = {value},
                          .access = fusion_.access(store)};
  if (ready_level(*store.value) > level)
    return append_behind(column ? Scope::column : Scope::row, std::move(instruction));
  fusion_.append(column ? column_ : row_, std::move(instruction));
  if (column) values_.note_stored(store);
}

/// Appends the store of an insert. The other elements of the result are already in place.
void FusionBlocks::emit_insert(const FusionStore& store, const Node& insert) {
  const bool column = fusion_.is_column(*insert.result());
  const Value& inserted = *inserted_value(insert);
  const int value = column ? values_.column_value(inserted) : values_.row_value(inserted);
  FusionValues::InsertPlace place = values_.place_of_insert(insert, store);
  fusion_.append(column ? column_ : row_, {.kind = Kind::store,
                                           .dtype = store.result->dtype(),
                                           .operands = {value},
                                           .access = std::move(place.access),
                                           .predicate = place.predicate});
}

/// A row reduction's result is there one level after its operand.
int FusionBlocks::ready_level(const Value& value) const {
  const IterationSpace& space = fusion_.space();
  const auto it = space.reductions.find(value.node());
  const bool later =
      it != space.reductions.end() && (it->second == Reduction::row || it->second == Reduction::segment);
  return space.level.lookup(value.node()) + (later ? 1 : 0);
}

}  // namespace smelt
