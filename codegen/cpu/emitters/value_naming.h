// Names of LLVM values after the kernel's values: %v7.3 is a part of the computation of %7.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// Names the instructions that are emitted during its lifetime, after the builder's position at construction,
/// after a value of the kernel. Does nothing where the context keeps no names.
class NameAfter {
 public:
  NameAfter(const llvm::IRBuilder<>& builder, int value);
  ~NameAfter();
  NameAfter(const NameAfter&) = delete;

 private:
  void name_rest_of(llvm::BasicBlock& block, llvm::BasicBlock::iterator from) const;

  const llvm::IRBuilder<>& b_;
  const int value_;
  llvm::BasicBlock* const block_;  // where it began, ...
  llvm::Instruction* const last_;  // ... what stood last there (null: nothing), ...
  llvm::BasicBlock& last_block_;   // ... and the function's last block: those behind it are new
};

}  // namespace smelt
