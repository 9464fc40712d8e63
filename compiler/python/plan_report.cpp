#include "compiler/python/bindings.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compiler/python/calls.h"
#include "compiler/report/plan_diff.h"
#include "compiler/report/report_data.h"
#include "compiler/report/report_page.h"
#include "runtime/system/file.h"

namespace smelt::python {
namespace {

namespace nb = nanobind;

using Entries = std::vector<std::string>;

/// Returns the plan with the graph and the decisions of fusion where there is a description; `name` is for
/// people.
ReportedPlan reported_plan(const CompiledPlan& compiled, const Entries& entries, const std::string& name) {
  ReportedPlan plan = compiled.description
                          ? reported(compile_again(compiled, Stage::program, true), compiled.options, name)
                          : reported(*compiled.plan, name);
  if (compiled.description) add_resources(plan, *compiled.plan);
  if (!entries.empty()) keep_entries(plan, entries);
  return plan;
}

struct ReportArguments {
  std::string path, name, command;
  Entries entries;
  std::optional<std::string> profile;
  std::string against_name;
};

void write_report(const CompiledPlan& compiled, const CompiledPlan* against, const ReportArguments& asked) {
  ReportedPlan plan = reported_plan(compiled, asked.entries, asked.name);
  add_codes(plan);
  ReportOptions options{.command = asked.command, .times = {}};
  if (asked.profile)
    options.times = read_step_times(plan.program, read_text_file(*asked.profile), *asked.profile);
  ReportedPlan other;
  if (against) {
    other = reported_plan(*against, asked.entries, asked.against_name);
    options.against = &other;
  }
  const std::string title = fmt::format("{} for {}", plan.model, plan.target);
  write_file(asked.path, report_page(report_data(plan, options), title));
}

void report(const CompiledPlan& compiled, const CompiledPlan* against, std::string path, std::string name,
            std::string against_name, std::string command, Entries entries,
            std::optional<std::string> profile) {
  const ReportArguments asked{std::move(path),    std::move(name),    std::move(command),
                              std::move(entries), std::move(profile), std::move(against_name)};
  released([&] { write_report(compiled, against, asked); });
}

std::string diff(const CompiledPlan& before, const CompiledPlan& after, const std::string& before_name,
                 const std::string& after_name, const Entries& entries) {
  return released([&] {
    return diff_text(reported_plan(before, entries, before_name), reported_plan(after, entries, after_name));
  });
}

}  // namespace

void bind_plan_report(nb::class_<CompiledPlan>& plan) {
  plan.def("report", report, nb::arg("against").none(), nb::kw_only(), nb::arg("path"), nb::arg("name"),
           nb::arg("against_name"), nb::arg("command"), nb::arg("entries"), nb::arg("profile").none())
      .def("diff", diff, nb::arg("after"), nb::kw_only(), nb::arg("before_name"), nb::arg("after_name"),
           nb::arg("entries"));
}

}  // namespace smelt::python
