#include "compiler/cli/commands/dump_levels.h"

#include <fmt/format.h>

#include "codegen/code_generator.h"
#include "codegen/make_plan.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/text_table.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_model.h"

namespace smelt::cli {
namespace {

bool contains(std::string_view text, const std::string& part) {
  return text.find(part) != std::string_view::npos;
}

/// Steps from sources that match, and the kernels that these run.
void keep_matching(Program& program, const std::string& filter) {
  std::vector<bool> used(program.kernels.size());
  for (PlanEntry& entry : program.entries) {
    llvm::erase_if(entry.steps, [&](const Step& step) { return !from_matching(step, filter); });
    for (const Step& step : entry.steps)
      if (const auto* kernel = std::get_if<KernelStep>(&step.what))
        used[static_cast<size_t>(kernel->kernel)] = true;
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && !contains(program.kernels[i].name, filter)) program.kernels[i].name.clear();
}

std::vector<const Kernel*> named_kernels(const Program& program) {
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : program.kernels)
    if (!kernel.name.empty()) kernels.push_back(&kernel);
  return kernels;
}

// ---- one function for each --emit

std::string filtered_graphs(const Module& module, const std::string& filter) {
  std::string text;
  for (const auto& graph : module.graphs) {
    text += fmt::format("graph @{}\n", graph->name);
    for (const auto& node : graph->nodes())
      if (contains(node->source, filter)) text += print(*node) + "\n";
    text += "\n";
  }
  return text;
}

std::string all_dots(const Module& module, const std::string& filter) {
  std::string text;
  for (const auto& graph : module.graphs)
    text += dot(*graph, [&](const Node& node) { return contains(node.source, filter); });
  return text;
}

std::string emit_module(const DumpLevel& level, const Module& module) {
  if (level.format == "json") return json(module) + "\n";
  if (level.format == "dot") return all_dots(module, level.filter);
  return level.filter.empty() ? print(module) : filtered_graphs(module, level.filter);
}

/// The program as a plan without machine code: what the JSON of plans holds.
std::string program_json(const Program& program) {
  Plan plan{.target = "",
            .features = {},
            .model = "",
            .symbols = program.symbols,
            .mesh = program.mesh,
            .states = program.states,
            .buffers = program.buffers,
            .entries = program.entries,
            .kernels = {},
            .binary = {}};
  for (const Kernel& kernel : program.kernels) plan.kernels.push_back(describe_kernel(kernel));
  return write_manifest(plan).json.dump(1) + "\n";
}

std::string filtered_program(const Program& program) {
  std::string text;
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps)
      text +=
          fmt::format("{:<12} {:<28} {}\n", entry.name, step_name(program, step), step_sources(step, 200));
  for (const Kernel* kernel : named_kernels(program)) text += "\n" + print(*kernel);
  return text;
}

std::string emit_program(const DumpLevel& level, const Program& program) {
  if (level.format == "json") return program_json(program);
  return level.filter.empty() ? print(program) : filtered_program(program);
}

std::string emit_kernels(const DumpLevel& level, const Program& program) {
  Json list = Json::array();
  std::string text;
  for (const Kernel* kernel : named_kernels(program)) {
    text += print(*kernel) + "\n";
    list.push_back({{"name", kernel->name}, {"text", print(*kernel)}});
  }
  return level.format == "json" ? list.dump(1) + "\n" : text;
}

std::string ports_text(const PlanEntry& entry) {
  std::string text;
  const auto add = [&](const Port& port, const char* sign) {
    text += fmt::format("{}{}: {}  ", sign, port.name, str(Type{port.dtype, port.shape}));
  };
  for (const Port& port : entry.inputs) add(port, "");
  for (const Port& port : entry.outputs) add(port, "-> ");
  return text;
}

std::string plan_tables(const Plan& plan) {
  TextTable entries({"entry", "steps", "arena", "inputs and outputs"});
  for (const PlanEntry& entry : plan.entries)
    entries.add(
        {entry.name, std::to_string(entry.steps.size()), bytes_text(entry.arena_bytes), ports_text(entry)});
  TextTable states({"state", "role", "type", "segments"});
  for (const State& state : plan.states)
    states.add({state.name, std::string(name(state.role)), str(Type{state.dtype, state.shape}),
                std::to_string(state.segments.size())});
  TextTable kernels({"kernel", "range", "grain", "splits"});
  for (const KernelCode& k : plan.kernels)
    kernels.add({k.name, k.range.str(), std::to_string(k.grain), std::to_string(k.splits)});
  return entries.text() + "\n" + states.text() + "\n" + kernels.text();
}

std::string emit_code(const CodeGenerator& generator, const Program& program) {
  std::vector<ListedKernel> named = listed_kernels(program);
  std::erase_if(named, [](const ListedKernel& listed) { return listed.kernel->name.empty(); });
  return generator.listing(named);
}

}  // namespace

bool from_matching(const Step& step, const std::string& filter) {
  return llvm::any_of(step.sources, [&](const std::string& source) { return contains(source, filter); });
}

void check_level(const DumpLevel& level, const Target& target) {
  const bool graph = level.emit == "graph" || level.emit == "fused";
  if (level.format != "text" && level.format != "json" && level.format != "dot")
    fail("there is no format '{}': expected text, json or dot", level.format);
  if (level.format == "dot" && !graph) fail("--format=dot draws graphs: give --emit=graph or --emit=fused");
  if (level.format == "json" && find_code_generator(level.emit))
    fail("--emit={} is text; leave --format out", level.emit);
  if (level.emit == "llvm" && code_generator(target).level() != level.emit)
    fail("--emit=llvm shows a CPU's code: leave --target out, or give --emit=cuda");
}

std::string plan_text(const DumpLevel& level, const Plan& plan) {
  if (level.format == "json") return write_manifest(plan).json.dump(1) + "\n";
  std::string text = fmt::format("target {}\n{}\n\n", plan.target, planned_memory_text(plan));
  for (const Symbols::Bound& bound : plan.symbols.bounds()) text += str(bound) + "\n";
  return text + "\n" + choices_text(plan) + plan_tables(plan);
}

/// Returns a text about the matmuls that chunk_rows split.
std::string chunks_text(const Compilation& compilation, const std::string& filter) {
  std::string text;
  for (const std::string& chunk : compilation.chunks)
    if (contains(chunk, filter)) text += "in chunks: " + chunk + "\n";
  return text.empty() ? text : text + "\n";
}

std::string explanation(const Compilation& compilation, const std::string& filter) {
  std::vector<std::string> copies;
  for (const std::string& copy : compilation.layout_copies)
    if (contains(copy, filter)) copies.push_back("copy: " + without_layers(copy));
  return chunks_text(compilation, filter) + refusals_text(compilation.fusions, filter) +
         explain_fusion(compilation.fusions, filter) + "\n" + counted_lines(copies);
}

std::string emit_level(const DumpLevel& level, Compilation& compilation) {
  if (level.emit == "graph") return emit_module(level, *compilation.graph);
  if (level.emit == "fused") return emit_module(level, *compilation.fused);
  if (level.emit == "plan") return plan_text(level, compilation.plan);
  if (!level.filter.empty()) keep_matching(compilation.program, level.filter);
  if (level.emit == "program") return emit_program(level, compilation.program);
  if (level.emit == "kernels") return emit_kernels(level, compilation.program);
  if (const CodeGenerator* generator = find_code_generator(level.emit))
    return emit_code(*generator, compilation.program);
  fail("there is no level '{}': expected graph, fused, program, kernels, llvm, cuda or plan", level.emit);
}

}  // namespace smelt::cli
