// rematerialize: values that backward can cheaply compute again are not kept for it.
//
// Values of the forward phase that the backward phase reads are kept in memory between the two, or computed
// again from values that are. The choice is a minimum cut: every value costs its bytes (at the symbols'
// bounds) to keep; matmuls, gathers, scatters, concats and reductions are computed once; pointwise ops,
// converts, broadcasts, views, constants, iota, random (the same bits again) and `first` may be computed
// again; parameters, inputs and states cost nothing. Parameters that ranks have parts of and gather cost
// nothing either: what reads them in backward, also of what is computed again, reads what is gathered there.
// A value that forward itself reads again behind further matmuls, such as a residual stream, is not computed
// again, since that would take the whole stream before it. Of equally cheap cuts the one that computes least
// again is taken, and one that keeps what is in memory anyway. Probabilities come from the stored statistics
// of their row (softmax_statistic.h).
//
// A policy with a price (recompute_policy.h) also lets the rest be computed again, for as many bytes as the
// time is worth that it takes (ir/analysis/node_seconds.h): the cut is then the cheapest sum of both. The
// trunk's values between the policy's segments, and what later segments read, are still kept, so that no more
// than a segment at a time is in memory again; what lies behind the trunk is read at once, and kept;
// collectives run once.
//
// Computed again means cloned: with the reader's `phase` and the attribute anchor = "backward", which keeps
// the clone apart from its original for good. It stands right before its first reader. Contract: values stay
// the same bits, but for those probabilities, whose rounding does not grow; the bytes kept never grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph.h"
#include "passes/autodiff/recompute_policy.h"

namespace smelt {

struct RematerializeReport {
  struct Item {
    std::string node;  // describe() of the forward node
    int64_t bytes;     // of its result
  };
  std::vector<Item> recomputed, kept;
  int64_t bytes_before = 0, bytes_after = 0;  // kept between forward and backward, at the symbols' bounds
};

struct RematerializeOptions {
  RematerializeReport* report = nullptr;
  RecomputePolicy policy = {};
  NodeSecondsOptions time = {.rates = rates_of({})};  // of what a price is compared with
};
bool rematerialize(Graph& graph, const RematerializeOptions& options);
/// Those of a policy: price = "2.5" (ms a GiB), layers = "1", share = "0.5", rest = "1";
/// and what their times are for: target = "sm_90", storage = "bf16", tf32 = "true".
void set_option(RematerializeOptions& options, std::string_view key, std::string_view value);

}  // namespace smelt
