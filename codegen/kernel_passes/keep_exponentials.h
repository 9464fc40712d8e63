// A softmax needs exp(x - m) twice: in the sum that goes with the maximum m, and in its result. The reduction
// leaves the exponentials that it has made; those of the result are scaled from them.
#pragma once

#include "ir/kernel.h"

namespace smelt {

/// Gives exp(x - m) of later blocks the form `kept`, where m is the maximum of a max_sumexp of the same x: of
/// one reduction, or of the first `most_reductions` of several. Does nothing where a row has not exactly one
/// column axis. True where one got it.
bool keep_exponentials(Kernel& kernel, int64_t most_reductions);

/// For a GPU whose threads hold a row: of several reductions as many as there are registers beside the kept
/// columns.
void keep_exponentials_in_registers(Kernel& kernel);

/// The max_sumexp that an exponential of the form `kept` is scaled from.
int reduction_of_kept(const Kernel& kernel, int exponential);

}  // namespace smelt
