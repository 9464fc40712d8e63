// Session.generate.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/python/session.h"

namespace smelt::python {

void bind_generate(nanobind::class_<BoundSession>& session);

}  // namespace smelt::python
