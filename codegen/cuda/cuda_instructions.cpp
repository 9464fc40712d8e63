// Instructions one by one, and the places in memory that they name.
#include <algorithm>

#include "codegen/cuda/cuda_emitter.h"
#include "codegen/cuda/prelude.h"
#include "codegen/kernel_passes/keep_exponentials.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

void CudaEmitter::emit_instruction(const Nest& nest, int id) {
  const Instruction& x = instruction(id);
  switch (x.kind) {
    case Kind::constant:
      values_[id] = cuda_number(x.number, x.dtype);
      break;
    case Kind::index:
      values_[id] = CudaValue{axis_number(x.axis), CudaKind::integer};
      break;
    case Kind::convert:
      emit_convert(id);
      break;
    case Kind::random:
      emit_random(id);
      break;
    case Kind::load:
      emit_load(id);
      break;
    case Kind::store:
      emit_store(nest, id);
      break;
    case Kind::accumulate:
      emit_accumulate(id);
      break;
    case Kind::reduce:
      emit_reduce(id);
      break;
    case Kind::result:  // the second one is named where the reduction is finished
      if (x.slot == 0) values_[id] = values_[x.operands[0]];
      break;
    case Kind::scalar:
      emit_scalar(id);
      break;
  }
}

void CudaEmitter::emit_scalar(int id) {
  const Instruction& x = instruction(id);
  if (x.form == Form::kept)
    return define(
        id, CudaKind::real,
        fmt::format("exps{0}[{1}][{2}] * scale{0}", reduction_of_kept(k_, id), slot_, V_ > 1 ? "j" : "0"));
  if (x.form == Form::inverse || x.form == Form::scaled_inverse)
    return define(id, CudaKind::real,
                  fmt::format(fmt::runtime(x.form == Form::inverse ? "{} * inverse{}"
                                                                   : "{0} * inverse{1} * unit_of_inverse{1}"),
                              operand(x, 0).text, x.operands[1]));
  std::vector<CudaValue> operands;
  for (int operand : x.operands) operands.push_back(value_of(operand));
  const CudaValue value = cuda_apply(x.scalar_op, operands, x.form != Form::plain);
  if (x.form != Form::fast_tangent) return define(id, value.kind, value.text);
  define(id, value.kind,
         fmt::format("sm_tangent({}, {}, {})", operand(x, 0).text, info(x.scalar_op).cuda_slope, value.text));
}

void CudaEmitter::define(int id, CudaKind kind, const std::string& text) {
  out_.line("const {} v{} = {};", cuda_type(kind), id, text);
  values_[id] = CudaValue{fmt::format("v{}", id), kind};
}

/// A value of this block, a row scalar, or a column value that an earlier block kept.
CudaValue CudaEmitter::value_of(int id) const {
  if (values_[id]) return *values_[id];
  reject(id, "is used before it has a value");
}

std::string CudaEmitter::axis_number(int axis) const {
  const std::string& text = axis_text_[axis];
  return s_.index32 || text == "0" ? text : fmt::format("(int){}", text);
}

void CudaEmitter::emit_convert(int id) {
  const Instruction& x = instruction(id);
  const CudaKind kind = cuda_kind(x.dtype);
  const std::string value = coerce(operand(x, 0), kind);
  if (x.operands.size() == 2)
    return define(id, kind,
                  fmt::format("sm_round_random({}, {})", value, coerce(operand(x, 1), CudaKind::integer)));
  const bool rounds =
      x.dtype == DType::bf16 || x.dtype == DType::f16 || x.dtype == DType::u16 || x.dtype == DType::u8;
  if (rounds)
    define(id, kind, fmt::format("sm_round<{}>({})", cuda_memory_type(x.dtype), value));
  else
    values_[id] = CudaValue{value, kind};
}

// ---- random bits

/// The flattened row of the random op's own shape.
std::string CudaEmitter::random_row(const Instruction& x) const {
  return index_sum(x.random_offset, x.random_strides, -1);
}

void CudaEmitter::emit_random(int id) {
  const Instruction& x = instruction(id);
  if (x.slot < 0 || x.slot >= k_.random_slots) reject(id, "has no slot in random_ids");
  if (lanes_ && draws_by_vector(id))
    return define(id, CudaKind::integer, fmt::format("(int)(w{}[j / 2] >> j % 2 * 16 & 0xFFFFu)", id));
  const std::string column =
      x.random_axis < 0 ? fmt::format("{}", x.random_column) : axis_text_[x.random_axis];
  define(
      id, CudaKind::integer,
      fmt::format("sm_random(random, id{}, (unsigned)({}), (unsigned)({}))", x.slot, random_row(x), column));
}

// ---- addresses

/// The parameter at the current indices; of lanes without what moves along the inner axis.
std::string CudaEmitter::base(int id, bool with_inner) const {
  const Instruction& x = instruction(id);
  const Access& access = x.access;
  std::string index = index_sum(access.offset, access.strides, with_inner ? -1 : shape_.inner);
  if (access.computed >= 0 && (with_inner || !shape_.moves(access.computed, shape_.inner))) {
    const std::string computed = "(Index)" + coerce(value_of(access.computed), CudaKind::integer);
    index = sum(0, {{index, 1}, {computed, access.computed_stride}});
  }
  return index;
}

/// Where the lanes of a block start from, to which they add their own: an index that all accesses with the
/// same strides share, so that it takes one register and not two for each of them.
std::string CudaEmitter::start_of_lanes(int id) {
  const Instruction& x = instruction(id);
  const bool sum_in_register =
      x.kind == Kind::accumulate && (shape_.accumulation(id) == Accumulation::scalar ||
                                     (shape_.accumulation(id) == Accumulation::column && K_ > 0));
  if (sum_in_register) return "";
  const std::string index = base(id, false);
  if (index == "0") return "";
  auto [found, fresh] = start_names_.try_emplace(index, fmt::format("at{}", id));
  if (fresh) out_.line("const Index at{} = {};", id, index);
  return found->second;
}

/// The array that an access goes to.
std::string CudaEmitter::array_of(int id) const {
  const int number = instruction(id).access.param;
  return k_.params[number].partial ? "(" + slice(number) + ")" : param_names_[number];
}

/// The address of a vector.
std::string CudaEmitter::vector_place(int id) const {
  const std::string& start = starts_.at(id);
  return start.empty() ? array_of(id) + " + c" : fmt::format("{} + ({} + c)", array_of(id), start);
}

std::string CudaEmitter::place(int id) {
  const Instruction& x = instruction(id);
  if (!lanes_) return fmt::format("{}[{}]", array_of(id), base(id, true));
  std::vector<std::pair<std::string, Dim>> terms;
  if (!starts_.at(id).empty()) terms.emplace_back(starts_.at(id), 1);
  if (shape_.inner >= 0 && shape_.inner < static_cast<int>(x.access.strides.size()))
    terms.emplace_back(axis_text_[shape_.inner], x.access.strides[shape_.inner]);
  if (x.access.computed >= 0 && shape_.moves(x.access.computed, shape_.inner))
    terms.emplace_back("(Index)" + coerce(value_of(x.access.computed), CudaKind::integer),
                       x.access.computed_stride);
  return fmt::format("{}[{}]", array_of(id), sum(0, terms));
}

/// Notes what `sometimes` depends on.
VectorAlignment::When CudaEmitter::alignment_of(int id) {
  const VectorAlignment alignment = vector_alignment(k_, shape_, id);
  for (const VectorAlignment::Condition& c : alignment.conditions) {
    const std::string condition = fmt::format("{}_ % {} == 0", dim(c.size), c.elements);
    if (!llvm::is_contained(aligned_conditions_, condition)) aligned_conditions_.push_back(condition);
  }
  return alignment.when;
}

std::string CudaEmitter::alignment_text(int id) {
  constexpr const char* kTexts[] = {"false", "true", "aligned"};
  return kTexts[static_cast<size_t>(alignment_of(id))];
}

// ---- memory

void CudaEmitter::emit_load(int id) {
  const Instruction& x = instruction(id);
  const CudaKind kind = cuda_kind(k_.params[x.access.param].dtype);
  std::string predicate = x.predicate < 0 ? "" : coerce(value_of(x.predicate), CudaKind::flag);
  const std::string condition = conditions({lanes_ ? guard_ : "", predicate});
  const std::string read = fmt::format("sm_get({})", place(id));
  if (condition.empty())
    define(id, kind, read);
  else
    define(id, kind, fmt::format("{} ? {} : ({})0", condition, read, cuda_type(kind)));
}

/// What a store rounds need not be rounded before.
std::string CudaEmitter::stored_value(const Instruction& store) const {
  const DType type = k_.params[store.access.param].dtype;
  const Instruction& value = instruction(store.operands[0]);
  const bool same_block = value.kind == Kind::convert && value.operands.size() == 1 && value.dtype == type &&
                          values_[value.operands[0]] &&
                          shape_.block_of(store.operands[0]) == shape_.block_of(value.operands[0]);
  return coerce(value_of(same_block ? value.operands[0] : store.operands[0]), cuda_kind(type));
}

void CudaEmitter::emit_store(const Nest& nest, int id) {
  const Instruction& x = instruction(id);
  const std::string value = stored_value(x);
  if (lanes_ && stores_by_vector(nest, id)) return out_.line("s{}[j] = {};", id, value);
  const std::string predicate = x.predicate < 0 ? "" : coerce(value_of(x.predicate), CudaKind::flag);
  // What moves along the lanes is theirs to store; the rest is stored once a row.
  const std::string where = lanes_ ? conditions({column_guard_, guard_}) : row_guard_;
  const std::string condition = conditions({where, predicate});
  out_.line("{}sm_put({}, {});", condition.empty() ? "" : "if (" + condition + ") ", place(id), value);
}

void CudaEmitter::emit_accumulate(int id) {
  const Instruction& x = instruction(id);
  const std::string value = coerce(operand(x, 0), CudaKind::real);
  const std::string predicate = x.predicate < 0 ? "" : coerce(value_of(x.predicate), CudaKind::flag);
  const std::string once = lanes_ ? guard_ : W_ > 1 ? "lane == 0" : "";
  const std::string condition = conditions({once, predicate});
  const Accumulation how = shape_.accumulation(id);
  std::string to = how == Accumulation::scalar ? fmt::format("sum{}", id) : "";
  if (how == Accumulation::column && K_ > 0) to = fmt::format("sum{}[{}][{}]", id, slot_, V_ > 1 ? "j" : "0");
  if (to.empty()) to = place(id);
  out_.line("{}{} += {};", condition.empty() ? "" : "if (" + condition + ") ", to, value);
}

}  // namespace smelt
