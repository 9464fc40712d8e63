#include "codegen/cuda/printers/instruction_printer.h"

#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/kernel_passes.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

void InstructionPrinter::print(const BlockNest& nest, int id) {
  const Instruction& x = c_.instruction(id);
  switch (x.kind) {
    case Kind::constant:
      return c_.set_value(id, cuda_number(x.number, x.dtype));
    case Kind::index:
      return c_.set_value(id, {axis_number(x.axis), CudaKind::integer});
    case Kind::convert:
      return print_convert(id);
    case Kind::random:
      return print_random(id);
    case Kind::load:
      return print_load(id);
    case Kind::store:
      return print_store(nest, id);
    case Kind::accumulate:
      return print_accumulate(id);
    case Kind::reduce:
      return reductions_.print_element(id);
    case Kind::result:  // of a reduction of this block: bound where that is finished
      if (x.slot == 0 && c_.has_value(x.operands[0])) c_.set_value(id, c_.value_of(x.operands[0]));
      return;
    case Kind::scalar:
      return print_scalar(id);
    case Kind::handed:  // bound where the template hands it
      if (!c_.has_value(id)) c_.reject(id, "is handed by a template, and this kernel has none");
  }
}

void InstructionPrinter::print_depth(const BlockNest& nest, int depth) {
  for (int id : nest.block->instructions)
    if (nest.depth.lookup(id) == depth) print(nest, id);
}

void InstructionPrinter::print_row_block(const KernelBlock& block) {
  const BlockNest nest = c_.shape.nest_of(block);
  for (int id : block.instructions) print(nest, id);
}

// ---- numbers

void InstructionPrinter::print_scalar(int id) {
  const Instruction& x = c_.instruction(id);
  const auto text = [&](int i) { return c_.value_of(x.operands[i]).text; };
  const auto factor = [&] { return operand_text(text(0)); };
  const auto define_real = [&](const std::string& value) { c_.define(id, CudaKind::real, value); };
  if (x.form == Form::kept)
    return define_real(fmt::format("exps{0}[{1}][{2}] * scale{0}", reduction_of_kept(c_.kernel, id),
                                   c_.place.slot, c_.element()));
  if (x.form == Form::inverse) return define_real(fmt::format("{} * inverse{}", factor(), x.operands[1]));
  if (x.form == Form::scaled_inverse)
    return define_real(fmt::format("{0} * inverse{1} * unit_of_inverse{1}", factor(), x.operands[1]));
  if (subtracts_statistic(c_.kernel, c_.shape, id))
    return define_real(fmt::format("__fsub_rn({}, {})", text(0), text(1)));
  std::vector<CudaValue> operands;
  for (int operand : x.operands) operands.push_back(c_.value_of(operand));
  const CudaValue value = cuda_apply(x.scalar_op, operands, x.form != Form::plain);
  if (x.form != Form::fast_tangent) return c_.define(id, value.kind, value.text);
  c_.define(id, value.kind,
            fmt::format("sm_tangent({}, {}, {})", text(0), info(x.scalar_op).cuda_slope, value.text));
}

std::string InstructionPrinter::axis_number(int axis) const {
  const std::string& text = c_.place.indices[axis];
  return c_.schedule.index32 || text == "0" ? text : "(int)" + operand_text(text);
}

void InstructionPrinter::print_convert(int id) {
  const Instruction& x = c_.instruction(id);
  const CudaKind kind = cuda_kind(x.dtype);
  const std::string value = operand(x, 0, kind);
  if (x.operands.size() == 2)
    return c_.define(id, kind,
                     fmt::format("sm_round_random({}, {})", value, operand(x, 1, CudaKind::integer)));
  const bool rounds = x.dtype == DType::bf16 || x.dtype == DType::f16 ||
                      (!is_float(x.dtype) && size_of(x.dtype) < 4 && x.dtype != DType::boolean);
  if (!rounds) return c_.set_value(id, {value, kind});
  c_.define(id, kind, fmt::format("sm_round<{}>({})", cuda_memory_type(x.dtype), value));
}

// ---- random bits

/// Vectors of eight or four columns draw their decisions at once.
bool InstructionPrinter::draws_by_vector(int id) const {
  return (c_.width == 8 || c_.width == 4) && c_.instruction(id).kind == Kind::random &&
         c_.shape.is_vector_random(id);
}

/// The flattened row of the random op's own shape.
std::string InstructionPrinter::random_row(const Instruction& x) const {
  return c_.index_sum(x.random_offset, x.random_strides);
}

/// The index along its last dim.
std::string InstructionPrinter::random_column(const Instruction& x, const std::string& index) const {
  if (x.random_axis < 0) return c_.dim(x.random_begin);
  return x.random_begin.is_zero() ? index : fmt::format("{} + {}", index, c_.dim(x.random_begin));
}

void InstructionPrinter::declare_random_words(int id) {
  const Instruction& x = c_.instruction(id);
  c_.out.line("unsigned w{}[4];", id);
  c_.out.line("sm_philox(w{}, random, id{}, (unsigned){}, (unsigned)({} / 8));", id, x.slot,
              operand_text(random_row(x)), operand_text(random_column(x, "c")));
  if (c_.width == 8) return;
  c_.out.open("if (c % 8 != 0)");
  c_.out.line("w{0}[0] = w{0}[2];", id);
  c_.out.line("w{0}[1] = w{0}[3];", id);
  c_.out.close();
}

void InstructionPrinter::print_random(int id) {
  const Instruction& x = c_.instruction(id);
  if (x.slot < 0 || x.slot >= c_.kernel.random_slots) c_.reject(id, "has no slot in random_ids");
  if (c_.place.in_lanes && draws_by_vector(id))
    return c_.define(id, CudaKind::integer, fmt::format("(int)(w{}[j / 2] >> j % 2 * 16 & 0xffffu)", id));
  const std::string column = random_column(x, x.random_axis < 0 ? "" : c_.place.indices[x.random_axis]);
  c_.define(id, CudaKind::integer,
            fmt::format("sm_random(random, id{}, (unsigned){}, (unsigned){})", x.slot,
                        operand_text(random_row(x)), operand_text(column)));
}

// ---- memory

void InstructionPrinter::print_load(int id) {
  const CudaKind kind = c_.memory_kind(id);
  const std::string condition = conditions({c_.place.lane_guard, c_.predicate_of(id)});
  const std::string read = fmt::format("sm_get({})", addresses_.element(id));
  if (condition.empty())
    c_.define(id, kind, read);
  else
    c_.define(id, kind,
              fmt::format("{} ? {} : {}", condition, read, cuda_number(0, c_.param(id).dtype).text));
}

bool InstructionPrinter::stores_by_vector(const BlockNest& nest, int id) const {
  return c_.instruction(id).kind == Kind::store && c_.width > 1 && nest.in_vectors(id) &&
         c_.shape.is_vector_access(id);
}

/// Prints a store: every lane stores values that change along the lanes; other values are stored once per
/// row.
void InstructionPrinter::print_store(const BlockNest& nest, int id) {
  const CudaPlace& place = c_.place;
  const std::string value = operand(c_.instruction(id), 0, c_.memory_kind(id));
  if (place.in_lanes && stores_by_vector(nest, id)) return c_.out.line("s{}[j] = {};", id, value);
  const std::string& once = place.in_lanes ? place.lane_guard : place.row_guard;
  c_.out.line_if(conditions({once, c_.predicate_of(id)}),
                 fmt::format("sm_put({}, {});", addresses_.element(id), value));
}

/// A register, one of an array, or a place in memory.
std::string InstructionPrinter::accumulator(int id) const {
  const Accumulation how = c_.shape.accumulation(id);
  if (how == Accumulation::column && c_.vectors > 0)
    return fmt::format("sum{}[{}][{}]", id, c_.place.slot, c_.element());
  return how == Accumulation::scalar ? fmt::format("sum{}", id) : addresses_.element(id);
}

void InstructionPrinter::print_accumulate(int id) {
  const std::string value = operand(c_.instruction(id), 0, CudaKind::real);
  const std::string once = c_.place.in_lanes ? c_.place.lane_guard : c_.lanes > 1 ? "lane == 0" : "";
  c_.out.line_if(conditions({once, c_.predicate_of(id)}), fmt::format("{} += {};", accumulator(id), value));
}

}  // namespace smelt
