// The way data moves between GPUs that reach each other's memory, by the environment variable SMELT_GATHERS.
#pragma once

#include <cstdint>

namespace smelt::cuda {

enum class PeerChoice : uint8_t {
  usual,   // the faster of the two, by size
  copies,  // copies, of any size and in parts of any size; the run ends where they do not work
  whole,   // as usual, but matmuls wait for all parts of a gather or an exchange
  nccl,    // NCCL alone
};

/// Reads the variable. Throws Error for an unknown value.
PeerChoice peer_choice();

}  // namespace smelt::cuda
