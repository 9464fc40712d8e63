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

/// A connection on which both ends have shown that they know the run's secret. Throws Error where nobody
/// answers in time, what answers is not this run's hub, or the hub refuses this rank.
Connection join_hub(const HubPlace& hub, const Launch& launch);

}  // namespace smelt
