#include "codegen/gpu/lower/row_lowering.h"

namespace smelt::gpu {
namespace {

Expr range() { return variable("range", Scalar::index); }
/// The first and the end of the rows, or of the columns, that a thread block processes.
Expr begin_of_share() { return variable("begin", Scalar::index); }
Expr end_of_share() { return variable("end", Scalar::index); }

}  // namespace

RowLowering::RowLowering(LoweringContext& context, BlockLowerings& lowerings)
    : c_(context),
      lowerings_(lowerings),
      columns_(context, lowerings.addresses, lowerings.instructions, lowerings.reductions, lowerings.vectors),
      accumulators_(context, lowerings.addresses) {}

void RowLowering::lower() {
  declare_threads();
  accumulators_.declare();
  if (c_.schedule.flat)
    lower_flat_range();
  else if (c_.schedule.splits > 0)
    lower_walk();
  else
    lower_row_of_team();
  accumulators_.finish();
}

void RowLowering::declare_threads() {
  const int lanes = c_.lanes;
  if (lanes > 1) c_.place.row_guard = c_.out.declare(Scalar::int32, "lane", thread_number() % lanes) == 0;
  if (lanes > 1 && lanes < 32)
    c_.out.declare(Scalar::bits, "mask", c_.mask_of(lanes) << thread_number() % 32 / lanes * lanes);
  if (lanes == 32) c_.out.declare(Scalar::bits, "mask", c_.mask_of(32));
  if (c_.teams > 1) c_.out.declare(Scalar::int32, "team", thread_number() / lanes);
}

// ---- which rows

/// Every team has one row.
void RowLowering::lower_row_of_team() {
  const Expr first = cast(c_.block, Scalar::index) * c_.teams;
  const Expr row = c_.out.declare(Scalar::index, "row", c_.teams > 1 ? first + c_.team() : first);
  if (c_.teams > 1) c_.out.where(row >= range(), [&] { c_.out.leave(); });
  c_.declare_indices(row, c_.shape.parallel);
  lower_blocks({});
}

/// Appends the loop of a block over its share of the rows, neighbouring or interleaved ones, in a kernel with
/// partial sums.
void RowLowering::lower_walk() {
  declare_share_of_walk();
  if (c_.alternates_buffers()) c_.out.declare_changing(Scalar::int32, "buffer", 0);
  const Expr first = c_.teams > 1 ? begin_of_share() + c_.team() : begin_of_share();
  const int64_t step = c_.schedule.interleaved ? c_.schedule.splits * c_.teams : c_.teams;
  lowerings_.prefetch.lower_first_rows(first, step);
  const Expr row = c_.out.open_loop(Scalar::index, "row", first, end_of_share(), step);
  if (c_.alternates_buffers())
    c_.out.assign(Assignment::Op::exclusive_or, variable("buffer", Scalar::int32), 1);
  lowerings_.prefetch.lower_next_row(row, step);
  c_.declare_indices(row, c_.shape.parallel);
  lower_blocks({.next_iteration = true});
  c_.out.close();
}

void RowLowering::declare_range(const Expr& begin, const Expr& end) {
  c_.out.declare(Scalar::index, "begin", begin);
  c_.out.declare(Scalar::index, "end", end);
}

/// Declares a range of `share` elements, or fewer if the kernel's range ends before.
void RowLowering::declare_share(const Expr& begin, const Expr& share) {
  const Expr end = begin_of_share() + share;
  declare_range(begin, choice(end < range(), end, range()));
}

void RowLowering::declare_share_of_walk() {
  const int64_t splits = c_.schedule.splits;
  if (c_.schedule.interleaved) return declare_range(cast(block_number(), Scalar::index) * c_.teams, range());
  const Expr rows = (range() + (splits - 1)) / splits;
  const Expr chunk = c_.out.declare(Scalar::index, "chunk", choice(rows > 1, rows, 1));
  declare_share(block_number() * chunk, chunk);
}

/// The team is the block; its columns begin where its share of the range does, at a multiple of every vector.
void RowLowering::lower_flat_range() {
  const Schedule& s = c_.schedule;
  c_.place.row_guard = c_.block == 0 && (c_.lanes > 1 ? c_.lane() == 0 : Expr());
  if (s.interleaved) {
    declare_range(cast(block_number(), Scalar::index) * (int64_t{c_.lanes} * c_.width * c_.unroll), range());
  } else {
    const Expr share = share_of_flat_range();
    declare_share(cast(c_.block, Scalar::index) * share, share);
  }
  lower_blocks({});
}

Expr RowLowering::share_of_flat_range() {
  const int64_t splits = c_.schedule.splits;
  if (splits == 0) return c_.schedule.grain;
  return c_.out.declare(Scalar::index, "chunk", ((range() + (splits - 1)) / splits + 63) / 64 * 64);
}

// ---- the work on a row

void RowLowering::lower_blocks(Jump skip) {
  lowerings_.prefetch.lower_early_loads();
  for (size_t i = 0; i < c_.kernel.blocks.size(); ++i) {
    const KernelBlock& block = c_.kernel.blocks[i];
    if (block.after_barrier) c_.team_barrier();
    if (block.scope == KernelBlock::Scope::row)
      lowerings_.instructions.lower_row_block(block);
    else
      columns_.lower(block);
    if (i == 0 && c_.kernel.row_predicate >= 0)
      c_.out.where(!c_.value_as(c_.kernel.row_predicate, Scalar::flag), [&] { c_.out.append(skip); });
  }
}

}  // namespace smelt::gpu
