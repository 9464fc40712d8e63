#include "compiler/python/plan.h"

#include <fmt/ranges.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compiler/cli/commands/dump_files.h"
#include "compiler/python/bindings.h"
#include "compiler/python/calls.h"
#include "runtime/base/interrupt.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_model.h"

namespace smelt::python {
namespace {

namespace nb = nanobind;

/// Calls Python's on_step and its handlers of signals at the steps of a compilation and within long ones.
/// Either ends it: Ctrl-C, or a limit of time.
class StepWatch {
 public:
  explicit StepWatch(const nb::object& on_step) : on_step_(on_step), scope_([this] { call(); }) {}
  void begin(std::string_view step) {
    step_ = step;
    call();
  }

 private:
  void call() const {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!on_step_.is_none() && !step_.empty()) on_step_(nb::str(step_.data(), step_.size()));
  }

  const nb::object& on_step_;
  std::string step_;
  InterruptScope scope_;
};

std::shared_ptr<const CompiledPlan> compile_path(const std::string& path, const nb::dict& options,
                                                 const nb::object& on_step) {
  const cli::CompileFlags flags = cli::silent_flags(compile_options(options));
  return released([&] {
    CompileOptions compile_options = with_spelling(OptionSpelling::python, [&] { return flags.options(); });
    StepWatch watch(on_step);
    compile_options.passes.on_step = [&](std::string_view step) { watch.begin(step); };
    cli::Model model = cli::open_model(path, {});
    if (!model.description) fail("'{}' is a plan already: give it to smelt.load", path);
    with_spelling(OptionSpelling::python, [&] { cli::compile_model(model, compile_options, flags); });
    compile_options.passes.on_step = nullptr;
    if (!compile_options.dump_dir.empty())
      cli::write_dump_files(*model.compilation, compile_options.dump_dir);
    return std::make_shared<const CompiledPlan>(CompiledPlan{.path = model.path,
                                                             .plan = model.plan,
                                                             .about = std::move(model.about),
                                                             .description = std::move(model.description),
                                                             .weights = std::move(model.weights),
                                                             .options = std::move(compile_options)});
  });
}

std::shared_ptr<const CompiledPlan> load_path(const std::string& path) {
  return released([&] {
    const auto plan = load_plan(path);
    return std::make_shared<const CompiledPlan>(
        CompiledPlan{.path = path, .plan = plan, .about = read_plan_model(plan->model)});
  });
}

nb::list ports(const std::vector<Port>& all) {
  nb::list list;
  for (const Port& port : all) {
    nb::dict row;
    row["name"] = port.name;
    row["dtype"] = std::string(name(port.dtype));
    row["shape"] = str(port.shape);
    row["optional"] = port.optional;
    list.append(row);
  }
  return list;
}

nb::dict entries(const CompiledPlan& compiled) {
  nb::dict all;
  for (const PlanEntry& entry : compiled.plan->entries) {
    nb::dict row;
    row["inputs"] = ports(entry.inputs);
    row["outputs"] = ports(entry.outputs);
    row["steps"] = entry.steps.size();
    row["arena_bytes"] = entry.arena_bytes;
    all[entry.name.c_str()] = row;
  }
  return all;
}

nb::dict bounds(const CompiledPlan& compiled) {
  nb::dict all;
  for (const Symbols::Bound& bound : compiled.plan->symbols.bounds())
    all[fmt::format("{}", fmt::join(bound.factors, "*")).c_str()] = bound.upper;
  return all;
}

}  // namespace

Compilation compile_again(const CompiledPlan& compiled, Stage stage, bool explains) {
  if (!compiled.description)
    fail("'{}' was loaded: a plan file has no graphs; compile the description to see them",
         compiled.path.string());
  CompileOptions options = compiled.options;
  options.explain_fusion = explains;
  options.dump_dir.clear(), options.passes.dump_dir.clear();
  return compile(*compiled.description, options, stage);
}

cli::Model model_of(const CompiledPlan& compiled, std::optional<cli::Weights> weights) {
  cli::Model model;
  model.path = compiled.path;
  model.plan = compiled.plan;
  model.about = compiled.about;
  model.weights = std::move(weights);
  return model;
}

nb::class_<CompiledPlan> bind_plan(nb::module_& module) {
  nb::class_<CompiledPlan> plan(module, "Plan");
  plan.def_prop_ro("target", [](const CompiledPlan& p) { return p.plan->target; })
      .def_prop_ro("path", [](const CompiledPlan& p) { return p.path.string(); })
      .def_prop_ro("weights",
                   [](const CompiledPlan& p) -> nb::object {
                     if (!p.weights) return nb::none();
                     return nb::cast(p.weights->tensors->path().string());
                   })
      .def("entries", entries)
      .def("bounds", bounds)
      .def("save", [](const CompiledPlan& p, const std::string& path) {
        released([&] { save_plan(*p.plan, path); });
      });
  module.def("compile", compile_path, nb::arg("path"), nb::arg("options"), nb::arg("on_step") = nb::none());
  module.def("load", load_path);
  module.def("compile_options", compile_option_rows);
  return plan;
}

}  // namespace smelt::python
