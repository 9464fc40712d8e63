// Wraps groups of primitives with one loop nest into `fusion` nodes, one kernel each, with several results
// where others need them. Nothing is deleted: every primitive that computes stands in exactly one fusion's
// body afterwards.
//
// Nodes are taken in program order; each joins the groups that produce its operands and those that read the
// same operands, where ir/analysis/iteration_space.h finds one loop nest for both, no cycle arises and the
// phase (forward, backward, update) is the same. Constants, iota, random and broadcast are cheap: every
// reader gets its own.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Why two groups were or were not fused; the closed list of --explain-fusion.
enum class FuseReason : uint8_t {
  fused,       // accepted
  phase,       // forward, backward and update stay apart
  cycle,       // a path leads from one group through others back to it
  loop_nest,   // no one loop nest computes both; `detail` says why
  sweeps,      // too many sweeps over the columns
  single_row,  // everything would depend on one long row, which runs on one thread
  size,        // the kernel would be too large to compile well
};
std::string_view name(FuseReason reason);

struct FuseDecision {
  FuseReason reason;
  std::string producer, consumer;  // source names
  std::string detail;
};

struct FuseOptions {
  int max_levels = 4;             // sweeps over the columns
  size_t max_nodes = 160;         // of one body
  int64_t max_single_row = 8192;  // columns of a kernel without rows
  std::vector<FuseDecision>* log = nullptr;
};

bool fuse(Graph& graph, const FuseOptions& options);

}  // namespace smelt
