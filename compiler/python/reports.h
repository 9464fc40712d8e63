// Reports for people: the compilation of a description, and the hardware of this machine.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/python/plan.h"

namespace smelt::python {

void bind_reports(nanobind::module_& module, nanobind::class_<CompiledPlan>& plan);

}  // namespace smelt::python
