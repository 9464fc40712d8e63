// Report of the pass fuse for the option --explain-fusion: the kernels of a graph, and the reasons why
// neighbouring kernels were not fused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Result of the attempt to fuse two groups of nodes: `fused`, or the reason why they were not fused. A
/// kernel has rows, which run in parallel, and loops over the columns of each row.
enum class FuseReason : uint8_t {
  fused,
  phase,       // the groups belong to different phases, such as forward and backward
  cycle,       // a path leads from the fused group through other nodes back to it
  loop_nest,   // no single loop nest can compute both; `detail` has the reason
  sweeps,      // the kernel would need too many sweeps over the columns
  single_row,  // the kernel would have a single long row, so that it could not run in parallel
  update,      // an update of parameters or optimizer states must run in slices, without reductions
  size,        // the kernel would have too many nodes
  view,        // the value that connects the groups is read through a view of memory, such as a reshape
  own_step,    // the other node is a step of its own, such as a matmul or a scatter_add
};
std::string_view name(FuseReason reason);

/// Kernels of one or more graphs, and the reasons why there are not fewer.
struct FusionReport {
  struct Kernel {
    std::string graph;
    int number = 0;  // from 1, in program order
    Phase phase = Phase::forward;
    std::string source;                   // source name of the fusion: "h.0.ln_1 + h.0.attention"
    std::vector<std::string> operations;  // in program order
    /// Bytes at the symbols' upper bounds, with the types that values have when fuse runs. Each value counts
    /// once.
    int64_t bytes_read = 0, bytes_written = 0;
  };
  /// Border between two neighbours: one reads a value of the other, or, for siblings, both read one value.
  struct Border {
    std::string graph;
    int producer = 0, consumer = 0;  // numbers of the kernels; 0: this neighbour is the node `other`
    std::string other;               // text of the neighbour that is no kernel: `matmul "h.0.attention"`
    bool siblings = false;
    FuseReason reason = FuseReason::own_step;
    std::string detail;  // explains the reason; may be empty
    int64_t bytes = 0;  // of the values that the consumer reads from the producer, or that both siblings read
  };
  /// Composite node that was decomposed, although some composites of its kind are one kernel.
  struct Refusal {
    std::string composite;  // `attention "h.0.attention"`
    std::string reason;     // a sentence
    int64_t bytes = 0;      // of the intermediate values that are in memory as a result, each counted once
    bool operator==(const Refusal&) const = default;
  };
  std::vector<Kernel> kernels;
  std::vector<Border> borders;
  std::vector<Refusal> refusals = {};
};

/// Two groups that were not fused, as indices of the `groups` of report_fusion.
struct RefusedPair {
  size_t from, into;
  FuseReason reason;
  std::string detail;
};

/// Adds the kernels that the groups will become, and the borders between them, to the report. `sources` has
/// one source name per group. Requires: the nodes of a group are in program order, and no group is empty.
void report_fusion(const Graph& graph, llvm::ArrayRef<std::vector<Node*>> groups,
                   llvm::ArrayRef<std::string> sources, llvm::ArrayRef<RefusedPair> refused,
                   FusionReport& report);

}  // namespace smelt
