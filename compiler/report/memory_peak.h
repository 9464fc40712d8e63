// The contents of an entry's arena at the step where most of it is in use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace smelt {

/// Buffers of one role whose sources are alike but for the number of the layer.
struct PeakGroup {
  Role role = Role::temporary;
  std::string source;  // with "*" in place of the layer's number
  int buffers = 0;
  int64_t bytes = 0;
};

struct MemoryPeak {
  int step = -1;                  // the first one of the peak; -1 where the arena holds nothing
  int64_t bytes = 0;              // in use; what two buffers share counts once
  std::vector<PeakGroup> groups;  // largest first; their bytes add up to `bytes`
};

/// Requires: memory has been planned.
MemoryPeak memory_peak(const std::vector<Buffer>& buffers, const PlanEntry& entry);

/// "layers.*.mlp.up_proj" of "layers.3.mlp.up_proj", and so for each of several sources.
std::string without_layer_numbers(std::string_view source);

}  // namespace smelt
