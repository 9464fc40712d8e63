// The weights of a session as arrays of other libraries, which read and write them where they lie.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

/// Of every weight its name in checkpoints and a DLPack capsule of its memory, in the checkpoint's layout and
/// the type that it is stored in. Each capsule keeps the session alive. What the host has changed is on the
/// GPU when this returns, and what is written through the views is found by whoever reads weights after
/// another call of this function. Throws Error where weights do not lie whole in one memory, or are shared.
nanobind::list weight_views(nanobind::handle session);

}  // namespace smelt::python
