// The contents of an entry's arena (the memory of temporary values) at the step at which the most bytes of
// the arena are in use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Buffers of one role whose names differ only in the number of the layer. The name of a buffer
/// (Buffer::name) is usually its source, a part of the model such as "layers.3.mlp.up_proj".
struct PeakGroup {
  Role role = Role::temporary;
  std::string source;  // name, with "*" instead of the layer's number
  int buffers = 0;
  int64_t bytes = 0;
};

/// The peak of an entry's memory.
struct MemoryPeak {
  int step = -1;                  // the first step with the most bytes; -1 if the arena is never used
  int64_t bytes = 0;              // in use at that step; memory that two buffers share counts once
  std::vector<PeakGroup> groups;  // largest first; their bytes add up to `bytes`
};

/// Finds the peak of an entry. Requires: memory has been planned.
MemoryPeak memory_peak(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// Replaces every number in `source` by "*": "layers.3.mlp.up_proj" becomes "layers.*.mlp.up_proj". `source`
/// may consist of several names with " + " between them.
std::string without_layer_numbers(std::string_view source);

}  // namespace smelt
