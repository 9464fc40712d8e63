// join_gathers: gathers once the values that forward reads last and backward first, such as the table of a
// head.
//
//   a = all_gather s; .. a ..; b = all_gather s; .. b ..    =>    a = all_gather s; .. a ..; .. a ..
//
// If the same parts of a state are gathered into two buffers, the second one is removed if steps between the
// last reader of the first and the first reader of the second read few other gathered values, so that no rank
// holds the buffer for long. Reads and writes of every element keep their order.
#pragma once

#include "ir/program/program.h"

namespace smelt {

/// Joins the gathers. Runs after place_collectives. Does nothing without a mesh.
bool join_gathers(Program& program);

}  // namespace smelt
