// Transport between GPUs of one host that can write to each other's memory, as selected by the environment
// variable SMELT_GATHERS.
#pragma once

#include <cstdint>

namespace smelt::cuda {

/// The transport is either copies by the copy engines of the GPUs (peer_copies.h), or NCCL. Copies can
/// overlap with a matmul before or after the collective, if the matmul is computed "in parts", one per rank:
/// it begins with the parts of its operand that have arrived, or sends the parts of its result that have been
/// computed.
enum class PeerChoice : uint8_t {
  usual,   // variable not set: the faster transport for each size; matmuls in parts if faster
  copies,  // always copies, and always matmuls in parts; an Error if copies do not work
  whole,   // as usual, but no matmul in parts
  nccl,    // always NCCL
};

/// Reads the variable. Throws Error for an unknown value.
PeerChoice peer_choice();

}  // namespace smelt::cuda
