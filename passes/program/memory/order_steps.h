// order_steps: reorders the steps of every entry so that fewer bytes are live at once.
//
// The next step is the first ready step that frees at least as many bytes as it allocates, otherwise the
// first ready step in the old order. A step whose buffers all have at most a thousandth of the largest
// buffer's bytes is not preferred. An order that would need more memory is rejected. Reads and writes of
// every element keep their order, so results do not change. Steps that touch different elements of one
// buffer, such as gradients of two weights, may be exchanged.
#pragma once

#include "ir/program/program.h"

namespace smelt {

struct OrderStepsOptions {};

bool order_steps(Program& program, const OrderStepsOptions& options);

}  // namespace smelt
