// A rank's way into the hub: connecting, and trying again, until it is let in.
#pragma once

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"
#include "runtime/ranks/launch_variables.h"

namespace smelt {

struct HubPlace {
  std::string address;
  int port = 0;
};

/// Returns a connection on which both ends have proved that they know the run's secret. Throws Error if the
/// hub does not answer in time, if another program answers, or if the hub refuses this rank.
Connection join_hub(const HubPlace& hub, const Launch& launch);

}  // namespace smelt
