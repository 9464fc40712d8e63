// smelt.Tensor: a result, whose memory other libraries take as it is.
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/base/tensor.h"

namespace smelt::python {

void bind_tensor(nanobind::module_& module);

}  // namespace smelt::python
