#include "codegen/cpu/emit_llvm.h"

namespace smelt {

void emit_if(llvm::IRBuilder<>& b, llvm::Value* condition, llvm::function_ref<void()> body) {
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    if (known->isOne()) body();
    return;
  }
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* then = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void emit_loop(llvm::IRBuilder<>& b, llvm::Value* begin, llvm::Value* end, int64_t step,
               llvm::function_ref<void(llvm::Value*)> body) {
  emit_if(b, b.CreateICmpSLT(begin, end), [&] {
    auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", b.GetInsertBlock()->getParent());
    auto* before = b.GetInsertBlock();
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    body(i);
    llvm::Value* next = b.CreateNSWAdd(i, b.getInt64(step));
    i->addIncoming(next, b.GetInsertBlock());
    auto* done = llvm::BasicBlock::Create(b.getContext(), "done", loop->getParent());
    b.CreateCondBr(b.CreateICmpSLT(next, end), loop, done);
    b.SetInsertPoint(done);
  });
}

}  // namespace smelt
