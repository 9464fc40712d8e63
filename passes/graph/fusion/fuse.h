// fuse: groups primitives that share a loop nest into `fusion` nodes. Each fusion becomes one kernel, and has
// one result for each of its values that is read outside.
//
//   %a = mul %x, %y                %b = fusion (%x, %y, %z) {
//   %b = add %a, %z        =>        %a = mul %x, %y
//                                    return add %a, %z
//                                  }
//
// The pass visits nodes in program order. Each node begins as a group of its own. The pass then merges the
// group with the groups that produce the node's operands, and with earlier groups that read the same
// operands. It merges two groups only if:
//   - both have the same phase, such as forward or backward;
//   - one loop nest can compute both (ir/analysis/iteration_space.h);
//   - no path leads from the merged group through other nodes back to it;
//   - the merged group is within the limits of FuseOptions.
//
// The loop nest of a kernel has rows, which run in parallel, and loops over the columns of each row.
// Constants, iota, random and broadcast are cheap (cheap_nodes.h): every reader gets its own copy. Ensures:
// every other primitive that can be fused and whose results are used is in exactly one fusion.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

struct FuseOptions {
  int max_levels = 4;              // most loops over the columns, one after another, per kernel
  size_t max_nodes = 160;          // most nodes per body
  int64_t max_single_row = 8192;   // most columns of a kernel that has only one row
  FusionReport* report = nullptr;  // receives the graph's kernels; null: no report
  /// Attention kernels of some targets can read keys and values directly from a table, by indices. If
  /// `target` is such a target, a gather is not fused if only attentions read its result and its elements
  /// have the type `storage`. Without a target, all gathers are fused.
  std::optional<Target> target = {};
  DType storage = DType::f32;
  /// True: a kernel that writes parameters or optimizer states has no reductions, and writes no scalar that
  /// other kernels read. Such a kernel can be run on one slice of the elements after another.
  bool updates_apart = false;
};

template <typename Field>
void visit_options(Field& field, FuseOptions& o) {
  field("target", o.target), field("storage", o.storage), field("updates_apart", o.updates_apart);
  if (o.target) field("attention", NamedOption{o.target->attention, kAttentionTemplateNames});
}
bool fuse(Graph& graph, const FuseOptions& options);

}  // namespace smelt
