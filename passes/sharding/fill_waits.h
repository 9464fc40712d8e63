// fill_waits: a matmul that a collective does not need goes behind it, where the next step would wait for the
// ranks: in backward, the gradient of a weight stands beside the sum of the gradient that is handed on.
//
// A unit of steps moves over others of which it touches nothing that they write, and the other way round, by
// few places, so that what it reads lives little longer. Which one: the last long one in front of the
// collective. Contract: runs before overlap_collectives, which says what waits for what.
#pragma once

#include "ir/program.h"

namespace smelt {

struct FillWaitsOptions {
  /// Operations that take about as long as a byte takes to another rank: of a GPU's tensor cores beside
  /// NVLink.
  double flops_a_byte = 500;
  int64_t most_places = 24;
};
bool fill_waits(Program& program, const FillWaitsOptions& options = {});

}  // namespace smelt
