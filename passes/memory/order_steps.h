// Reorders the steps of every entry so that fewer bytes are live at once: among the steps whose inputs are
// ready, one that frees at least what it allocates comes first (a thousandth of the largest buffer does not
// count), else the one that stood first. Reads and writes of every element keep their order, so results do
// not change. An order that would need more memory is not taken. Steps that touch other elements of one
// buffer, such as gradients of two weights, may change places.
#pragma once

#include "ir/program.h"

namespace smelt {

struct OrderStepsOptions {};

bool order_steps(Program& program, const OrderStepsOptions& options);

}  // namespace smelt
