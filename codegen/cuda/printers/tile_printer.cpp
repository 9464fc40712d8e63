#include "codegen/cuda/printers/tile_printer.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {

using Scope = KernelBlock::Scope;

void TilePrinter::print() {
  const int64_t items = c_.schedule.grain;
  c_.out.line("const int lane = threadIdx.x % {};", c_.lanes);
  c_.out.line("const int team = threadIdx.x / {};", c_.lanes);
  c_.out.line("const Index first = (Index){} * {};", c_.block, items);
  c_.out.open("for (Index item = first; item < first + {} && item < range; ++item)", items);
  declare_item();
  set_row_guard();
  for (size_t i = 0; i < c_.kernel.blocks.size(); ++i) {
    print_block(c_.kernel.blocks[i]);
    if (i == 0 && c_.kernel.row_predicate >= 0)
      c_.out.line_if("!" + operand_text(c_.value_as(c_.kernel.row_predicate, CudaKind::flag)), "continue;");
  }
  c_.out.close();
}

/// Splits an item's number: the tile of columns varies fastest, then the other axes.
void TilePrinter::declare_item() {
  std::vector<int> others = c_.shape.parallel;
  if (c_.shape.columns.size() > 1)
    others.insert(others.end(), c_.shape.columns.begin(), c_.shape.columns.end() - 1);
  if (c_.shape.inner < 0) {
    c_.out.line("const Index c = 0;");
    return c_.declare_indices("item", others);
  }
  const int64_t tile = c_.schedule.tile;
  c_.out.line("const Index tiles = ({} + {}) / {};", c_.columns_end(), tile - 1, tile);
  c_.out.line("const Index c = item % tiles * {} + lane * {};", tile, c_.width);
  c_.out.line("const Index others = item / tiles;");
  c_.declare_indices("others", others);
}

/// One thread stores what all columns have in common.
void TilePrinter::set_row_guard() {
  std::vector<std::string> all = {"threadIdx.x == 0", c_.shape.inner >= 0 ? "item % tiles == 0" : ""};
  for (size_t i = 0; i + 1 < c_.shape.columns.size(); ++i)
    if (const std::string& index = c_.place.indices[c_.shape.columns[i]]; index != "0")
      all.push_back(fmt::format("{} == 0", index));
  c_.place.row_guard = conditions(std::move(all));
}

void TilePrinter::print_block(const KernelBlock& block) {
  if (block.scope == Scope::row) return printers_.instructions.print_row_block(block);
  if (block.scope == Scope::reduced) return print_reduced_block(block);
  for (int id : block.instructions)
    if (c_.instruction(id).kind == Instruction::Kind::reduce)
      c_.reject(id, "reduces over columns that are cut into tiles");
  print_column_block(block);
}

// ---- reduced blocks: one loop over all reduced indices, shared by the teams

void TilePrinter::print_reduced_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  printers_.reductions.declare_states(nest);
  printers_.instructions.print_depth(nest, 0);
  printers_.reductions.declare_long_sums();
  print_reduced_loops(nest);
  printers_.reductions.round_long_sums();
  exchange_.print(is_last_reduced(block));
  printers_.reductions.bind_results();
}

TilePrinter::Range TilePrinter::reduced_range() const {
  Range range;
  const KernelAxis& first = c_.kernel.axes[c_.shape.reduced.front()];
  for (int axis : c_.shape.reduced) range.end += (range.end.empty() ? "" : " * ") + c_.extent(axis);
  if (first.begin >= 0) range.begin = c_.value_as(first.begin, CudaKind::integer);
  if (first.end >= 0) range.end = c_.value_as(first.end, CudaKind::integer);
  if (c_.shape.reduced.size() > 1 && (first.begin >= 0 || first.end >= 0))
    fail_with(Status::internal, "kernel {}: a segment stands beside another reduced axis", c_.kernel.name);
  return range;
}

void TilePrinter::print_reduced_loops(const BlockNest& nest) {
  c_.out.open("");
  printers_.vectors.begin_block();
  const Range range = reduced_range();
  c_.out.line("Index i0 = {} + team;", range.begin);
  if (c_.schedule.short_sum > 0)
    print_short_sums(nest, range.end);
  else
    print_share(nest, range.end);
  c_.out.close();
}

/// Prints sums over a part of a team's indices, which become terms of the long sums.
void TilePrinter::print_short_sums(const BlockNest& nest, const std::string& end) {
  const int64_t step = c_.schedule.short_sum * c_.teams;
  c_.out.pragma_unroll(1);
  c_.out.open("while (i0 < {})", end);
  c_.out.line("const Index stop = {0} - i0 > {1} ? i0 + {1} : {0};", end, step);
  print_share(nest, "stop");
  printers_.reductions.add_short_sums();
  c_.out.close();
}

/// A team's indices up to an end.
void TilePrinter::print_share(const BlockNest& nest, const std::string& end) {
  const bool rounds = nest.block->loads_first;
  for (int64_t count = c_.unroll; rounds && count > 1; count /= 4)
    print_rounds(nest, static_cast<int>(count), end);
  c_.out.pragma_unroll(rounds ? 1 : c_.unroll);
  c_.out.open("for (; i0 < {}; {})", end, step_text("i0", c_.teams));
  c_.out.line("const Index i = i0;");
  print_reduced_index(nest, [&] {
    printers_.vectors.declare_loads(nest, "");
    printers_.vectors.print_loads(nest, "");
    printers_.vectors.print_vector(nest, "");
  });
  c_.out.close();
}

/// Prints the loop of rounds of `count` indices, which ends before a load would need a bounds check.
void TilePrinter::print_rounds(const BlockNest& nest, int count, const std::string& end) {
  const auto print_each = [&](const auto& print_work) {
    c_.out.open_unrolled("u", count);
    c_.out.line("const Index i = i0 + u * {};", c_.teams);
    print_reduced_index(nest, print_work);
    c_.out.close();
  };
  c_.out.pragma_unroll(1);
  c_.out.open("for (; i0 < {} - {}; {})", end, c_.teams * (count - 1), step_text("i0", c_.teams * count));
  printers_.vectors.declare_loads(nest, fmt::format("[{}]", count));
  print_each([&] { printers_.vectors.print_loads(nest, "u"); });
  print_each([&] { printers_.vectors.print_vector(nest, ""); });
  c_.out.close();
}

void TilePrinter::print_reduced_index(const BlockNest& nest, const std::function<void()>& print_work) {
  if (c_.shape.reduced.size() == 1)
    c_.place.indices[c_.shape.reduced.front()] = "i";
  else
    c_.declare_indices("i", c_.shape.reduced);
  for (int depth = 1; depth < nest.inner; ++depth) printers_.instructions.print_depth(nest, depth);
  if (c_.shape.inner >= 0) c_.out.open("if (c < {})", c_.columns_end());
  printers_.addresses.declare_starts(nest);
  print_work();
  if (c_.shape.inner >= 0) c_.out.close();
}

/// Returns whether only column blocks, which the first team runs, and row blocks, which its first thread
/// runs, follow.
bool TilePrinter::is_last_reduced(const KernelBlock& block) const {
  const KernelBlock* const end = c_.kernel.blocks.data() + c_.kernel.blocks.size();
  return std::none_of(&block + 1, end,
                      [](const KernelBlock& later) { return later.scope == Scope::reduced; });
}

// ---- column blocks: what becomes of the sums, the first team's work

void TilePrinter::print_column_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  printers_.instructions.print_depth(nest, 0);
  c_.out.open("if (team == 0 && c < {})", c_.columns_end());
  printers_.vectors.begin_block();
  printers_.addresses.declare_starts(nest);
  printers_.vectors.declare_loads(nest, "");
  printers_.vectors.print_loads(nest, "");
  printers_.vectors.print_vector(nest, "");
  c_.out.close();
}

}  // namespace smelt
