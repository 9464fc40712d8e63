// Names of LLVM values. A name has the number of the Kernel IR value for which the LLVM value is computed:
// %v7.3 is one of the LLVM values from which the kernel's %7 is computed.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace smelt {

/// Scope in which LLVM instructions are named. The destructor gives each unnamed instruction that the builder
/// has inserted since the constructor a name that begins with "v" and the number of the kernel's value. It
/// does nothing if the LLVM context discards names.
class NameAfter {
 public:
  NameAfter(const llvm::IRBuilder<>& builder, int value);
  ~NameAfter();
  NameAfter(const NameAfter&) = delete;

 private:
  void name_rest_of(llvm::BasicBlock& block, llvm::BasicBlock::iterator from) const;

  const llvm::IRBuilder<>& b_;
  const int value_;
  llvm::BasicBlock* const block_;  // the builder's block at construction
  llvm::Instruction* const last_;  // the last instruction of block_ at construction; null: it was empty
  llvm::BasicBlock& last_block_;   // the function's last block at construction; later blocks are new
};

}  // namespace smelt
