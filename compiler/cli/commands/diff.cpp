// smelt diff: which steps of two plans differ.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/plan_source.h"
#include "compiler/report/plan_diff.h"

namespace smelt::cli {
namespace {

struct DiffCommand {
  std::string before, after;
  CompileFlags flags;
  AdapterFlags adapters;
};

void run_diff(const DiffCommand& options) {
  const std::vector<ReportedPlan> plans =
      read_reported_plans({options.before, options.after}, options.flags, options.adapters);
  fmt::print("{}", diff_text(plans[0], plans[1]));
}

}  // namespace

void add_diff(CLI::App& app) {
  auto options = std::make_shared<DiffCommand>();
  CLI::App* command = app.add_subcommand(
      "diff", "Show which steps of two plans differ, such as those of a pass that is left out");
  command
      ->add_option("before", options->before, "model directory, GGUF file, spec (.json), graph (.ir) or plan")
      ->required();
  command->add_option("after", options->after, "the other one; options of compilation are those of both")
      ->required();
  options->flags.add_all_to(*command);
  options->adapters.add_to(*command);
  options->adapters.add_new(*command);
  on_call(command, options, run_diff);
}

}  // namespace smelt::cli
