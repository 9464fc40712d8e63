// The LLVM function of a kernel: its arguments, which the entry block reads once, and its arrays on the
// stack.
#pragma once

#include <vector>

#include "codegen/cpu/philox_code.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smelt {

class FunctionFrame {
 public:
  using V = llvm::Value*;

  /// Leaves the builder after the code that loads the arguments.
  FunctionFrame(const Kernel& kernel, const std::string& name, llvm::Module& module,
                llvm::IRBuilder<>& builder);

  V begin = nullptr, end = nullptr;            // the items of the range that a call works on
  V zero_slot = nullptr, sink_slot = nullptr;  // where switched-off scalar loads and stores go
  std::vector<V> bases;                        // of the kernel's parameters

  /// A field of the function's KernelArgs.
  V load_argument(int offset, llvm::Type* type);
  V dim(const Dim& dim);
  bool has_random_slot(int slot) const { return slot >= 0 && slot < static_cast<int>(random_ids_.size()); }
  PhiloxStream random_stream(int slot) const { return {seed_, random_ids_[slot], step_, micro_steps_[slot]}; }
  /// Aligned for vectors.
  V alloca_array(llvm::Type* type, int64_t count);
  llvm::BasicBlock* create_block(const char* name);

 private:
  void create(const std::string& name, llvm::Module& module);
  std::vector<V> load_array(int offset, llvm::Type* type, size_t count);
  void load_random_arguments(int slots);

  llvm::IRBuilder<>& b;
  llvm::Function* function_ = nullptr;
  std::vector<Dim> dims_;
  std::vector<V> dim_values_, random_ids_, micro_steps_;
  V seed_ = nullptr, step_ = nullptr;
};

}  // namespace smelt
