// rematerialize: backward recomputes forward values that are cheap to recompute, so that they are not kept in
// memory.
//
//   %y = exp %x                         %y = exp %x
//   ..                                  ..
//   %g = mul %dy, %y                    %y' = exp %x {anchored = true, phase = backward}
//     {phase = backward}                %g = mul %dy, %y' {phase = backward}
//
// The choice between keeping and recomputing is a minimum cut (min_cut.h). The cost of keeping a value is its
// bytes at the symbols' upper bounds. A value that forward stores only for backward costs 1.25 times its
// bytes, because a kernel has to write it in addition. This factor is not used if it would increase the kept
// bytes. Of equally cheap cuts, the pass chooses the one that recomputes least.
//
// Pointwise ops, converts, broadcasts, views, constants, iota, random (which makes the same bits again) and
// reductions that read only fixed positions of a row may be recomputed. Matmuls, gathers, scatters, concats
// and other reductions are kept. Keeping parameters, inputs and states costs nothing. The result of an
// all-gather of a parameter costs nothing either, because backward gathers it again. A value that forward
// reads again after further matmuls, such as a residual stream, is kept. Softmax probabilities are recomputed
// from the stored statistics of their rows (softmax_statistic.h).
//
// If the policy has a price (recompute_policy.h), the other ops may be recomputed too. The price is the most
// seconds of recomputation that the pass spends to save a GiB. The cut then minimises the sum of the costs of
// keeping and recomputing, with the times of ops from ir/analysis/node_seconds.h. The policy also divides
// forward into segments, and a value that a later segment reads is kept. Values after the end of the residual
// stream are kept, because backward reads them first. Collectives are not repeated.
//
// A recomputed node is a clone with the phase of its reader. It is marked `anchored`, so that no later pass
// merges it with the original, and it is placed directly before its first reader. Ensures: values stay
// bitwise equal, except for softmax probabilities, whose rounding error does not grow; the bytes that are
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

/// Report of the values that backward recomputes, and of those that are kept.
struct RematerializeReport {
  struct Item {
    std::string node;  // describe() of the forward node
    int64_t bytes;     // of its result, at the symbols' upper bounds
  };
  std::vector<Item> recomputed, kept;
  /// Bytes that are kept between forward and backward without and with this pass, at the symbols' upper
  /// bounds.
  int64_t bytes_before = 0, bytes_after = 0;
};

struct RematerializeOptions {
  RematerializeReport* report = nullptr;  // is filled; null: no report
  RecomputePolicy policy = {};
  // Target and element type for which node times are predicted.
  Target target = {};
  DType storage = DType::f32;
  bool tf32 = false;  // true: matmuls of f32 operands run on tensor cores (TF32)
};
template <typename Field>
void visit_options(Field& field, RematerializeOptions& o) {
  visit_options(field, o.policy);
  field("target", o.target), field("storage", o.storage), field("tf32", o.tf32);
}
bool rematerialize(Graph& graph, const RematerializeOptions& options);

}  // namespace smelt
