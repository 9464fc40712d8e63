// rematerialize: values that backward can cheaply compute again are not kept for it.
//
// Values of the forward phase that the backward phase reads are kept in memory between the two, or computed
// again from values that are. The choice is a minimum cut: every value costs its bytes (at the symbols'
// bounds) to keep; matmuls, gathers, scatters, concats and reductions are computed once; pointwise ops,
// converts, broadcasts, views, constants, iota, random (the same bits again) and `first` may be computed
// again; parameters, inputs and states cost nothing. A value that forward itself reads again behind further
// matmuls, such as a residual stream, is not computed again, since that would take the whole stream before
// it. Of equally cheap cuts the one that computes least again is taken, and one that keeps what is in memory
// anyway. Probabilities come from the stored statistic of their row (softmax_statistic.h).
//
// Computed again means cloned: with the reader's `phase` and the attribute anchor = "backward", which keeps
// the clone apart from its original for good. Contract: values stay the same bits, but for those
// probabilities, whose rounding does not grow; the bytes kept never grow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"

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
};
bool rematerialize(Graph& graph, const RematerializeOptions& options);

}  // namespace smelt
