// Recomputation policy of the pass rematerialize (rematerialize.h): how much of the forward phase is computed
// again in backward, which saves memory and costs time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/pass_options.h"

namespace smelt {

/// The price is the time that may be spent on recomputation to save one GiB of memory. With price 0, only
/// cheap values are recomputed: those that the kernels of their readers can compute, such as pointwise
/// operations (rematerialize.h). With a higher price, matmuls, attention, reductions and the additions that
/// make the values of the residual stream (passes/graph/autodiff/trunk.h) are recomputed too, if that takes
/// less time than the price times the size of their results. The policy divides the forward phase into
/// segments, which begin and end at values of the residual stream. A block, such as an attention block, is
/// the part between two consecutive values of the stream. A layer is a sequence of one or more blocks that
/// repeats, such as an attention block and a feed-forward block.
struct RecomputePolicy {
  double seconds_per_gib = 0;  // the price; infinite: any time is worth it
  int64_t layers = 0;          // layers per segment; 0: one block per segment, not a whole layer
  double share = 1;            // fraction of the segments, counted from the first, that have this price
  double rest = 0;             // price of the other segments, in seconds per GiB
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
/// Parses the text that str() returns, or "layers", which means "price=inf,layers=1". Throws Error with the
/// part that is not valid.
RecomputePolicy parse_recompute_policy(std::string_view text);

/// Sets the option `key` ("price", "layers", "share" or "rest") to a value such as "2.5". Prices are in ms
/// per GiB. Throws Error with the unknown key, or with the value that is expected.
void set_option(RecomputePolicy& policy, std::string_view key, std::string_view value);

}  // namespace smelt
