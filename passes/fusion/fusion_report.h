// What fuse made of a graph, as --explain-fusion shows it: its kernels, and why neighbours stayed apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace smelt {

/// Why two groups were or were not fused: the complete list of reasons.
enum class FuseReason : uint8_t {
  fused,       // accepted
  phase,       // forward, backward and update stay apart
  cycle,       // a path leads from one group through others back to it
  loop_nest,   // no one loop nest computes both; `detail` says why
  sweeps,      // too many sweeps over the columns
  single_row,  // everything would depend on one long row, which runs on one thread
  update,      // an update of parameters or moments is to run in slices, and sums nothing
  size,        // the kernel would be too large to compile well
  view,        // one reads the other's result through a view, which needs it in memory
  own_step,    // the other is a matmul, a scatter_add, ...: a step without a fusion
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
  /// Two neighbours: a value goes from one to the other, or (siblings) both read one.
  struct Border {
    std::string graph;
    int producer = 0, consumer = 0;  // numbers of kernels; 0: `other`
    std::string other;               // `matmul "h.0.attention"`
    bool siblings = false;
    FuseReason reason = FuseReason::own_step;
    std::string detail;
    int64_t bytes = 0;  // of the values between them; of siblings: of what both read
  };
  /// A composite that a kernel could compute, but none does.
  struct Refusal {
    std::string composite;  // `attention "h.0.attention"`
    std::string reason;     // a sentence
    int64_t bytes = 0;      // of what lies in memory instead, once
    bool operator==(const Refusal&) const = default;
  };
  std::vector<Kernel> kernels;
  std::vector<Border> borders;
  std::vector<Refusal> refusals = {};
};

/// A pair of groups (their places in the list) that was refused.
struct RefusedPair {
  size_t from, into;
  FuseReason reason;
  std::string detail;
};

/// Adds the kernels that the groups of nodes (in program order, without empty ones) are going to be.
void report_fusion(const Graph& graph, llvm::ArrayRef<std::vector<Node*>> groups,
                   llvm::ArrayRef<std::string> sources, llvm::ArrayRef<RefusedPair> refused,
                   FusionReport& report);

}  // namespace smelt
