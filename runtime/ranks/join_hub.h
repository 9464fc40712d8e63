// Connection of a rank to the hub, the process that coordinates the ranks of a run (hub.h). A rank tries
// again until the hub accepts it, or until the time Launch::join_timeout has passed.
#pragma once

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"
#include "runtime/ranks/launch_variables.h"

namespace smelt {

/// Network address and port at which the hub listens.
struct HubPlace {
  std::string address;
  int port = 0;
};

/// Returns a connection on which both ends have proved that they have the run's secret. Throws Error
/// (unavailable) if the hub does not answer within launch.join_timeout, if another program answers, or if the
/// hub refuses this rank.
Connection join_hub(const HubPlace& hub, const Launch& launch);

}  // namespace smelt
