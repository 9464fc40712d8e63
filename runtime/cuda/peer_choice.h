// Transport between GPUs of one host that can write to each other's memory, as selected by the environment
// variable SMELT_GATHERS.
#pragma once

#include <cstdint>

namespace smelt::cuda {

/// "Copies" are copies by the copy engines of the GPUs (peer_copies.h). "In parts": a matmul begins with the
/// parts of its operand that have arrived, or sends parts of its result before the others are computed.
enum class PeerChoice : uint8_t {
  usual,   // variable not set: by size, the faster of copies and NCCL, in parts or whole
  copies,  // copies for all sizes, and in parts for all sizes; an Error if copies do not work
  whole,   // as usual, but never in parts
  nccl,    // NCCL for everything
};

/// Reads the variable. Throws Error for an unknown value.
PeerChoice peer_choice();

}  // namespace smelt::cuda
