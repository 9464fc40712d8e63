#include "codegen/cpu/emitters/value_naming.h"

namespace smelt {

NameAfter::NameAfter(const llvm::IRBuilder<>& builder, int value)
    : b_(builder),
      value_(value),
      block_(builder.GetInsertBlock()),
      last_(block_->empty() ? nullptr : &block_->back()),
      last_block_(block_->getParent()->back()) {}

NameAfter::~NameAfter() {
  if (b_.getContext().shouldDiscardValueNames()) return;
  name_rest_of(*block_, last_ ? std::next(last_->getIterator()) : block_->begin());
  for (auto block = std::next(last_block_.getIterator()); block != block_->getParent()->end(); ++block)
    name_rest_of(*block, block->begin());
}

void NameAfter::name_rest_of(llvm::BasicBlock& block, llvm::BasicBlock::iterator from) const {
  for (llvm::Instruction& made : llvm::make_range(from, block.end()))
    if (!made.hasName() && !made.getType()->isVoidTy()) made.setName("v" + llvm::Twine(value_) + ".");
}

}  // namespace smelt
