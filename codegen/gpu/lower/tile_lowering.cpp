#include "codegen/gpu/lower/tile_lowering.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::gpu {
namespace {

using BlockScope = KernelBlock::Scope;

/// The next reduced index of a team.
Expr next_reduced() { return variable("i0", Scalar::index); }

}  // namespace

void TileLowering::lower() {
  c_.out.declare(Scalar::int32, "lane", thread_number() % c_.lanes);
  c_.out.declare(Scalar::int32, "team", thread_number() / c_.lanes);
  open_items();
  declare_item();
  set_row_guard();
  for (size_t i = 0; i < c_.kernel.blocks.size(); ++i) {
    lower_block(c_.kernel.blocks[i]);
    if (i == 0 && c_.kernel.row_predicate >= 0)
      c_.out.where(!c_.value_as(c_.kernel.row_predicate, Scalar::flag),
                   [&] { c_.out.append(Jump{.next_iteration = true}); });
  }
  c_.out.close();
}

/// Opens the loop over the items of a thread block.
void TileLowering::open_items() {
  const int64_t items = c_.schedule.grain;
  const Expr first = c_.out.declare(Scalar::index, "first", cast(c_.block, Scalar::index) * items);
  const Expr item = variable("item", Scalar::index);
  c_.out.open(Loop{Declaration{.type = Scalar::index, .name = "item", .value = first},
                   item < first + items && item < variable("range", Scalar::index),
                   Assignment{Assignment::Op::add, item, 1}});
}

/// Splits an item's number: the tile of columns varies fastest, then the other axes.
void TileLowering::declare_item() {
  std::vector<int> others = c_.shape.parallel;
  if (c_.shape.columns.size() > 1)
    others.insert(others.end(), c_.shape.columns.begin(), c_.shape.columns.end() - 1);
  if (c_.shape.inner >= 0) return declare_tile(others);
  c_.out.declare(Scalar::index, "c", 0);
  c_.declare_indices(variable("item", Scalar::index), others);
}

void TileLowering::declare_tile(const std::vector<int>& others) {
  const int64_t tile = c_.schedule.tile;
  const Expr item = variable("item", Scalar::index), lane = variable("lane", Scalar::int32);
  const Expr tiles = c_.out.declare(Scalar::index, "tiles", (c_.columns_end() + (tile - 1)) / tile);
  c_.out.declare(Scalar::index, "c", item % tiles * tile + lane * c_.width);
  c_.declare_indices(c_.out.declare(Scalar::index, "others", item / tiles), others);
}

/// One thread stores what all columns have in common.
void TileLowering::set_row_guard() {
  Expr guard = thread_number() == 0;
  if (c_.shape.inner >= 0)
    guard = guard && variable("item", Scalar::index) % variable("tiles", Scalar::index) == 0;
  for (size_t i = 0; i + 1 < c_.shape.columns.size(); ++i)
    if (const Expr& index = c_.place.indices[c_.shape.columns[i]]; !index.is_zero())
      guard = guard && index == 0;
  c_.place.row_guard = guard;
}

void TileLowering::lower_block(const KernelBlock& block) {
  if (block.scope == BlockScope::row) return lowerings_.instructions.lower_row_block(block);
  if (block.scope == BlockScope::reduced) return lower_reduced_block(block);
  for (int id : block.instructions)
    if (c_.instruction(id).kind == Instruction::Kind::reduce)
      c_.reject(id, "reduces over columns that are cut into tiles");
  lower_column_block(block);
}

// ---- reduced blocks: one loop over all reduced indices, shared by the teams

void TileLowering::lower_reduced_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  lowerings_.reductions.declare_states(nest);
  lowerings_.instructions.lower_depth(nest, 0);
  lowerings_.reductions.declare_long_sums();
  lower_reduced_loops(nest);
  lowerings_.reductions.round_long_sums();
  exchange_.lower(is_last_reduced(block));
  lowerings_.reductions.bind_results();
}

TileLowering::Range TileLowering::reduced_range() const {
  Range range;
  const KernelAxis& first = c_.kernel.axes[c_.shape.reduced.front()];
  for (int axis : c_.shape.reduced) range.end = range.end ? range.end * c_.extent(axis) : c_.extent(axis);
  if (first.begin >= 0) range.begin = c_.value_as(first.begin, Scalar::int32);
  if (first.end >= 0) range.end = c_.value_as(first.end, Scalar::int32);
  if (c_.shape.reduced.size() > 1 && (first.begin >= 0 || first.end >= 0))
    fail_with(Status::internal, "kernel {}: a segment stands beside another reduced axis", c_.kernel.name);
  return range;
}

void TileLowering::lower_reduced_loops(const BlockNest& nest) {
  c_.out.open_scope();
  lowerings_.vectors.begin_block();
  const Range range = reduced_range();
  c_.out.declare_changing(Scalar::index, "i0", range.begin + c_.team());
  if (c_.schedule.short_sum > 0)
    lower_short_sums(nest, range.end);
  else
    lower_share(nest, range.end);
  c_.out.close();
}

/// Appends sums over a part of a team's indices, which become terms of the long sums.
void TileLowering::lower_short_sums(const BlockNest& nest, const Expr& end) {
  const int64_t step = c_.schedule.short_sum * c_.teams;
  const Expr i0 = next_reduced();
  c_.out.open(Loop{{}, i0 < end, {}, 1});
  lower_share(nest, c_.out.declare(Scalar::index, "stop", choice(end - i0 > step, i0 + step, end)));
  lowerings_.reductions.add_short_sums();
  c_.out.close();
}

/// A team's indices up to an end.
void TileLowering::lower_share(const BlockNest& nest, const Expr& end) {
  const bool rounds = nest.block->loads_first;
  for (int64_t count = c_.unroll; rounds && count > 1; count /= 4)
    lower_rounds(nest, static_cast<int>(count), end);
  open_indices(end, c_.teams, rounds ? 1 : c_.unroll);
  const Expr i = c_.out.declare(Scalar::index, "i", next_reduced());
  lower_reduced_index(nest, i, [&] { lower_whole_vector(nest); });
  c_.out.close();
}

/// Opens the loop over a team's next indices up to an end.
void TileLowering::open_indices(const Expr& end, int64_t step, int64_t unroll) {
  c_.out.open(Loop{{}, next_reduced() < end, Assignment{Assignment::Op::add, next_reduced(), step}, unroll});
}

void TileLowering::lower_whole_vector(const BlockNest& nest) {
  lowerings_.vectors.declare_loads(nest);
  lowerings_.vectors.lower_loads(nest);
  lowerings_.vectors.lower_vector(nest);
}

/// Appends the loop of rounds of `count` indices, which ends before a load would need a bounds check.
void TileLowering::lower_rounds(const BlockNest& nest, int count, const Expr& end) {
  open_indices(end - c_.teams * (count - 1), int64_t{c_.teams} * count, 1);
  lowerings_.vectors.declare_loads(nest, count);
  lower_each(nest, count, [&](const Expr& u) { lowerings_.vectors.lower_loads(nest, u); });
  lower_each(nest, count, [&](const Expr&) { lowerings_.vectors.lower_vector(nest); });
  c_.out.close();
}

/// Appends the loop over the indices of a round. `work` gets the number of the index in the round.
void TileLowering::lower_each(const BlockNest& nest, int count,
                              const std::function<void(const Expr&)>& work) {
  const Expr u = c_.out.open_unrolled("u", count);
  const Expr i = c_.out.declare(Scalar::index, "i", next_reduced() + u * c_.teams);
  lower_reduced_index(nest, i, [&] { work(u); });
  c_.out.close();
}

void TileLowering::lower_reduced_index(const BlockNest& nest, const Expr& i,
                                       const std::function<void()>& work) {
  if (c_.shape.reduced.size() == 1)
    c_.place.indices[c_.shape.reduced.front()] = i;
  else
    c_.declare_indices(i, c_.shape.reduced);
  for (int depth = 1; depth < nest.inner; ++depth) lowerings_.instructions.lower_depth(nest, depth);
  const Expr exists = c_.shape.inner >= 0 ? c_.column() < c_.columns_end() : Expr();
  c_.out.where(exists, [&] {
    lowerings_.addresses.declare_starts(nest);
    work();
  });
}

/// Returns whether only column blocks, which the first team runs, and row blocks, which its first thread
/// runs, follow.
bool TileLowering::is_last_reduced(const KernelBlock& block) const {
  const KernelBlock* const end = c_.kernel.blocks.data() + c_.kernel.blocks.size();
  return std::none_of(&block + 1, end,
                      [](const KernelBlock& later) { return later.scope == KernelBlock::Scope::reduced; });
}

// ---- column blocks: what becomes of the sums, the first team's work

void TileLowering::lower_column_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  lowerings_.instructions.lower_depth(nest, 0);
  c_.out.open_if(c_.team() == 0 && c_.column() < c_.columns_end());
  lowerings_.vectors.begin_block();
  lowerings_.addresses.declare_starts(nest);
  lower_whole_vector(nest);
  c_.out.close();
}

}  // namespace smelt::gpu
