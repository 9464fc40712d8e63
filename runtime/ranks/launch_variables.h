// Which rank this process is: read from the environment variables of whatever launched it.
//
// torchrun, Open MPI, MPICH (hydra) and Slurm have different names for the same numbers; `smelt launch` uses
// torchrun's. A process without a launcher is rank 0 of 1.
#pragma once

#include <optional>
#include <string>

#include "runtime/system/environment.h"

namespace smelt {

struct Launch {
  int rank = 0, size = 1;                    // of the run
  int local_rank = 0, local_size = 1;        // among the ranks of this host
  std::string master_address = "127.0.0.1";  // where rank 0's hub listens: a name or an address
  int master_port = 0;                       // 1 ... 65535; 0 where the run has one rank, which needs no hub
  std::string bind_address;                  // where rank 0 binds; empty: master_address
  std::string secret;                        // of the run: who does not know it does not join
  std::optional<int> device;                 // SMELT_DEVICE
  double join_timeout = 60;                  // seconds until all ranks must have come
  double heartbeat_timeout = 6;   // seconds without a sign of life after which a rank counts as lost
  double progress_timeout = 600;  // seconds that a rank's progress may stand still; 0: for ever

  /// Source of each number, for messages: "RANK (torchrun)", or "default".
  struct Sources {
    std::string rank = "default", size = "default", local_rank = "default", local_size = "default",
                master_address = "default", master_port = "default", secret = "default";
  } from;
};

/// Throws Error that names the variables if two launchers disagree, if one has set only a part of its
/// variables, or if a value is no number or out of range.
Launch read_launch(const Environment& environment);

/// Which of the visible GPUs is this rank's: SMELT_DEVICE, else the only one, else number local_rank. Throws
/// Error if there is none of that number.
int device_of(const Launch& launch, int visible_devices);

}  // namespace smelt
