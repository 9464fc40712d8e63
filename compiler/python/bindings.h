// Bindings of the extension, by the source file that adds them to the module.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/driver/option_table.h"
#include "compiler/python/plan.h"
#include "compiler/python/session.h"
#include "runtime/base/tensor.h"

namespace smelt::python {

// ---- compile_options.cpp
// Keyword arguments of smelt.compile: the rows of compiler/compile_options.def, with underscores.

/// True and False switch flags; numbers, texts, lists (with commas) and dicts ("K=V") are values; None is
/// nothing. Throws Error naming the option that there is none of, or whose value is not one that it takes.
CompileOptions compile_options(const nanobind::dict& options);
/// All options by name: {"default": None or text, "values": ..., "help": ...}.
nanobind::dict compile_option_rows();

// ---- generate.cpp
// Session.generate.

void bind_generate(nanobind::class_<BoundSession>& session);

// ---- plan_report.cpp
// The page of `smelt report` and the text of `smelt diff`, of plans that Python holds.

void bind_plan_report(nanobind::class_<CompiledPlan>& plan);

// ---- reports.cpp
// Reports for people: the compilation of a description, and the hardware of this machine.

void bind_reports(nanobind::module_& module, nanobind::class_<CompiledPlan>& plan);

// ---- tensor.cpp
// smelt.Tensor: a result, whose memory other libraries take as it is.

void bind_tensor(nanobind::module_& module);

// ---- weight_views.cpp
// The weights of a session as arrays of other libraries, which read and write them in place.

/// Returns for every weight its name in checkpoints and a DLPack capsule of its memory, in the checkpoint's
/// layout and the type that it is stored in. Each capsule keeps the session alive. Changes by the host are on
/// the GPU when this returns. Writes through the views are visible to readers of the weights after another
/// call of this function. Throws Error where weights are not contiguous in one memory, or are shared.
nanobind::list weight_views(nanobind::handle session);

}  // namespace smelt::python
