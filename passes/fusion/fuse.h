// Wraps groups of primitives with one loop nest into `fusion` nodes, one kernel each, with several results
// where others need them. Nothing is deleted: every primitive that computes stands in exactly one fusion's
// body afterwards.
//
// Nodes are taken in program order; each joins the groups that produce its operands and those that read the
// same operands, where ir/analysis/iteration_space.h finds one loop nest for both, no cycle arises and the
// phase (forward, backward, update) is the same. Constants, iota, random and broadcast are cheap: every
// reader gets its own.
#pragma once

#include <functional>

#include "ir/graph.h"
#include "passes/fusion/fusion_report.h"

namespace smelt {

struct FuseOptions {
  int max_levels = 4;              // sweeps over the columns
  size_t max_nodes = 160;          // of one body
  int64_t max_single_row = 8192;   // columns of a kernel without rows
  FusionReport* report = nullptr;  // gets the graph's kernels, too
  /// Gathers that are left as they are, for readers that follow their indices themselves.
  std::function<bool(const Node&)> stays = {};
  bool updates_apart =
      false;  // what writes parameters or moments computes elements alone: it can run in slices
};

bool fuse(Graph& graph, const FuseOptions& options);

}  // namespace smelt
