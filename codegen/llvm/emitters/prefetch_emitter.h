// Prefetches of what a kernel reads and writes next: memory would idle while exponentials are computed.
#pragma once

#include <vector>

#include "codegen/llvm/emitters/address_emitter.h"
#include "codegen/llvm/emitters/kernel_context.h"

namespace smelt {

class PrefetchEmitter {
 public:
  using V = llvm::Value*;

  PrefetchEmitter(KernelContext& context, AddressEmitter& addresses)
      : c_(context), b(context.b), addresses_(addresses) {}

  /// What a block reads of the next tile (of a row of one tile: of the next row), and where later blocks
  /// write.
  void find(const BlockNest& nest);
  /// The vectors at a column of what was found.
  void emit(V column);

 private:
  struct Prefetch {
    V pointer = nullptr;  // of column 0
    llvm::Type* type = nullptr;
    bool write = false;
  };
  bool runs_along_columns(const Access& access) const;
  V distance(const Access& access);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  AddressEmitter& addresses_;
  std::vector<Prefetch> prefetches_;
};

}  // namespace smelt
