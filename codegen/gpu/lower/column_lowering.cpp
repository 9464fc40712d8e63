#include "codegen/gpu/lower/column_lowering.h"

#include <limits>
#include <set>

namespace smelt::gpu {

void ColumnLowering::lower(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  vectors_.declare_kept(block);
  reductions_.declare_states(nest);
  reductions_.declare_long_sums();
  lower_loops(nest, 0);
  reductions_.round_long_sums();
  reductions_.finish_in_team();
}

/// The column axes but the last.
void ColumnLowering::lower_loops(const BlockNest& nest, size_t depth) {
  instructions_.lower_depth(nest, static_cast<int>(depth));
  if (depth == nest.outer.size()) {
    lower_vectors(nest);
    if (depth > 0) reductions_.add_short_sums();
    return;
  }
  const int axis = nest.outer[depth];
  c_.place.indices[axis] = c_.out.open_loop(Scalar::index, fmt::format("o{}", axis), 0, c_.extent(axis), 1);
  lower_loops(nest, depth + 1);
  c_.out.close();
}

// ---- the vectors of a row: all in registers, or in a loop

void ColumnLowering::lower_vectors(const BlockNest& nest) {
  c_.out.open_scope();
  vectors_.begin_block();
  addresses_.declare_starts(nest);
  declare_inverses(nest);
  if (c_.vectors == 0)
    lower_row_in_loop(nest);
  else if (c_.unroll >= c_.vectors)
    lower_row_in_registers(nest);
  else
    lower_row_in_rounds(nest);
  c_.out.close();
}

/// A column of the team's share of the range, if the range is the columns.
Expr ColumnLowering::after_first(const Expr& column) const {
  return c_.schedule.flat ? variable("begin", Scalar::index) + column : column;
}

void ColumnLowering::lower_row_in_registers(const BlockNest& nest) {
  const Expr k = variable("k", Scalar::int32);
  lower_group(nest, {.variable = k,
                     .count = c_.vectors,
                     .position = after_first(c_.column_of_vector(k)),
                     .slot = k,
                     .exists = c_.column_exists()});
}

/// Appends rounds of as many vectors as are in flight.
void ColumnLowering::lower_row_in_rounds(const BlockNest& nest) {
  const Expr b = c_.out.open_unrolled("b", (c_.vectors + c_.unroll - 1) / c_.unroll);
  const Expr u = variable("u", Scalar::int32), k = variable("k", Scalar::int32), number = b * c_.unroll + u;
  lower_group(nest,
              {.variable = u,
               .count = c_.unroll,
               .position = after_first(c_.column_of_vector(number)),
               .slot = k,
               .declared = number,
               .exists = (c_.vectors % c_.unroll != 0 ? k < c_.vectors : Expr()) && c_.column_exists()});
  c_.out.close();
}

void ColumnLowering::lower_row_in_loop(const BlockNest& nest) {
  const int64_t step = int64_t{c_.lanes} * c_.width;
  const int64_t blocks = c_.schedule.flat && c_.schedule.interleaved ? c_.schedule.splits : 1;
  const Expr c0 = c_.out.open_loop(Scalar::index, "c0", after_first(c_.lane() * c_.width), c_.columns_end(),
                                   step * c_.unroll * blocks);
  const Expr u = variable("u", Scalar::int32);
  lower_group(nest, {.variable = u,
                     .count = c_.unroll,
                     .position = c0 + u * step,
                     .slot = u,
                     .exists = c_.column() < c_.columns_end()});
  reductions_.add_short_sums();
  c_.out.close();
}

void ColumnLowering::lower_group(const BlockNest& nest, const Group& group) {
  c_.place.slot = group.slot;
  const bool any_loads = vectors_.has_loads(nest), loads_apart = any_loads && group.count > 1;
  if (loads_apart) {
    vectors_.declare_loads(nest, group.count);
    open_vector(group);
    vectors_.lower_loads(nest, group.variable);
    close_vector();
  }
  open_vector(group);
  if (any_loads && !loads_apart) {
    vectors_.declare_loads(nest);
    vectors_.lower_loads(nest);
  }
  vectors_.lower_vector(nest, group.slot);
  close_vector();
}

void ColumnLowering::open_vector(const Group& group) {
  c_.out.open_unrolled(group.variable->name, group.count);
  if (group.declared) c_.out.declare(Scalar::int32, group.slot->name, group.declared);
  c_.out.declare(Scalar::index, "c", group.position);
  c_.out.open_if(group.exists);
}

void ColumnLowering::close_vector() { c_.out.close(), c_.out.close(); }

// ---- divisors whose inverses rows are multiplied by

void ColumnLowering::declare_inverses(const BlockNest& nest) {
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
void ColumnLowering::declare_inverse(int divisor, bool scaled) {
  const Expr d = c_.value_of(divisor);
  const std::string name = fmt::format("inverse{}", divisor);
  if (!scaled) return (void)c_.out.declare(Scalar::real, name, real_number(1) / d);
  const Expr small =
      apply(ScalarOp::abs, {&d, 1}, Precision::exact) < real_number(std::numeric_limits<float>::min());
  const Expr unit =
      c_.out.declare(Scalar::real, "unit_of_" + name, choice(small, real_number(0x1p64), real_number(1)));
  c_.out.declare(Scalar::real, name, real_number(1) / (d * unit));
}

}  // namespace smelt::gpu
