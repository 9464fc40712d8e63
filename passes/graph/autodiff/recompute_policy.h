// Recomputation policy: how much of the forward phase is computed again in backward, which trades time for
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/pass_options.h"

namespace smelt {

/// With price 0 only values that need no kernel of their own are recomputed. With a higher price, matmuls,
/// attention, reductions and sums along the residual stream (passes/graph/autodiff/trunk.h) are recomputed
/// too, if that takes less time than their memory is worth.
struct RecomputePolicy {
  double seconds_per_gib = 0;  // the time that saving one GiB is worth; infinite: any time
  int64_t layers = 0;          // the residual stream is kept every `layers` layers; 0: between all blocks
  double share = 1;            // fraction of the segments, from the first on, that have this price
  double rest = 0;             // the price of the other segments
  bool operator==(const RecomputePolicy&) const = default;

  bool has_price() const { return seconds_per_gib > 0 || rest > 0; }
  /// Returns the policy as text: "cheap", "price=2.5", "price=inf,layers=2,share=0.5,rest=1.2"; prices in ms
  /// per GiB.
  std::string str() const;
};

/// Visits the options; prices are in ms per GiB.
template <typename Field>
void visit_options(Field& field, RecomputePolicy& o) {
  field("price", ScaledOption{o.seconds_per_gib, 1e-3}), field("layers", RangedOption{o.layers, 0, 1e6});
  field("share", RangedOption{o.share, 0, 1}), field("rest", ScaledOption{o.rest, 1e-3});
}
/// Parses the text of str(), or "layers" for price=inf,layers=1. Throws Error with the part that cannot be
/// read.
RecomputePolicy parse_recompute_policy(std::string_view text);

/// Sets one option: "price" = "2.5", "layers" = "1", "share" = "0.5", "rest" = "1". Throws Error with the
/// unknown option or the expected value.
void set_option(RecomputePolicy& policy, std::string_view key, std::string_view value);

}  // namespace smelt
