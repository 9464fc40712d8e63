// Object files -> one shared object, by lld in this process.
#pragma once

#include <cstddef>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt {

/// Links objects to a shared object. Throws Error with lld's message, also for any symbol that the objects do
/// not define. Concurrent calls run one after the other.
std::vector<std::byte> link_shared_object(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects);

}  // namespace smelt
