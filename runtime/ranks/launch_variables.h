// The rank of this process, and how it finds the other ranks, as specified by environment variables.
//
// torchrun, Open MPI, MPICH (hydra) and Slurm have different names for the same numbers (launch_dialects.h).
// `smelt launch` uses torchrun's names. A process without a launcher is rank 0 of 1.
#pragma once

#include <optional>
#include <string>

#include "runtime/system/environment.h"

namespace smelt {

struct Launch {
  int rank = 0, size = 1;                    // number of this rank, and number of ranks in the run
  int local_rank = 0, local_size = 1;        // the same among the ranks of this host
  std::string master_address = "127.0.0.1";  // name or address of the host where rank 0's hub (hub.h) listens
  int master_port = 0;            // port of the hub: 1 to 65535; 0 if the run has one rank and no hub
  std::string bind_address;       // address at which rank 0 listens; empty: master_address
  std::string secret;             // of the run: only processes that have it can join
  std::optional<int> device;      // SMELT_DEVICE: number of the GPU
  double join_timeout = 60;       // seconds within which all ranks must join
  double heartbeat_timeout = 6;   // seconds without a message after which a rank is considered lost
  double progress_timeout = 600;  // seconds without progress after which a rank fails the run; 0: no limit

  /// Source of each value, for messages: "RANK (torchrun)", or "default".
  struct Sources {
    std::string rank = "default", size = "default", local_rank = "default", local_size = "default",
                master_address = "default", master_port = "default", secret = "default";
  } from;
};

/// Reads the variables. Throws Error naming them if two launchers disagree, if a launcher has set only a part
/// of its variables, if a value is not a number or out of range, or if ranks on several hosts have no
/// MASTER_ADDR or no secret.
Launch read_launch(const Environment& environment);

/// Returns the number of this rank's GPU among the visible ones: SMELT_DEVICE if it is set, 0 if one GPU is
/// visible, else local_rank. Throws Error if there is no GPU of that number.
int device_of(const Launch& launch, int visible_devices);

}  // namespace smelt
