#include "compiler/python/bindings.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "codegen/code_generator.h"
#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/commands/dump_levels.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/python/calls.h"
#include "compiler/report/memory_peak.h"
#include "runtime/session/executor.h"

namespace smelt::python {
namespace {

namespace nb = nanobind;

Stage stage_of(const std::string& emit) {
  return emit == "graph" ? Stage::graph : emit == "fused" ? Stage::fused : Stage::program;
}

std::string dump(const CompiledPlan& compiled, const std::string& emit, const std::string& format,
                 const std::string& filter) {
  const cli::DumpLevel level{emit, format, filter};
  return released([&] {
    const Target target = target_of_plan(compiled.plan->target);
    cli::check_level(level, target);
    if (emit == "cuda" && code_generator(target).level() != emit)
      fail("--emit=cuda shows a GPU's code, but the plan is for {}", compiled.plan->target);
    if (emit == "plan") return cli::plan_text(level, *compiled.plan);
    Compilation compilation = compile_again(compiled, stage_of(emit), false);
    return cli::emit_level(level, compilation);
  });
}

std::string explain_fusion(const CompiledPlan& compiled, const std::string& filter) {
  return released([&] { return cli::explanation(compile_again(compiled, Stage::program, true), filter); });
}

/// Returns the memory in use at the step of the entry's peak; None where the arena is empty.
nb::object peak_of(const Plan& plan, const PlanEntry& entry) {
  const MemoryPeak peak = memory_peak(plan.buffers, entry);
  if (peak.step < 0) return nb::none();
  nb::list alive;
  for (const PeakGroup& group : peak.groups) {
    nb::dict row;
    row["role"] = std::string(name(group.role)), row["source"] = group.source;
    row["buffers"] = group.buffers, row["bytes"] = group.bytes;
    alive.append(row);
  }
  const Step& step = entry.steps[static_cast<size_t>(peak.step)];
  nb::dict all;
  all["step"] = peak.step, all["steps"] = entry.steps.size(), all["phase"] = step.phase;
  all["sources"] = step.sources, all["bytes"] = peak.bytes, all["alive"] = alive;
  return all;
}

/// Bytes as planned, before any of them is allocated.
nb::dict memory(const CompiledPlan& compiled) {
  const Plan& plan = *compiled.plan;
  std::map<std::string, int64_t> roles;
  for (const State& state : plan.states) roles[std::string(name(state.role))] += resident_bytes(plan, state);
  const ExecutorMemory need = executor_memory(plan);
  nb::dict states, entries, peaks, all;
  for (const auto& [role, bytes] : roles) states[role.c_str()] = bytes;
  for (const PlanEntry& entry : plan.entries) {
    entries[entry.name.c_str()] = entry.arena_bytes;
    peaks[entry.name.c_str()] = peak_of(plan, entry);
  }
  all["total"] = need.total();
  all["states"] = states;
  all["arena"] = need.arena;
  all["arena_of_entry"] = entries;
  all["peak_of_entry"] = peaks;
  all["constants"] = need.constants;
  all["host"] = need.host;
  return all;
}

std::vector<std::pair<std::string, std::string>> doctor(bool measure) {
  const cli::TextTable table = released([&] { return cli::doctor_table(measure); });
  std::vector<std::pair<std::string, std::string>> rows;
  for (size_t i = 1; i < table.rows().size(); ++i) rows.emplace_back(table.rows()[i][0], table.rows()[i][1]);
  return rows;
}

}  // namespace

void bind_reports(nb::module_& module, nb::class_<CompiledPlan>& plan) {
  plan.def("dump", dump, nb::arg("emit"), nb::arg("format"), nb::arg("filter"))
      .def("explain_fusion", explain_fusion, nb::arg("filter"))
      .def("memory", memory);
  module.def("doctor", doctor, nb::arg("measure"));
}

}  // namespace smelt::python
