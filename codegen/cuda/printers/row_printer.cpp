#include "codegen/cuda/printers/row_printer.h"

namespace smelt {

RowPrinter::RowPrinter(CudaContext& context, BlockPrinters& printers)
    : c_(context),
      printers_(printers),
      columns_(context, printers.addresses, printers.instructions, printers.reductions, printers.vectors),
      accumulators_(context, printers.addresses) {}

void RowPrinter::print() {
  declare_threads();
  accumulators_.declare();
  if (c_.schedule.flat)
    print_flat_range();
  else if (c_.schedule.splits > 0)
    print_walk();
  else
    print_row_of_team();
  accumulators_.finish();
}

void RowPrinter::declare_threads() {
  const int lanes = c_.lanes;
  if (lanes > 1) {
    c_.out.line("const int lane = threadIdx.x % {};", lanes);
    c_.place.row_guard = "lane == 0";
  }
  if (lanes > 1 && lanes < 32)
    c_.out.line("const unsigned mask = {} << threadIdx.x % 32 / {} * {};", bits_text((1u << lanes) - 1),
                lanes, lanes);
  if (lanes == 32) c_.out.line("const unsigned mask = 0xffffffffu;");
  if (c_.teams > 1) c_.out.line("const int team = threadIdx.x / {};", lanes);
}

// ---- which rows

/// Every team has one row.
void RowPrinter::print_row_of_team() {
  c_.out.line("const Index row = (Index){} * {}{};", c_.block, c_.teams, c_.teams > 1 ? " + team" : "");
  if (c_.teams > 1) c_.out.line_if("row >= range", "return;");
  c_.declare_indices("row", c_.shape.parallel);
  print_blocks("return");
}

/// Prints the loop of a block over its share of the rows, neighbouring or interleaved ones, in a kernel with
/// partial sums.
void RowPrinter::print_walk() {
  declare_share_of_walk();
  if (c_.alternates_buffers()) c_.out.line("int buffer = 0;");
  const std::string first = c_.teams > 1 ? "begin + team" : "begin";
  const int64_t step = c_.schedule.interleaved ? c_.schedule.splits * c_.teams : c_.teams;
  printers_.prefetch.print_first_rows(first, step);
  c_.out.open("for (Index row = {}; row < end; {})", first, step_text("row", step));
  if (c_.alternates_buffers()) c_.out.line("buffer ^= 1;");
  printers_.prefetch.print_next_row(step);
  c_.declare_indices("row", c_.shape.parallel);
  print_blocks("continue");
  c_.out.close();
}

void RowPrinter::print_range(const std::string& begin, const std::string& end) {
  c_.out.line("const Index begin = {};", begin);
  c_.out.line("const Index end = {};", end);
}

void RowPrinter::declare_share_of_walk() {
  const int64_t splits = c_.schedule.splits;
  if (c_.schedule.interleaved) return print_range(fmt::format("(Index)blockIdx.x * {}", c_.teams), "range");
  c_.out.line("const Index chunk = (range + {0}) / {1} > 1 ? (range + {0}) / {1} : 1;", splits - 1, splits);
  print_range("blockIdx.x * chunk", "begin + chunk < range ? begin + chunk : range");
}

/// The team is the block; its columns begin where its share of the range does, at a multiple of every vector.
void RowPrinter::print_flat_range() {
  const Schedule& s = c_.schedule;
  c_.place.row_guard = conditions({c_.block + " == 0", c_.lanes > 1 ? "lane == 0" : ""});
  if (s.interleaved) {
    print_range(fmt::format("(Index)blockIdx.x * {}", int64_t{c_.lanes} * c_.width * c_.unroll), "range");
  } else {
    if (s.splits > 0)
      c_.out.line("const Index chunk = ((range + {}) / {} + 63) / 64 * 64;", s.splits - 1, s.splits);
    const std::string share = s.splits > 0 ? "chunk" : std::to_string(s.grain);
    print_range(fmt::format("(Index){} * {}", c_.block, share),
                fmt::format("begin + {0} < range ? begin + {0} : range", share));
  }
  print_blocks("return");
}

// ---- the work on a row

void RowPrinter::print_blocks(const std::string& skip) {
  printers_.prefetch.print_early_loads();
  for (size_t i = 0; i < c_.kernel.blocks.size(); ++i) {
    const KernelBlock& block = c_.kernel.blocks[i];
    if (block.after_barrier) c_.team_barrier();
    if (block.scope == KernelBlock::Scope::row)
      printers_.instructions.print_row_block(block);
    else
      columns_.print(block);
    if (i == 0 && c_.kernel.row_predicate >= 0)
      c_.out.line_if("!" + operand_text(c_.value_as(c_.kernel.row_predicate, CudaKind::flag)), skip + ";");
  }
}

}  // namespace smelt
