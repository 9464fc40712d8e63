// join_gathers: what forward gathers last and backward first, such as the table of a head, is gathered once.
//
// Of two buffers into which the same parts of a state are gathered, the later goes where next to nothing that
// is gathered is read between the last step that reads the one and the first that reads the other: so nobody
// holds it for long. Reads and writes of every element keep their order.
#pragma once

#include "ir/program.h"

namespace smelt {

/// Behind place_collectives. Nothing changes without a mesh.
bool join_gathers(Program& program);

}  // namespace smelt
