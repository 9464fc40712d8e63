// smelt dump: every level of the compiler, as text for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "codegen/code_generator.h"
#include "compiler/cli/command.h"
#include "compiler/cli/commands/dump_files.h"
#include "compiler/cli/commands/dump_levels.h"
#include "compiler/cli/shared/adapters.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/schedule_text.h"
#include "compiler/cli/shared/search_flags.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/step_cost.h"
#include "runtime/base/error.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct DumpCommand {
  std::string model, output;
  DumpLevel level = {.emit = ""};
  bool summary = false, explain = false, explain_sharding = false, memory_curve = false;
  CompileFlags flags;
  SearchFlags search;
  AdapterFlags adapter;
  ScheduleFlags schedule;
};

// ---- --summary and --explain-fusion

std::string steps_table(const DumpCommand& options, const Program& program) {
  TextTable table({"entry", "step", "phase", "bytes", "flop", "bound by", "sources"});
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps) {
      if (!options.level.filter.empty() && !from_matching(step, options.level.filter)) continue;
      const StepCost cost = step_cost(program, step);
      table.add({entry.name, step_name(program, step) + alternative_text(entry, step), step.phase,
                 count_text(cost.bytes), fmt::format("{:.3g}", cost.flops),
                 cost.memory_bound() ? "memory" : "arithmetic", step_sources(step, 60)});
    }
  return table.text();
}

std::string ranks_text(const DumpCommand& options, const Compilation& compilation) {
  const Program& program = compilation.program;
  CompileOptions compile;
  compile.target = options.flags.values.target;
  return collectives_text(program, machine_rates(resolved_target(compile), compile.device,
                                                 program.mesh.ranks(), cache_directory()));
}

std::string summary(const DumpCommand& options, const Compilation& compilation) {
  const std::string schedule = schedule_text(options.flags, options.schedule);
  return schedule + (schedule.empty() ? "" : "\n") + summary_tables(compilation) +
         ranks_text(options, compilation) + chunks_text(compilation, options.level.filter) +
         steps_table(options, compilation.program);
}

/// The lines that contain `part`.
std::string lines_with(const std::string& text, const std::string& part) {
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (line.find(part) != std::string::npos) kept += line + "\n";
    begin = end + 1;
  }
  return kept;
}

/// Schedules are final when the code has been compiled: lighter ones are chosen then.
bool shows_final_kernels(const DumpCommand& options) {
  const bool kernels = options.level.emit == "kernels" || options.level.emit == "cuda" ||
                       !options.flags.values.dump_dir.empty();
  if (!kernels) return false;
  const CodeGenerator& generator = code_generator(resolved_target(options.flags.options()));
  if (!generator.revises_schedules()) return false;
  if (generator.version().empty())
    fmt::print(stderr, "note: schedules as they are before machine code is made: {}\n", generator.problem());
  return !generator.version().empty();
}

Stage stage_of(const DumpCommand& options) {
  if (options.level.emit == "plan" || shows_final_kernels(options)) return Stage::plan;
  if (options.summary || !options.flags.values.dump_dir.empty()) return Stage::program;
  if (options.level.emit == "graph" && !options.explain && !options.explain_sharding && !options.memory_curve)
    return Stage::graph;
  const bool ends_with_graphs = options.level.emit.empty() && !options.explain;
  return options.level.emit == "fused" || options.level.emit == "graph" || ends_with_graphs ? Stage::fused
                                                                                            : Stage::program;
}

void check(DumpCommand& options) {
  if (options.level.emit.empty() && !options.summary && !options.explain && !options.explain_sharding &&
      !options.memory_curve)
    options.level.emit = "fused";
  if (options.explain_sharding && options.flags.values.mesh.empty())
    fail("--explain-sharding: expected the ranks to explain it for, such as --mesh data=2");
  if (options.level.emit == "schedule" && schedule_text(options.flags, options.schedule).empty())
    fail("--emit=schedule shows that of a pipeline: give its stages, such as --mesh stage=2");
  CompileOptions target;
  target.target = options.flags.values.target;
  const Target resolved = resolved_target(target);
  check_level(options.level, resolved);
  if (options.level.emit == "cuda" && code_generator(resolved).level() != "cuda")
    options.flags.values.target = "sm_90";
}

void write_text(const DumpCommand& options, const std::string& text) {
  if (options.output.empty())
    std::fwrite(text.data(), 1, text.size(), stdout);
  else
    write_file(options.output, text);
}

void run_dump(DumpCommand options) {
  if (!options.search.is_on) check(options);
  if (options.level.emit == "schedule")
    return write_text(options, schedule_text(options.flags, options.schedule));
  CompileOptions compile_options = options.flags.options();
  compile_options.training.optimizer.keep_gradients = false;  // as training does
  if (options.search.is_on)
    return print_search({read_description(model_path(options.model)), compile_options}, options.search.ranks);
  compile_options.explain_fusion = options.explain;
  compile_options.explain_sharding = options.explain_sharding;
  compile_options.memory_curve = options.memory_curve;
  const Description description = read_description(model_path(options.model));
  follow_weights(compile_options, description);
  if (const auto adapter = adapter_of(options.adapter, &description))
    compile_options.build.lora = adapter->config;
  Compilation compilation = compile(description, compile_options, stage_of(options));
  if (options.flags.values.timing) print_timing(compilation);
  if (!options.flags.values.dump_dir.empty()) write_dump_files(compilation, options.flags.values.dump_dir);
  std::string text;
  if (options.memory_curve) text += curve_text(compilation, compile_options.memory_budget);
  if (options.summary) text += summary(options, compilation);
  if (options.explain) text += explanation(compilation, options.level.filter);
  if (options.explain_sharding) text += lines_with(compilation.shardings, options.level.filter);
  if (!options.level.emit.empty()) text += emit_level(options.level, compilation);
  write_text(options, text);
}

}  // namespace

void add_dump(CLI::App& app) {
  auto options = std::make_shared<DumpCommand>();
  CLI::App* command =
      app.add_subcommand("dump", "Show what the compiler makes of a description, at any level");
  command->add_option("model", options->model, "model directory, GGUF file, spec (.json) or graph (.ir)")
      ->required();
  command->add_option("--emit", options->level.emit, "level to print; default: fused")
      ->check(CLI::IsMember({"graph", "fused", "program", "kernels", "llvm", "cuda", "plan", "schedule"}));
  command->add_option("--format", options->level.format, "dot draws graphs")
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
  command->add_option("--filter", options->level.filter,
                      "only what comes from sources whose name contains this");
  command->add_option("-o,--output", options->output, "file to write instead of standard output");
  options->flags.add_all_to(*command);
  options->schedule.add_to(*command);
  options->adapter.add_to(*command);
  options->adapter.add_new(*command);
  options->search.add_simulated(*command);
  on_call(command, options, run_dump);
}

}  // namespace smelt::cli
