// Prefetches of the addresses that a kernel reads and writes next. They are issued in the loop that computes
// exponentials, because the memory bus would otherwise be idle during that loop.
#pragma once

#include <vector>

#include "codegen/cpu/emitters/address_emitter.h"
#include "codegen/cpu/emitters/kernel_context.h"

namespace smelt {

/// Finds the addresses to prefetch for one block at a time, and emits the prefetch instructions.
class PrefetchEmitter {
 public:
  using V = llvm::Value*;

  PrefetchEmitter(KernelContext& context, AddressEmitter& addresses)
      : c_(context), b(context.b), addresses_(addresses) {}

  /// Finds the addresses to prefetch. They are of two kinds: the addresses that the block reads in the next
  /// tile (part of a row), or in the next row if a row has only one tile; and the addresses that the kernel
  /// stores to in the current row. Finds none if a vector has fewer than 16 elements.
  void find(const BlockNest& nest);
  /// Emits one prefetch per address that was found: of the vector that begins `column` columns after it.
  void emit(V column);

 private:
  struct Prefetch {
    V pointer = nullptr;  // of column 0
    llvm::Type* type = nullptr;
    bool write = false;
  };
  /// Returns whether adjacent columns access adjacent elements.
  bool runs_along_columns(const Access& access) const;
  /// Returns the distance, in elements, from the current tile or row to the one that is read next.
  V distance(const Access& access);

  KernelContext& c_;
  llvm::IRBuilder<>& b;
  AddressEmitter& addresses_;
  std::vector<Prefetch> prefetches_;
};

}  // namespace smelt
