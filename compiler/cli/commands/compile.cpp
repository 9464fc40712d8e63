// smelt compile: a description becomes a plan file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/dump_files.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/output_path.h"
#include "compiler/cli/shared/program_text.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/driver/pass_pipeline.h"
#include "compiler/driver/plan_cache.h"
#include "runtime/plan/plan_file.h"

namespace smelt::cli {
namespace {

struct CompileCommand {
  std::string model, output;
  CompileFlags flags;
  bool print_pipeline = false;
};

/// Prints the result of memory planning. A plan from the cache has none.
void print_memory(const Compilation& compilation) {
  if (compilation.memory.empty())
    return fmt::print("taken from the plan cache (--no-plan-cache compiles it)\n");
  TextTable table({"entry", "arena", "without reuse", "lower bound", "steps"});
  for (const MemoryReport& report : compilation.memory) {
    const PlanEntry* entry = compilation.plan.find_entry(report.entry);
    table.add({report.entry, bytes_text(report.arena), bytes_text(report.without_reuse),
               bytes_text(report.lower_bound), entry ? std::to_string(entry->steps.size()) : "-"});
  }
  fmt::print("{}\n", table.text());
  TextTable roles({"entry", "role", "bytes"});
  for (const MemoryReport& report : compilation.memory)
    for (const auto& [role, bytes] : report.by_role)
      if (bytes > 0) roles.add({report.entry, std::string(name(role)), count_text(bytes)});
  fmt::print("{}\n", roles.text());
}

/// Machine code of all kernels, linked or apart.
int64_t code_bytes(const Plan& plan) {
  size_t bytes = plan.binary.size();
  for (const KernelCode& kernel : plan.kernels) bytes += kernel.binary.size();
  return static_cast<int64_t>(bytes);
}

/// A graph may be compiled as it is, but a user who wants to train it should know at once that it has no
/// loss.
void note_missing_loss(const Description& description, const Compilation& compilation,
                       const CompileOptions& options) {
  const bool graph = description.kind == Description::Kind::graph;
  if (graph && options.mode == Mode::train && !compilation.graph->find_graph(options.training.loss))
    fmt::print(stderr,
               "note: nothing is made for training, which needs a graph @{} (docs/guides/models.md); the "
               "entries are {}\n",
               options.training.loss, names_of_entries(compilation.plan));
}

void run_compile(const CompileCommand& options) {
  require_place_for_plan(options.output);
  CompileOptions compile_options = options.flags.options();
  const Description description = read_description(model_path(options.model));
  follow_weights(compile_options, description);
  if (options.print_pipeline) return fmt::print("{}", pipeline_text(description, compile_options));
  const Compilation compilation =
      compile_or_recall(description, compile_options, description.build(build_options(compile_options)));
  if (compile_options.timing) print_timing(compilation);
  if (!compile_options.dump_dir.empty()) write_dump_files(compilation, compile_options.dump_dir);
  fmt::print("{}", curve_text(compilation, compile_options.memory_budget));
  print_memory(compilation);
  note_missing_loss(description, compilation, compile_options);
  double seconds = 0;
  for (const auto& phase : compilation.seconds) seconds += phase.second;
  fmt::print("{}\n{} kernels, {} of machine code for {}, in {}\n", planned_memory_text(compilation.plan),
             compilation.plan.kernels.size(), bytes_text(code_bytes(compilation.plan)),
             compilation.plan.target, seconds_text(seconds));
  if (options.output.empty()) return;
  save_plan(compilation.plan, options.output);
  fmt::print("wrote {}\n", options.output);
}

}  // namespace

void add_compile(CLI::App& app) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "Compile a description into a plan");
  command->add_option("model", options->model, "model directory, GGUF file, spec (.json) or graph (.ir)")
      ->required();
  command->add_option("-o,--output", options->output, "plan file to write");
  command->add_flag("--print-pipeline", options->print_pipeline,
                    "print the passes and their options, and stop");
  options->flags.add_all_to(*command);
  on_call(command, options, run_compile);
}

}  // namespace smelt::cli
