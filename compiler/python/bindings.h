// Functions that add the Python bindings to the extension module, by source file.
#pragma once

#include <nanobind/nanobind.h>

#include "compiler/driver/option_table.h"
#include "compiler/python/plan.h"
#include "compiler/python/session.h"
#include "runtime/base/tensor.h"

namespace smelt::python {

// ---- compile_options.cpp
// Keyword arguments of smelt.compile: the rows of compiler/compile_options.def, with underscores.

/// Returns the default options, overridden by `options`. A value may be a bool (for a switch), a number, a
/// text, a list, or a dict. A dict {K: V} is converted to the list of the texts "K=V". An option with the
/// value None is not set. Throws Error with the name of an option that does not exist or whose value is not
/// accepted.
CompileOptions compile_options(const nanobind::dict& options);
/// Returns all options by name: {"default": None or text, "values": ..., "help": ...}.
nanobind::dict compile_option_rows();

// ---- command_line.cpp
// The command `smelt`.

/// Adds the function command_line(words, program), which cli::command_line describes, to the module.
void bind_command_line(nanobind::module_& module);

// ---- batch.cpp
// smelt.Batch: a continuous batch of a session.

/// Adds the class Batch, and the function open_batch, to the module.
void bind_batch(nanobind::module_& module);

// ---- graphs.cpp
// smelt.builder: graphs that importers write.

/// Adds the class GraphBuilder, and the function scalar_operations, to the module.
void bind_graphs(nanobind::module_& module);

// ---- generate.cpp
// Session.generate.

/// Adds this method to the class.
void bind_generate(nanobind::class_<BoundSession>& session);

// ---- images.cpp
// smelt.read_images.

/// Adds the function read_images to the module.
void bind_images(nanobind::module_& module);

// ---- plan_report.cpp
// Methods of plans that return the page of `smelt report` and the text of `smelt diff`.

/// Adds these methods to the class.
void bind_plan_report(nanobind::class_<CompiledPlan>& plan);

// ---- reports.cpp
// Reports for people.

/// Adds the methods `dump`, `explain_fusion` and `memory` to the class, and the function `doctor`, which
/// describes this machine, to the module.
void bind_reports(nanobind::module_& module, nanobind::class_<CompiledPlan>& plan);

// ---- sizes.cpp
// smelt.builder: sizes of tensors, and known ranges of them.

/// Adds the classes Dim and Ranges, and the functions ceil_div, floor_div and quotient, to the module.
void bind_sizes(nanobind::module_& module);

// ---- tensor.cpp
// smelt.Tensor: a result in the host's memory, which other libraries use without a copy.

void bind_tensor(nanobind::module_& module);

// ---- weight_views.cpp
// Weights of a session as arrays of other libraries, which read and write them in place.

/// Returns a tuple for every weight: its name in checkpoints, and a DLPack capsule of its memory. The capsule
/// has the checkpoint's layout and the type that the session stores, and keeps the session alive. On a GPU,
/// the host may have a copy of the weights. Each call copies earlier changes of this copy to the GPU, and
/// then marks the copy as out of date. So a caller that has changed weights through the arrays must call the
/// function again. Throws Error if a part of the weights has been moved to the host's memory, or if several
/// ranks or sessions share the weights.
nanobind::list weight_views(nanobind::handle session);

}  // namespace smelt::python
