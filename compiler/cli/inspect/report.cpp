// smelt report: what the compiler made of a model, as a page to look at.
#include <fmt/ranges.h>

#include "compiler/cli/command.h"
#include "compiler/cli/compile_flags.h"
#include "compiler/cli/inspect/plan_source.h"
#include "compiler/cli/text_table.h"
#include "compiler/report/report_data.h"
#include "compiler/report/report_page.h"
#include "runtime/error.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct ReportCommand {
  std::string model, profile, against, output;
  std::vector<std::string> entries;
  CompileFlags flags;
  AdapterFlags adapters;
};

/// As it may be typed again, but for the options of compilation.
std::string command_text(const ReportCommand& options) {
  std::string text = "smelt report " + options.model;
  if (!options.entries.empty()) text += fmt::format(" --entry {}", fmt::join(options.entries, ","));
  if (!options.flags.bounds.empty()) text += fmt::format(" --max {}", fmt::join(options.flags.bounds, ","));
  for (const auto& [option, value] : {std::pair("profile", &options.profile), {"against", &options.against}})
    if (!value->empty()) text += fmt::format(" --{} {}", option, *value);
  return text + " -o " + options.output;
}

void run_report(const ReportCommand& options) {
  ReportedPlan plan = read_reported_plan(options.model, options.flags, options.adapters, options.entries);
  add_codes(plan);
  ReportOptions report{.command = command_text(options), .times = {}};
  if (!options.profile.empty())
    report.times = read_step_times(plan.program, read_text_file(options.profile), options.profile);
  ReportedPlan against;
  if (!options.against.empty()) {
    against = read_reported_plan(options.against, options.flags, options.adapters, options.entries);
    report.against = &against;
  }
  const std::string page =
      report_page(report_data(plan, report), fmt::format("{} for {}", plan.model, plan.target));
  write_file(options.output, page);
  fmt::print("wrote {}, {}\n", options.output, bytes_text(static_cast<int64_t>(page.size())));
}

}  // namespace

void add_report(CLI::App& app) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report", "Write a page about a plan: its steps, graph, memory, code, and what was not fused and why");
  command->add_option("model", options->model, "model directory, spec (.json), graph (.ir) or plan")
      ->required();
  command->add_option("-o,--output", options->output, "file to write (.html)")->required();
  command->add_option("--entry", options->entries, "only these entries")->delimiter(',');
  command->add_option("--profile", options->profile,
                      "times measured by smelt bench --profile --trace FILE; default: estimates");
  command->add_option("--against", options->against, "another plan or model: section 8 says what differs");
  options->flags.add_to(*command);
  options->flags.add_mesh(*command);
  options->flags.add_stage(*command);
  options->flags.add_mode(*command);
  options->flags.memory.add_to(*command);
  options->adapters.add_to(*command);
  options->adapters.add_new(*command);
  on_call(command, options, run_report);
}

}  // namespace smelt::cli
