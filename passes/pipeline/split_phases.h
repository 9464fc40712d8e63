// split_phases: the work of a part of a pipeline on a micro-batch becomes two entries.
//
//   graph @loss.K   ->   @forward.K   returns values.J.I (J = K + 1) and what backward needs of it:
//   saved.K.0,
//                                     saved.K.1, ...
//                        @backward.K  from these, inputs, values.K.I and gradients.J.I: gradients.K.I, and
//                        sums
//
// It stands behind rematerialize, which has chosen what is saved: what backward and the update read of the
// forward phase. Views, constants, parameters, joined ones too, and inputs are taken again. Between both,
// other micro-batches may pass: the caller keeps what is saved, with the inputs and the values that were
// received. Contract: what both compute, one after the other, is what the graph did.
#pragma once

#include <string>

#include "ir/graph.h"

namespace smelt {

/// Of all graphs that are parts of the graph `loss`.
bool split_phases(Module& module, const std::string& loss = "loss");

/// "saved.3.0": what part 3 saves.
std::string saved_name(int64_t part, size_t number);

}  // namespace smelt
