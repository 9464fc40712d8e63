// Which exponentials of a kernel the online softmax has made already.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// exp(x - m) of later blocks, where m is the maximum of a max_sumexp of the same x, with that reduction.
struct KeptExponential {
  int exponential = -1;
  int reduce = -1;
};

/// Of a row kernel with one column axis; empty for all others.
std::vector<KeptExponential> kept_exponentials(const Kernel& kernel);

}  // namespace smelt
