#include "codegen/llvm/emitters/emit_kernel.h"

#include "codegen/llvm/emitters/block_emitters.h"
#include "codegen/llvm/emitters/mask_emitter.h"
#include "codegen/llvm/emitters/range_emitter.h"
#include "codegen/llvm/loops.h"
#include "runtime/plan/plan.h"

namespace smelt {
namespace {

constexpr int kZeroWidth = 16;

void zero_elements(KernelContext& c, size_t param, llvm::Value* begin, llvm::Value* end, int width) {
  const DType dtype = c.kernel.params[param].dtype;
  llvm::Type* type = c.memory.element(dtype);
  emit_loop(c.b, begin, end, width, [&](llvm::Value* at) {
    c.b.CreateAlignedStore(llvm::Constant::getNullValue(lanes_of(type, width)),
                           c.b.CreateGEP(type, c.frame.bases[param], at), alignment_of(dtype));
  });
}

/// A chunk adds to its own slice of a parameter with partial sums, which is zero even where the chunk has
/// nothing to do.
void zero_slice(KernelContext& c, size_t param) {
  llvm::IRBuilder<>& b = c.b;
  llvm::Value* chunk = c.frame.load_argument(offsetof(KernelArgs, chunk), b.getInt64Ty());
  llvm::Value* slice = b.CreateSDiv(c.frame.begin, chunk);
  llvm::Value* elements = c.dim(c.kernel.params[param].partial_elements);
  llvm::Value*& base = c.frame.bases[param];
  base = b.CreateGEP(c.memory.element(c.kernel.params[param].dtype), base, b.CreateMul(slice, elements));
  llvm::Value* whole = b.CreateAnd(elements, b.getInt64(-kZeroWidth));
  zero_elements(c, param, b.getInt64(0), whole, kZeroWidth);
  zero_elements(c, param, whole, elements, 1);
}

}  // namespace

void emit_kernel(const Kernel& kernel, llvm::Module& module, const TargetTraits& traits) {
  KernelContext context(kernel, kernel.name, module, traits);
  for (size_t i = 0; i < kernel.params.size(); ++i)
    if (kernel.params[i].partial) zero_slice(context, i);
  BlockEmitters emitters(context);
  RangeEmitter(context, emitters.values, emitters.blocks).emit();
  context.b.CreateRetVoid();
  if (kernel.attention) emit_sees(kernel, module, traits);
}

}  // namespace smelt
