// Sources of the floats of GGUF tensors.
#pragma once

#include <memory>
#include <span>

#include "runtime/engine/weights/gguf/block_types.h"
#include "runtime/engine/weights/stored_rows.h"

namespace smelt {

/// Returns the source of a tensor of blocks. Requires: `bytes` has exactly the blocks of the shape, and rows
/// are whole blocks.
std::shared_ptr<const StoredRows> block_rows(const GgufType& type, std::span<const int64_t> shape,
                                             std::span<const std::byte> bytes);

}  // namespace smelt
