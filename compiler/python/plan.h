// A plan, and what it was compiled from: as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/model.h"
#include "compiler/compile.h"

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

/// The compiler again, as far as the stage: graphs are not kept beside a plan. Throws Error of a loaded plan.
Compilation compile_again(const CompiledPlan& compiled, Stage stage, bool explains);

nanobind::class_<CompiledPlan> bind_plan(nanobind::module_& module);

}  // namespace smelt::python
