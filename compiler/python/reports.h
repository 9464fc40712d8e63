// What the compiler made of a description, and what this machine has, for people to read.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/python/plan.h"

namespace smelt::python {

void bind_reports(nanobind::module_& module, nanobind::class_<CompiledPlan>& plan);

}  // namespace smelt::python
