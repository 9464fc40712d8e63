// The LLVM function of a kernel, without its body: the arguments, which the entry block loads once, and the
// arrays on the stack.
#pragma once

#include <vector>

#include "codegen/cpu/philox_code.h"
#include "ir/kernel/kernel.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace smelt {

/// The function that is being emitted. All arrays on the stack are allocated in its entry block.
class FunctionFrame {
 public:
  using V = llvm::Value*;

  /// Creates the function and the code that loads its arguments. The builder then inserts after that code.
  FunctionFrame(const Kernel& kernel, const std::string& name, llvm::Module& module,
                llvm::IRBuilder<>& builder);

  V begin = nullptr, end = nullptr;  // a call computes the items [begin, end) of Kernel::range
  /// Stack addresses for scalar accesses whose predicate is false: loads read the zero slot, stores write the
  /// sink slot.
  V zero_slot = nullptr, sink_slot = nullptr;
  std::vector<V> bases;  // address of each parameter's first element

  /// Loads a field of the function's argument KernelArgs. `offset`: byte offset of the field.
  V load_argument(int offset, llvm::Type* type);
  /// Returns the value of a size as an i64.
  V dim(const Dim& dim);
  /// Returns whether `slot` (Instruction::slot) is a valid index into the random ids of KernelArgs, each of
  /// which selects a stream of random numbers.
  bool has_random_slot(int slot) const { return slot >= 0 && slot < static_cast<int>(random_ids_.size()); }
  /// Returns the inputs of the random number generator for the random id with this index.
  PhiloxStream random_stream(int slot) const { return {seed_, random_ids_[slot], step_, micro_steps_[slot]}; }
  /// Allocates an array of `count` elements on the stack, and returns its address. An array of more than one
  /// element is aligned to 64 bytes.
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
