#include "codegen/cuda/printers/column_printer.h"

#include <set>

namespace smelt {

void ColumnPrinter::print(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  vectors_.declare_kept(block);
  reductions_.declare_states(nest);
  reductions_.declare_long_sums();
  print_loops(nest, 0);
  reductions_.round_long_sums();
  reductions_.finish_in_team();
}

/// The column axes but the last.
void ColumnPrinter::print_loops(const BlockNest& nest, size_t depth) {
  instructions_.print_depth(nest, static_cast<int>(depth));
  if (depth == nest.outer.size()) {
    print_vectors(nest);
    if (depth > 0) reductions_.add_short_sums();
    return;
  }
  const int axis = nest.outer[depth];
  c_.place.indices[axis] = fmt::format("o{}", axis);
  c_.out.open("for (Index o{0} = 0; o{0} < {1}; ++o{0})", axis, c_.extent(axis));
  print_loops(nest, depth + 1);
  c_.out.close();
}

// ---- the vectors of a row: all in registers, or in a loop

void ColumnPrinter::print_vectors(const BlockNest& nest) {
  c_.out.open("");
  vectors_.begin_block();
  addresses_.declare_starts(nest);
  declare_inverses(nest);
  const std::string first = c_.schedule.flat ? "begin + " : "";
  if (c_.vectors == 0)
    print_row_in_loop(nest, first);
  else if (c_.unroll >= c_.vectors)
    print_row_in_registers(nest, first);
  else
    print_row_in_rounds(nest, first);
  c_.out.close();
}

void ColumnPrinter::print_row_in_registers(const BlockNest& nest, const std::string& first) {
  print_group(nest, {.variable = "k",
                     .count = c_.vectors,
                     .position = first + c_.column_of_vector(),
                     .slot = "k",
                     .exists = c_.covers_rows_exactly() ? "" : fmt::format("c < {}", c_.columns_end())});
}

/// Prints rounds of as many vectors as are in flight.
void ColumnPrinter::print_row_in_rounds(const BlockNest& nest, const std::string& first) {
  const std::string in_row = c_.covers_rows_exactly() ? "" : fmt::format("c < {}", c_.columns_end());
  const std::string in_registers = c_.vectors % c_.unroll != 0 ? fmt::format("k < {}", c_.vectors) : "";
  c_.out.open_unrolled("b", (c_.vectors + c_.unroll - 1) / c_.unroll);
  print_group(nest, {.variable = "u",
                     .count = c_.unroll,
                     .position = fmt::format("{}((b * {} + u) * {} + {}) * {}", first, c_.unroll, c_.lanes,
                                             c_.lane(), c_.width),
                     .slot = "k",
                     .first_line = fmt::format("const int k = b * {} + u;", c_.unroll),
                     .exists = conditions({in_registers, in_row})});
  c_.out.close();
}

void ColumnPrinter::print_row_in_loop(const BlockNest& nest, const std::string& first) {
  const int64_t step = int64_t{c_.lanes} * c_.width;
  const int64_t blocks = c_.schedule.flat && c_.schedule.interleaved ? c_.schedule.splits : 1;
  c_.out.open("for (Index c0 = {}{} * {}; c0 < {}; {})", first, c_.lane(), c_.width, c_.columns_end(),
              step_text("c0", step * c_.unroll * blocks));
  print_group(nest, {.variable = "u",
                     .count = c_.unroll,
                     .position = fmt::format("c0 + u * {}", step),
                     .slot = "u",
                     .exists = fmt::format("c < {}", c_.columns_end())});
  reductions_.add_short_sums();
  c_.out.close();
}

void ColumnPrinter::print_group(const BlockNest& nest, const Group& group) {
  c_.place.slot = group.slot;
  const bool any_loads = vectors_.has_loads(nest), loads_apart = any_loads && group.count > 1;
  if (loads_apart) {
    vectors_.declare_loads(nest, fmt::format("[{}]", group.count));
    open_vector(group);
    vectors_.print_loads(nest, group.variable);
    close_vector();
  }
  open_vector(group);
  if (any_loads && !loads_apart) {
    vectors_.declare_loads(nest, "");
    vectors_.print_loads(nest, "");
  }
  vectors_.print_vector(nest, group.slot);
  close_vector();
}

void ColumnPrinter::open_vector(const Group& group) {
  c_.out.open_unrolled(group.variable, group.count);
  if (!group.first_line.empty()) c_.out.line("{}", group.first_line);
  c_.out.line("const Index c = {};", group.position);
  c_.out.open("{}", group.exists.empty() ? "" : "if (" + group.exists + ")");
}

void ColumnPrinter::close_vector() { c_.out.close(), c_.out.close(); }

// ---- divisors whose inverses rows are multiplied by

void ColumnPrinter::declare_inverses(const BlockNest& nest) {
  std::set<int> divisors;
  for (int id : nest.block->instructions) {
    const Instruction& x = c_.instruction(id);
    const bool scaled = x.form == Form::scaled_inverse;
    if ((scaled || x.form == Form::inverse) && divisors.insert(x.operands[1]).second)
      declare_inverse(x.operands[1], scaled);
  }
}

/// Declares the inverse of a divisor. The inverse of a subnormal number would be infinite, so a scaled
/// inverse is in larger units.
void ColumnPrinter::declare_inverse(int divisor, bool scaled) {
  const std::string d = c_.value_of(divisor).text, factor = operand_text(d);
  const std::string name = fmt::format("inverse{}", divisor);
  if (!scaled) return c_.out.line("const float {} = 1.0f / {};", name, factor);
  c_.out.line("const float unit_of_{} = fabsf({}) < 1.1754944e-38f ? 1.8446744e+19f : 1.0f;", name, d);
  c_.out.line("const float {0} = 1.0f / ({1} * unit_of_{0});", name, factor);
}

}  // namespace smelt
