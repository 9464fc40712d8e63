// A plan as a Python object, with the description that it was compiled from.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/model.h"
#include "compiler/driver/compile.h"

namespace smelt::python {

struct CompiledPlan {
  std::filesystem::path path;  // of the description, or of the plan
  std::shared_ptr<const Plan> plan;
  Json about;                                   // see cli::Model
  std::optional<Description> description = {};  // of what was compiled here
  std::optional<cli::Weights> weights = {};     // beside the description
  CompileOptions options = {};                  // of what was compiled here
};

/// The model of the command line that sessions are made from, with these weights.
cli::Model model_of(const CompiledPlan& compiled, std::optional<cli::Weights> weights);

/// Runs the compiler again, up to the stage, because graphs are not kept with a plan. Throws Error for a
/// loaded plan.
Compilation compile_again(const CompiledPlan& compiled, Stage stage, bool explains);

nanobind::class_<CompiledPlan> bind_plan(nanobind::module_& module);

}  // namespace smelt::python
