#include "codegen/gpu/lower/instruction_lowering.h"

#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt::gpu {
namespace {

using Kind = Instruction::Kind;

Precision precision_of(Form form) {
  return form == Form::plain          ? Precision::exact
         : form == Form::fast_tangent ? Precision::fast_tangent
                                      : Precision::fast;
}

Expr random_key() { return variable("random", Type(Scalar::bits).pointer_to_const()); }

}  // namespace

void InstructionLowering::lower(const BlockNest& nest, int id) {
  const Instruction& x = c_.instruction(id);
  switch (x.kind) {
    case Kind::constant:
      return c_.set_value(id, constant(x.number, x.dtype));
    case Kind::index:
      return c_.set_value(id, axis_number(x.axis));
    case Kind::convert:
      return lower_convert(id);
    case Kind::random:
      return lower_random(id);
    case Kind::load:
      return lower_load(id);
    case Kind::store:
      return lower_store(nest, id);
    case Kind::accumulate:
      return lower_accumulate(id);
    case Kind::reduce:
      return reductions_.lower_element(id);
    case Kind::result:  // of a reduction of this block: bound where that is finished
      if (x.slot == 0 && c_.has_value(x.operands[0])) c_.set_value(id, c_.value_of(x.operands[0]));
      return;
    case Kind::scalar:
      return lower_scalar(id);
    case Kind::handed:  // bound where the template hands it
      if (!c_.has_value(id)) c_.reject(id, "is handed by a template, and this kernel has none");
  }
}

void InstructionLowering::lower_depth(const BlockNest& nest, int depth) {
  for (int id : nest.block->instructions)
    if (nest.depth.lookup(id) == depth) lower(nest, id);
}

void InstructionLowering::lower_row_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  for (int id : block.instructions) lower(nest, id);
}

// ---- numbers

void InstructionLowering::lower_scalar(int id) { c_.define(id, scalar_value(id)); }

Expr InstructionLowering::scalar_value(int id) const {
  const Instruction& x = c_.instruction(id);
  if (x.form == Form::kept) {
    const int reduce = reduction_of_kept(c_.kernel, id);
    const Expr exps = variable_of("exps", reduce, Type(Scalar::real).array(2));
    return gpu::element(gpu::element(exps, c_.place.slot), c_.element()) *
           variable_of("scale", reduce, Scalar::real);
  }
  if (x.form == Form::inverse || x.form == Form::scaled_inverse) {
    const Expr product = operand(x, 0) * variable_of("inverse", x.operands[1], Scalar::real);
    return x.form == Form::inverse ? product
                                   : product * variable_of("unit_of_inverse", x.operands[1], Scalar::real);
  }
  if (subtracts_statistic(c_.kernel, c_.shape, id)) return rounded_difference(operand(x, 0), operand(x, 1));
  std::vector<Expr> operands;
  for (int operand : x.operands) operands.push_back(c_.value_of(operand));
  return apply(x.scalar_op, operands, precision_of(x.form));
}

Expr InstructionLowering::axis_number(int axis) const {
  const Expr& index = c_.place.indices[axis];
  return c_.schedule.index32 || index.is_zero() ? retyped(index, Scalar::int32) : cast(index, Scalar::int32);
}

void InstructionLowering::lower_convert(int id) {
  const Instruction& x = c_.instruction(id);
  const Expr value = converted(operand(x, 0), computed_type(x.dtype));
  if (x.operands.size() == 2)
    return c_.define(id,
                     call("sm_round_random", {value, converted(operand(x, 1), Scalar::int32)}, value.type()));
  const bool rounds = x.dtype == DType::bf16 || x.dtype == DType::f16 || x.dtype == DType::f8e4m3 ||
                      (!is_float(x.dtype) && size_of(x.dtype) < 4 && x.dtype != DType::boolean);
  if (!rounds) return c_.set_value(id, value);
  c_.define(id, rounded(value, x.dtype));
}

// ---- random bits

/// Vectors of eight or four columns draw their decisions at once.
bool InstructionLowering::draws_by_vector(int id) const {
  return (c_.width == 8 || c_.width == 4) && c_.instruction(id).kind == Kind::random &&
         c_.shape.is_vector_random(id);
}

/// The flattened row of the random op's own shape.
Expr InstructionLowering::random_row(const Instruction& x) const {
  return cast(c_.index_sum(x.random_offset, x.random_strides), Scalar::bits);
}

/// The index along its last dim.
Expr InstructionLowering::random_column(const Instruction& x, const Expr& index) const {
  if (x.random_axis < 0) return c_.dim(x.random_begin);
  return x.random_begin.is_zero() ? index : index + c_.dim(x.random_begin);
}

void InstructionLowering::declare_random_words(int id) {
  const Instruction& x = c_.instruction(id);
  const Expr words = c_.out.declare_array(Scalar::bits, fmt::format("w{}", id), {4});
  c_.out.call("sm_philox", {words, random_key(), random_id(x), random_row(x),
                            cast(random_column(x, c_.column()) / 8, Scalar::bits)});
  if (c_.width == 8) return;
  c_.out.open_if(c_.column() % 8 != 0);
  for (int i : {0, 1}) c_.out.set(gpu::element(words, i), gpu::element(words, i + 2));
  c_.out.close();
}

void InstructionLowering::lower_random(int id) {
  const Instruction& x = c_.instruction(id);
  if (x.slot < 0 || x.slot >= c_.kernel.random_slots) c_.reject(id, "has no slot in random_ids");
  if (c_.place.in_lanes && draws_by_vector(id)) {
    const Expr j = c_.element(), pair = gpu::element(random_words(id), j / 2);
    return c_.define(id, cast(pair >> j % 2 * 16 & bits(0xFFFF), Scalar::int32));
  }
  const Expr column = random_column(x, x.random_axis < 0 ? Expr() : c_.place.indices[x.random_axis]);
  c_.define(id, call("sm_random", {random_key(), random_id(x), random_row(x), cast(column, Scalar::bits)},
                     Scalar::int32));
}

// ---- memory

void InstructionLowering::lower_load(int id) {
  const Expr condition = c_.place.lane_guard && c_.predicate_of(id);
  const Expr read = load(addresses_.element(id));
  c_.define(id, condition ? choice(condition, read, constant(0, c_.param(id).dtype)) : read);
}

bool InstructionLowering::stores_by_vector(const BlockNest& nest, int id) const {
  return c_.instruction(id).kind == Kind::store && c_.width > 1 && nest.in_vectors(id) &&
         c_.shape.is_vector_access(id);
}

/// Appends a store: every lane stores values that change along the lanes; other values are stored once per
/// row.
void InstructionLowering::lower_store(const BlockNest& nest, int id) {
  const Place& place = c_.place;
  const Expr value = converted(operand(c_.instruction(id), 0), c_.memory_type(id));
  if (place.in_lanes && stores_by_vector(nest, id))
    return c_.out.set(gpu::element(stored_vector(id), c_.element()), value);
  const Expr& once = place.in_lanes ? place.lane_guard : place.row_guard;
  c_.out.where(once && c_.predicate_of(id), [&] { c_.out.store(addresses_.element(id), value); });
}

/// A register, one of an array, or a place in memory.
Expr InstructionLowering::accumulator(int id) const {
  const Accumulation how = c_.shape.accumulation(id);
  if (how == Accumulation::column && c_.vectors > 0)
    return gpu::element(gpu::element(variable_of("sum", id, Type(Scalar::real).array(2)), c_.place.slot),
                        c_.element());
  return how == Accumulation::scalar ? variable_of("sum", id, Scalar::real) : addresses_.element(id);
}

void InstructionLowering::lower_accumulate(int id) {
  const Expr value = converted(operand(c_.instruction(id), 0), Scalar::real);
  const Expr once = c_.place.in_lanes ? c_.place.lane_guard : c_.lanes > 1 ? c_.lane() == 0 : Expr();
  c_.out.where(once && c_.predicate_of(id), [&] { c_.out.add_to(accumulator(id), value); });
}

}  // namespace smelt::gpu
