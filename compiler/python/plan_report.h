// The page of `smelt report` and the text of `smelt diff`, of plans that Python holds.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/python/plan.h"

namespace smelt::python {

void bind_plan_report(nanobind::class_<CompiledPlan>& plan);

}  // namespace smelt::python
