// check_collectives: which collectives data-parallel training can have.
//
// Ranks along the axis of batches take batches of their own: they differ in the number of records and in
// their lengths, and ranks run @evaluate and @logits different numbers of times, or alone. So what is
// exchanged along that axis has the same size whatever the batch, and @evaluate and @logits exchange nothing
// but parts of states: where these are gathered, ranks run them together.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace smelt {

/// Of a partitioned module; nothing where the mesh has no such axis or one rank along it. Throws one Error
/// that names every collective that ranks could not make together, with its entry, its shape and why.
void check_collectives(const Module& module, std::string_view axis);

}  // namespace smelt
