// CompiledPlan: a plan as a Python object, with the description that it was compiled from.
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
  std::filesystem::path path;  // of the description, or of the plan file
  std::shared_ptr<const Plan> plan;
  Json about;  // description of the model, as an object; null for graphs in text form
  std::optional<Description> description = {};  // empty if the plan was loaded from a file
  std::optional<cli::Weights> weights = {};     // found in the description's directory; empty: none
  CompileOptions options = {};                  // default options if the plan was loaded from a file
};

/// Returns a cli::Model with the plan and these weights, from which cli::open_session makes sessions.
cli::Model model_of(const CompiledPlan& compiled, std::optional<cli::Weights> weights);

/// Compiles the description again, up to `stage`, because plans do not contain graphs. `explains`: with the
/// reasons for fusion decisions. Throws Error if the plan was loaded from a file.
Compilation compile_again(const CompiledPlan& compiled, Stage stage, bool explains);

nanobind::class_<CompiledPlan> bind_plan(nanobind::module_& module);

}  // namespace smelt::python
