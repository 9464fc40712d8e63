// Prefetches of the addresses that a kernel reads and writes next. They are issued while exponentials are
// computed, because the memory bus would otherwise be idle.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"

namespace smelt {

class PrefetchEmitter {
 public:
  using V = llvm::Value*;

  PrefetchEmitter(KernelContext& context, AddressEmitter& addresses)
      : c_(context), b(context.b), addresses_(addresses) {}

  /// Finds the addresses that a block reads in the next tile (in the next row, where a row is one tile), and
  /// those that later blocks write.
  void find(const BlockNest& nest);
  /// Prefetches the vectors at a column, at the addresses found.
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
