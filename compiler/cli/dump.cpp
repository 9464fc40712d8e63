// smelt dump: every level of the compiler, for people and programs to read.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "codegen/code_listing.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/make_plan.h"
#include "compiler/cli/adapters.h"
#include "compiler/cli/choice_text.h"
#include "compiler/cli/command.h"
#include "compiler/cli/compile_flags.h"
#include "compiler/cli/dump_files.h"
#include "compiler/cli/explain_fusion.h"
#include "compiler/cli/model.h"
#include "compiler/cli/schedule_text.h"
#include "compiler/cli/search/collective_summary.h"
#include "compiler/cli/search/search_flags.h"
#include "compiler/cli/step_text.h"
#include "compiler/cli/summary_tables.h"
#include "compiler/cli/text_table.h"
#include "compiler/step_cost.h"
#include "ir/text/dot.h"
#include "ir/text/json.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/error.h"
#include "runtime/plan/plan_manifest.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct DumpCommand {
  std::string model, emit, format = "text", filter, output;
  std::vector<std::string> entries;
  bool summary = false, explain = false, explain_sharding = false, memory_curve = false;
  CompileFlags flags;
  SearchFlags search;
  AdapterFlags adapter;
  ScheduleFlags schedule;
};

bool contains(std::string_view text, const std::string& part) {
  return text.find(part) != std::string_view::npos;
}

bool matches(const Step& step, const std::string& filter) {
  return llvm::any_of(step.sources, [&](const std::string& source) { return contains(source, filter); });
}

/// Steps from sources that match, and the kernels that these run.
void keep_matching(Program& program, const std::string& filter) {
  std::vector<bool> used(program.kernels.size());
  for (PlanEntry& entry : program.entries) {
    llvm::erase_if(entry.steps, [&](const Step& step) { return !matches(step, filter); });
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

std::string emit_module(const DumpCommand& options, const Module& module) {
  if (options.format == "json") return json(module) + "\n";
  if (options.format == "dot") return all_dots(module, options.filter);
  return options.filter.empty() ? print(module) : filtered_graphs(module, options.filter);
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

std::string emit_program(const DumpCommand& options, const Program& program) {
  if (options.format == "json") return program_json(program);
  return options.filter.empty() ? print(program) : filtered_program(program);
}

std::string emit_kernels(const DumpCommand& options, const Program& program) {
  Json list = Json::array();
  std::string text;
  for (const Kernel* kernel : named_kernels(program)) {
    text += print(*kernel) + "\n";
    list.push_back({{"name", kernel->name}, {"text", print(*kernel)}});
  }
  return options.format == "json" ? list.dump(1) + "\n" : text;
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

std::string emit_plan(const DumpCommand& options, const Plan& plan) {
  if (options.format == "json") return write_manifest(plan).json.dump(1) + "\n";
  std::string text = fmt::format("target {}\n{}\n\n", plan.target, planned_memory_text(plan));
  for (const Symbols::Bound& bound : plan.symbols.bounds())
    text += fmt::format("{} <= {}\n", fmt::join(bound.factors, "*"), bound.upper);
  return text + "\n" + choices_text(plan) + plan_tables(plan);
}

// ---- --summary and --explain-fusion

std::string steps_table(const DumpCommand& options, const Program& program) {
  TextTable table({"entry", "step", "phase", "bytes", "flop", "bound by", "sources"});
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps) {
      if (!options.filter.empty() && !matches(step, options.filter)) continue;
      const StepCost cost = step_cost(program, step);
      table.add({entry.name, step_name(program, step) + alternative_text(entry, step), step.phase,
                 count_text(cost.bytes), fmt::format("{:.3g}", cost.flops),
                 cost.memory_bound() ? "memory" : "arithmetic", step_sources(step, 60)});
    }
  return table.text();
}

/// What chunk_rows did.
std::string chunks_text(const DumpCommand& options, const Compilation& compilation) {
  std::string text;
  for (const std::string& chunk : compilation.chunks)
    if (contains(chunk, options.filter)) text += "in chunks: " + chunk + "\n";
  return text.empty() ? text : text + "\n";
}

std::string ranks_text(const DumpCommand& options, const Compilation& compilation) {
  const Program& program = compilation.program;
  CompileOptions compile;
  compile.target = options.flags.target;
  return collectives_text(program, machine_rates(resolved_target(compile), compile.device,
                                                 program.mesh.ranks(), cache_directory()));
}

std::string summary(const DumpCommand& options, const Compilation& compilation) {
  const std::string schedule = schedule_text(options.flags, options.schedule);
  return schedule + (schedule.empty() ? "" : "\n") + summary_tables(compilation) +
         ranks_text(options, compilation) + chunks_text(options, compilation) +
         steps_table(options, compilation.program);
}

std::string explanation(const DumpCommand& options, const Compilation& compilation) {
  std::vector<std::string> copies;
  for (const std::string& copy : compilation.layout_copies)
    if (contains(copy, options.filter)) copies.push_back("copy: " + without_layers(copy));
  return chunks_text(options, compilation) + refusals_text(compilation.fusions, options.filter) +
         explain_fusion(compilation.fusions, options.filter) + "\n" + counted_lines(copies);
}

/// The lines that contain `part`.
std::string lines_with(const std::string& text, const std::string& part) {
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (contains(line, part)) kept += line + "\n";
    begin = end + 1;
  }
  return kept;
}

std::string emit_cuda_text(const Program& program) {
  std::string text;
  const auto sources = sources_of_kernels(program);
  for (size_t i = 0; i < program.kernels.size(); ++i)
    if (!program.kernels[i].name.empty()) text += emit_cuda(program.kernels[i], sources[i]) + "\n";
  return text;
}

/// Schedules are final when the code has been compiled: lighter ones are chosen then.
bool shows_final_kernels(const DumpCommand& options) {
  const bool kernels = options.emit == "kernels" || options.emit == "cuda" || !options.flags.dump_dir.empty();
  if (!kernels || !resolved_target(options.flags.options()).is_cuda()) return false;
  if (!nvrtc_info().available)
    fmt::print(stderr, "note: schedules as they are before NVRTC has seen the code: {}\n",
               nvrtc_info().problem);
  return nvrtc_info().available;
}

Stage stage_of(const DumpCommand& options) {
  if (options.emit == "plan" || shows_final_kernels(options)) return Stage::plan;
  if (options.summary || !options.flags.dump_dir.empty()) return Stage::program;
  if (options.emit == "graph" && !options.explain && !options.explain_sharding && !options.memory_curve)
    return Stage::graph;
  const bool ends_with_graphs = options.emit.empty() && !options.explain;
  return options.emit == "fused" || options.emit == "graph" || ends_with_graphs ? Stage::fused
                                                                                : Stage::program;
}

std::string emit(const DumpCommand& options, Compilation& compilation) {
  if (options.emit == "graph") return emit_module(options, *compilation.graph);
  if (options.emit == "fused") return emit_module(options, *compilation.fused);
  if (options.emit == "plan") return emit_plan(options, compilation.plan);
  if (!options.filter.empty()) keep_matching(compilation.program, options.filter);
  if (options.emit == "program") return emit_program(options, compilation.program);
  if (options.emit == "kernels") return emit_kernels(options, compilation.program);
  if (options.emit == "llvm") return llvm_listing(named_kernels(compilation.program));
  if (options.emit == "cuda") return emit_cuda_text(compilation.program);
  return {};
}

void check(DumpCommand& options) {
  if (options.emit.empty() && !options.summary && !options.explain && !options.explain_sharding &&
      !options.memory_curve)
    options.emit = "fused";
  if (options.explain_sharding && options.flags.mesh.empty())
    fail("--explain-sharding: expected the ranks to explain it for, such as --mesh data=2");
  if (options.emit == "schedule" && schedule_text(options.flags, options.schedule).empty())
    fail("--emit=schedule shows that of a pipeline: give its stages, such as --mesh stage=2");
  const bool graph = options.emit == "graph" || options.emit == "fused";
  if (options.format == "dot" && !graph) fail("--format=dot draws graphs: give --emit=graph or --emit=fused");
  for (const char* text : {"llvm", "cuda"})
    if (options.format == "json" && options.emit == text) fail("--emit={} is text; leave --format out", text);
  CompileOptions target;
  target.target = options.flags.target;
  if (options.emit == "llvm" && resolved_target(target).is_cuda())
    fail("--emit=llvm shows a CPU's code: leave --target out, or give --emit=cuda");
  if (options.emit == "cuda" && !resolved_target(target).is_cuda()) options.flags.target = "sm_90";
}

void write_text(const DumpCommand& options, const std::string& text) {
  if (options.output.empty())
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file(options.output, text);
}

void run_dump(DumpCommand options) {
  if (!options.search.is_on) check(options);
  if (options.emit == "schedule") return write_text(options, schedule_text(options.flags, options.schedule));
  CompileOptions compile_options = options.flags.options();
  compile_options.entries = options.entries;
  if (options.search.is_on)
    return print_search({read_description(model_path(options.model)), compile_options}, options.search.ranks);
  compile_options.explain_fusion = options.explain;
  compile_options.explain_sharding = options.explain_sharding;
  compile_options.memory_curve = options.memory_curve;
  const Description description = read_description(model_path(options.model));
  if (const auto adapter = adapter_of(options.adapter, &description))
    compile_options.build.lora = adapter->config;
  Compilation compilation = compile(description, compile_options, stage_of(options));
  if (options.flags.timing) print_timing(compilation);
  if (!options.flags.dump_dir.empty()) write_dump_files(compilation, options.flags.dump_dir);
  std::string text;
  if (options.memory_curve) text += curve_text(compilation, compile_options.memory_budget);
  if (options.summary) text += summary(options, compilation);
  if (options.explain) text += explanation(options, compilation);
  if (options.explain_sharding) text += lines_with(compilation.shardings, options.filter);
  write_text(options, text + emit(options, compilation));
}

}  // namespace

void add_dump(CLI::App& app) {
  auto options = std::make_shared<DumpCommand>();
  CLI::App* command =
      app.add_subcommand("dump", "Show what the compiler makes of a description, at any level");
  command->add_option("model", options->model, "model directory, spec (.json) or graph (.ir)")->required();
  command->add_option("--emit", options->emit, "level to print; default: fused")
      ->check(CLI::IsMember({"graph", "fused", "program", "kernels", "llvm", "cuda", "plan", "schedule"}));
  command->add_option("--format", options->format, "dot draws graphs")
      ->check(CLI::IsMember({"text", "json", "dot"}))
      ->capture_default_str();
  command->add_flag("--summary", options->summary,
                    "launches, bytes moved and memory, before and after fusion");
  command->add_flag("--explain-fusion", options->explain,
                    "every kernel: what is in it, and why its neighbours are not");
  command->add_flag("--explain-sharding", options->explain_sharding,
                    "how the ranks of --mesh share each value and why, and what they do together");
  command->add_flag("--memory-curve", options->memory_curve,
                    "what training takes in memory and predicted time for each --recompute");
  command->add_option("--filter", options->filter, "only what comes from sources whose name contains this");
  command->add_option("--entry", options->entries, "only these entries")->delimiter(',');
  command->add_option("-o,--output", options->output, "file to write instead of standard output");
  options->flags.add_to(*command);
  options->flags.add_mesh(*command);
  options->flags.add_stage(*command);
  options->schedule.add_to(*command);
  options->flags.add_mode(*command);
  options->flags.memory.add_to(*command);
  options->adapter.add_to(*command);
  options->adapter.add_new(*command);
  options->search.add_simulated(*command);
  on_call(command, options, run_dump);
}

}  // namespace smelt::cli
