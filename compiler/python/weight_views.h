// The weights of a session as arrays of other libraries, which read and write them in place.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

/// Returns for every weight its name in checkpoints and a DLPack capsule of its memory, in the checkpoint's
/// layout and the type that it is stored in. Each capsule keeps the session alive. Changes by the host are on
/// the GPU when this returns. Writes through the views are visible to readers of the weights after another
/// call of this function. Throws Error where weights are not contiguous in one memory, or are shared.
nanobind::list weight_views(nanobind::handle session);

}  // namespace smelt::python
