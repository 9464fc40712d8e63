// The helpers that HIP kernels call, as text (codegen/printers/prelude.h).
#pragma once

#include "codegen/printers/prelude.h"

namespace smelt {

/// Returns all pieces that HIP text may contain.
const Prelude& hip_pieces();

}  // namespace smelt
