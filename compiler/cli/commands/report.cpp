// smelt report: a page about what the compiler made of a model, or about a training run.
#include <fmt/ranges.h>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/plan_source.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/output_path.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/report/report_data.h"
#include "compiler/report/report_page.h"
#include "compiler/report/run_data.h"
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

void write_page(const std::string& path, const std::string& page) {
  write_file(path, page);
  fmt::print("wrote {}, {}\n", path, bytes_text(static_cast<int64_t>(page.size())));
}

/// Writes the page of a run. Throws Error for options that are about a plan.
void report_of_run(const ReportCommand& options, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && !option->get_lnames().empty() && option->get_lnames()[0] != "output")
      fail("{} is the directory of a run, about whose metrics --{} says nothing: leave it out", options.model,
           option->get_lnames()[0]);
  write_page(options.output, run_page(run_data(options.model, command_text(options)),
                                      fmt::format("Training run {}", options.model)));
}

void report_of_plan(const ReportCommand& options) {
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
  write_page(options.output,
             report_page(report_data(plan, report), fmt::format("{} for {}", plan.model, plan.target)));
}

}  // namespace

void add_report(CLI::App& app) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Write a page about a plan: its steps, graph, memory, code, and what was not fused and why; or about a "
      "training run: loss, rates, speed, memory, samples");
  command
      ->add_option("model", options->model,
                   "model directory, GGUF file, spec (.json), graph (.ir), plan, or the directory of a run")
      ->required();
  command->add_option("-o,--output", options->output, "file to write (.html)")->required();
  command->add_option("--profile", options->profile,
                      "times measured by smelt bench --profile --trace FILE; default: estimates");
  command->add_option("--against", options->against, "another plan or model: section 8 says what differs");
  options->flags.add_all_to(*command);
  options->adapters.add_to(*command);
  options->adapters.add_new(*command);
  command->callback([options, command] {
    if (is_run_directory(options->model))
      report_of_run(*options, *command);
    else
      report_of_plan(*options);
  });
}

}  // namespace smelt::cli
