// Report of fuse for --explain-fusion: the kernels of a graph, and why neighbours were not fused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

/// Reason why two groups were or were not fused. The list is complete.
enum class FuseReason : uint8_t {
  fused,       // accepted
  phase,       // forward, backward and update are not fused
  cycle,       // a path leads from one group through others back to it
  loop_nest,   // no single loop nest computes both; `detail` has the reason
  sweeps,      // too many sweeps over the columns
  single_row,  // everything would depend on one long row, which runs on one thread
  update,      // an update of parameters or moments must run in slices, without reductions
  size,        // the kernel would be too large to compile well
  view,        // one reads the other's result through a view, which needs a value in memory
  own_step,    // the other is a step that is no fusion: a matmul, a scatter_add, ...
};
std::string_view name(FuseReason reason);

struct FusionReport {
  struct Kernel {
    std::string graph;
    int number = 0;  // from 1, in program order
    Phase phase = Phase::forward;
    std::string source;                         // as the fusion's: "h.0.ln_1 + h.0.attention"
    std::vector<std::string> operations;        // in program order
    int64_t bytes_read = 0, bytes_written = 0;  // at the bounds, each value once, in the types it has here
  };
  /// Two neighbours: a value goes from one to the other, or (siblings) both read one value.
  struct Border {
    std::string graph;
    int producer = 0, consumer = 0;  // numbers of kernels; 0: `other`
    std::string other;               // `matmul "h.0.attention"`
    bool siblings = false;
    FuseReason reason = FuseReason::own_step;
    std::string detail;
    int64_t bytes = 0;  // of the values between them; for siblings, of the values that both read
  };
  /// Composite that a kernel could compute, but no kernel does.
  struct Refusal {
    std::string composite;  // `attention "h.0.attention"`
    std::string reason;     // a sentence
    int64_t bytes = 0;      // of the intermediate values that are in memory instead, each counted once
    bool operator==(const Refusal&) const = default;
  };
  std::vector<Kernel> kernels;
  std::vector<Border> borders;
  std::vector<Refusal> refusals = {};
};

/// Refused pair of groups, as indices of the list.
struct RefusedPair {
  size_t from, into;
  FuseReason reason;
  std::string detail;
};

/// Adds the kernels that the groups will become to the report. Requires: nodes in program order, no empty
/// group.
void report_fusion(const Graph& graph, llvm::ArrayRef<std::vector<Node*>> groups,
                   llvm::ArrayRef<std::string> sources, llvm::ArrayRef<RefusedPair> refused,
                   FusionReport& report);

}  // namespace smelt
