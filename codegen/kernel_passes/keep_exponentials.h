// Keeps exponentials of a softmax, which needs exp(x - m) twice: in the sum that goes with the maximum m, and
// in its result. The reduction keeps its exponentials; those of the result are scaled from them.
#pragma once

#include "ir/kernel/kernel.h"

namespace smelt {

/// Gives exp(x - m) of later blocks the form `kept`, where m is the maximum of a max_sumexp of the same x: of
/// one reduction, or of the first `most_reductions` of several. Does nothing where a row has not exactly one
/// column axis. True where one got it.
bool keep_exponentials(Kernel& kernel, int64_t most_reductions);

/// The same for a GPU whose threads hold a row, for as many of the reductions as fit the registers that the
/// kept columns leave.
void keep_exponentials_in_registers(Kernel& kernel);

/// The max_sumexp that an exponential of the form `kept` is scaled from.
int reduction_of_kept(const Kernel& kernel, int exponential);

}  // namespace smelt
