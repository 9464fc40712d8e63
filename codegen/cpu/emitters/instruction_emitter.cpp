#include "codegen/cpu/emitters/instruction_emitter.h"

#include "codegen/cpu/emitters/value_naming.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "runtime/base/error.h"

namespace smelt {

using V = llvm::Value*;
using Kind = Instruction::Kind;

void InstructionEmitter::emit(const BlockNest& nest, int id) {
  const NameAfter names(c_.b, id);
  emit_kind(nest, id);
  if (c_.place.lanes.inner) values_.keep_cached(id);
}

void InstructionEmitter::emit_depth(const BlockNest& nest, int depth) {
  for (int id : nest.block->instructions)
    if (nest.depth.lookup(id) == depth) emit(nest, id);
}

void InstructionEmitter::emit_kind(const BlockNest& nest, int id) {
  const Instruction& x = c_.instruction(id);
  switch (x.kind) {
    case Kind::constant:
      return values_.set(id, constant(x));
    case Kind::index:
      return values_.set(id, c_.axis_index(x.axis));
    case Kind::scalar:
      return values_.set(id, scalar(id));
    case Kind::convert:
      return values_.set(id, converted(x));
    case Kind::random:
      return values_.set(id, random_.bits(id));
    case Kind::load:
      return values_.set(id, accesses_.load(id));
    case Kind::store:
      return accesses_.store(id);
    case Kind::accumulate:
      return accesses_.accumulate(id);
    case Kind::reduce:
      return reductions_.add(nest, id);
    case Kind::result:  // the other slots are set where the reduction is finished
      if (x.slot == 0) values_.set(id, operand(x, 0));
      return;
    case Kind::handed:
      fail_with(Status::internal, "kernel {}: a CPU's kernel is handed nothing by a template",
                c_.kernel.name);
  }
}

V InstructionEmitter::constant(const Instruction& x) {
  llvm::Type* type = c_.memory.computed(x.dtype);
  if (type->isFloatTy()) return llvm::ConstantFP::get(type, x.number);
  if (type->isIntegerTy(1)) return c_.b.getInt1(x.number != 0);
  const auto number = static_cast<int64_t>(x.number);
  return llvm::ConstantInt::getSigned(type, type->isIntegerTy(64) ? number : static_cast<int32_t>(number));
}

V InstructionEmitter::converted(const Instruction& x) {
  if (x.operands.size() == 2) return c_.memory.convert_stochastic(operand(x, 0), operand(x, 1));
  return c_.memory.convert(operand(x, 0), x.dtype);
}

V InstructionEmitter::scalar(int id) {
  if (V kept = exponentials_.kept_value(id)) return kept;
  const Instruction& x = c_.instruction(id);
  llvm::SmallVector<V, 3> operands;
  for (int operand : x.operands) operands.push_back(values_.value_of(operand));
  const llvm::IRBuilderBase::FastMathFlagGuard guard(c_.b);
  if (subtracts_statistic(c_.kernel, c_.shape, id)) c_.b.setFastMathFlags({});
  return c_.math.apply(x.scalar_op, operands);
}

}  // namespace smelt
