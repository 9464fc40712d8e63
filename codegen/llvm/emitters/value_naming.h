// Names of LLVM's values that lead readers back to the kernel: %v7.3 is a part of what computes %7.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// What is emitted behind the builder's place while it lives is named after a value of the kernel, unless the
/// context keeps no names.
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
