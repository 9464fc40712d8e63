#include "codegen/cpu/emitters/function_frame.h"

#include <algorithm>

#include "codegen/kernel_passes/kernel_indices.h"
#include "runtime/plan/plan.h"

namespace smelt {

using V = llvm::Value*;

FunctionFrame::FunctionFrame(const Kernel& kernel, const std::string& name, llvm::Module& module,
                             llvm::IRBuilder<>& builder)
    : b(builder), dims_(launch_dims(kernel)) {
  create(name, module);
  bases = load_array(offsetof(KernelArgs, buffers), b.getPtrTy(), kernel.params.size());
  dim_values_ = load_array(offsetof(KernelArgs, dims), b.getInt64Ty(), dims_.size());
  if (kernel.random_slots > 0) load_random_arguments(kernel.random_slots);
  zero_slot = alloca_array(b.getInt64Ty(), 1);
  sink_slot = alloca_array(b.getInt64Ty(), 1);
  b.CreateStore(b.getInt64(0), zero_slot);
}

void FunctionFrame::create(const std::string& name, llvm::Module& module) {
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("prefer-vector-width", "512");
  function_->addFnAttr("min-legal-vector-width", "512");
  begin = function_->getArg(1), end = function_->getArg(2);
  b.SetInsertPoint(create_block("entry"));
}

V FunctionFrame::load_argument(int offset, llvm::Type* type) {
  return b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt8Ty(), function_->getArg(0), offset));
}

/// The elements of an array that a field points to.
std::vector<V> FunctionFrame::load_array(int offset, llvm::Type* type, size_t count) {
  V array = load_argument(offset, b.getPtrTy());
  std::vector<V> elements;
  for (size_t i = 0; i < count; ++i)
    elements.push_back(b.CreateLoad(type, b.CreateConstGEP1_64(type, array, i)));
  return elements;
}

void FunctionFrame::load_random_arguments(int slots) {
  random_ids_ = load_array(offsetof(KernelArgs, random_ids), b.getInt32Ty(), slots);
  seed_ = load_argument(offsetof(KernelArgs, seed), b.getInt32Ty());
  step_ = load_argument(offsetof(KernelArgs, step), b.getInt32Ty());
  micro_steps_ = load_array(offsetof(KernelArgs, micro_steps), b.getInt32Ty(), slots);
}

V FunctionFrame::dim(const Dim& dim) {
  if (dim.is_constant()) return b.getInt64(*dim.constant());
  return dim_values_[std::find(dims_.begin(), dims_.end(), dim) - dims_.begin()];
}

/// Allocates in the entry block, so that a loop does not grow the stack.
V FunctionFrame::alloca_array(llvm::Type* type, int64_t count) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  auto* place = entry.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count));
  if (count > 1) place->setAlignment(llvm::Align(64));
  return place;
}

llvm::BasicBlock* FunctionFrame::create_block(const char* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, function_);
}

}  // namespace smelt
