// How much of the forward phase is computed again in backward to save memory: a point on the curve of memory
// against time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

/// At a price of 0 only what takes no kernel of its own is computed again. At a higher one also matmuls,
/// attention, reductions and sums along the trunk (passes/autodiff/trunk.h), where that takes less time than
/// their memory is worth.
struct RecomputePolicy {
  double seconds_per_gib = 0;  // what a GiB less is worth; infinite: any time
  int64_t layers = 0;          // the trunk is kept at every so many layers; 0: between all blocks
  double share = 1;            // of the segments between these places, from the first on, that have the price
  double rest = 0;             // the price of the others
  bool operator==(const RecomputePolicy&) const = default;

  bool has_price() const { return seconds_per_gib > 0 || rest > 0; }
  /// "cheap", "price=2.5", "price=inf,layers=2,share=0.5,rest=1.2": prices in ms a GiB.
  std::string str() const;
};

/// What str() writes, or "layers" for price=inf,layers=1. Throws Error with the part that cannot be read.
RecomputePolicy parse_recompute_policy(std::string_view text);

/// "price" = "2.5", "layers" = "1", "share" = "0.5", "rest" = "1". Throws Error naming the option or what was
/// expected.
void set_option(RecomputePolicy& policy, std::string_view key, std::string_view value);

}  // namespace smelt
