// smelt report: what the compiler made of a model, as a page to look at.
#include <fmt/ranges.h>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/plan_source.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/output_path.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/report/report_data.h"
#include "compiler/report/report_page.h"
#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct ReportCommand {
  std::string model, profile, against, output;
  CompileFlags flags;
  AdapterFlags adapters;
};

/// Returns a command line that can be typed again, without the options of compilation.
std::string command_text(const ReportCommand& options) {
  std::string text = "smelt report " + options.model;
  for (const char* option : {"entry", "max"})
    if (const std::string value = options.flags.text(option); !value.empty())
      text += fmt::format(" --{} {}", option, value);
  for (const auto& [option, value] : {std::pair("profile", &options.profile), {"against", &options.against}})
    if (!value->empty()) text += fmt::format(" --{} {}", option, *value);
  return text + " -o " + options.output;
}

void run_report(const ReportCommand& options) {
  require_other_output(options.output, {options.model, options.profile, options.against});
  std::vector<std::string> paths = {options.model};
  if (!options.against.empty()) paths.push_back(options.against);
  std::vector<ReportedPlan> plans = read_reported_plans(paths, options.flags, options.adapters);
  ReportedPlan& plan = plans.front();
  add_codes(plan);
  ReportOptions report{.command = command_text(options), .times = {}};
  if (!options.profile.empty())
    report.times = read_step_times(plan.program, read_text_file(options.profile), options.profile);
  if (plans.size() > 1) report.against = &plans.back();
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
  command->add_option("--profile", options->profile,
                      "times measured by smelt bench --profile --trace FILE; default: estimates");
  command->add_option("--against", options->against, "another plan or model: section 8 says what differs");
  options->flags.add_all_to(*command);
  options->adapters.add_to(*command);
  options->adapters.add_new(*command);
  on_call(command, options, run_report);
}

}  // namespace smelt::cli
