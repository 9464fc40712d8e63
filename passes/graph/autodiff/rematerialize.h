// rematerialize: backward recomputes forward values that are cheap to recompute, so that they are not kept in
// memory.
//
//   %y = exp %x                         %y = exp %x
//   ..                                  ..
//   %g = mul %dy, %y {backward}         %y' = exp %x {backward, anchor = "backward"}
//                                       %g = mul %dy, %y' {backward}
//
// The choice between keeping and recomputing is a minimum cut. To keep a value costs its bytes at the
// symbols' bounds. Matmuls, gathers, scatters, concats and reductions are not recomputed; pointwise ops,
// converts, broadcasts, views, constants, iota, random (the same bits again) and `first` may be. Parameters,
// inputs and states cost nothing. Gathered parameters, of which each rank stores a part, cost nothing either,
// because backward, including its recomputation, reads its own gather. A value that forward itself reads
// again after further matmuls, such as a residual stream, is not recomputed, because that would recompute the
// whole stream before it. Among equally cheap cuts the pass takes the one that recomputes least, and prefers
// values that are in memory anyway. Softmax probabilities are computed from the stored statistics of their
// row (softmax_statistic.h).
//
// With a price (recompute_policy.h) the other ops may be recomputed too, if the saved bytes are worth their
// time (ir/analysis/node_seconds.h): the cut then minimises the sum of both costs. Values of the residual
// stream between the policy's segments, and values that later segments read, are still kept, so that only one
// segment at a time is recomputed in memory. Values after the whole residual stream are kept, because
// backward reads them first. Collectives run once.
//
// A recomputed node is a clone with its reader's `phase` and the attribute anchor = "backward", which
// prevents a later merge with the original. The clone is placed directly before its first reader. Ensures:
// values stay bitwise equal except for those probabilities, whose rounding error does not grow; the bytes
// kept never grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/analysis/node_seconds.h"
#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "passes/graph/autodiff/recompute_policy.h"

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
  // Target and element type for which node times are predicted.
  Target target = {};
  DType storage = DType::f32;
  bool tf32 = false;
};
template <typename Field>
void visit_options(Field& field, RematerializeOptions& o) {
  visit_options(field, o.policy);
  field("target", o.target), field("storage", o.storage), field("tf32", o.tf32);
}
bool rematerialize(Graph& graph, const RematerializeOptions& options);

}  // namespace smelt
