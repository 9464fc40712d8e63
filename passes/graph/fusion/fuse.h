// fuse: groups primitives that share a loop nest into `fusion` nodes, one kernel each, with several results
// if other nodes need them.
//
//   %a = mul %x, %y                %b = fusion (%x, %y, %z) {
//   %b = add %a, %z        =>        %a = mul %x, %y
//                                    return add %a, %z
//                                  }
//
// Nodes are taken in program order. Each joins the groups that produce its operands and those that read the
// same operands, if ir/analysis/iteration_space.h finds one loop nest for both, no cycle arises and the phase
// (forward, backward, update) is the same. Constants, iota, random and broadcast are cheap: every reader gets
// its own copy. Ensures: no node is deleted; every primitive that computes is in exactly one fusion's body.
#pragma once

#include "ir/graph/graph.h"
#include "ir/pass_options.h"
#include "passes/graph/fusion/fusion_report.h"

namespace smelt {

struct FuseOptions {
  int max_levels = 4;              // sweeps over the columns
  size_t max_nodes = 160;          // of one body
  int64_t max_single_row = 8192;   // columns of a kernel without rows
  FusionReport* report = nullptr;  // receives the graph's kernels
  /// With a target, a gather that only attentions read stays if its elements have the storage type and the
  /// target's attention kernels follow its indices. Without a target no gather stays.
  std::optional<Target> target = {};
  DType storage = DType::f32;
  bool updates_apart =
      false;  // what writes parameters or moments computes elements alone: it can run in slices
};

template <typename Field>
void visit_options(Field& field, FuseOptions& o) {
  field("target", o.target), field("storage", o.storage), field("updates_apart", o.updates_apart);
  if (o.target) field("attention", NamedOption{o.target->attention, kAttentionTemplateNames});
}
bool fuse(Graph& graph, const FuseOptions& options);

}  // namespace smelt
