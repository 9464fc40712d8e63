#include "compiler/cli/commands/plan_source.h"

#include <algorithm>
#include <filesystem>

#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/model.h"
#include "runtime/plan/plan_file.h"

namespace smelt::cli {
namespace {

bool is_plan_path(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(path) && (path.extension() == ".plan" || is_plan_file(path));
}

ReportedPlan compiled(const std::string& path, const CompileFlags& flags, const AdapterFlags& adapters) {
  CompileOptions options = flags.options();
  options.explain_fusion = true;
  const Description description = read_description(model_path(path));
  follow_weights(options, description);
  if (const auto adapter = adapter_of(adapters, &description)) options.build.lora = adapter->config;
  return reported(compile(description, options, Stage::program), options, path);
}

/// Loads a plan, of which it keeps the entries that the flags name.
ReportedPlan loaded(const std::string& path, const CompileFlags& flags, bool is_alone) {
  const std::shared_ptr<const Plan> file = load_plan(path);
  if (is_alone) flags.refuse_for_plan(path, file->target, {"entry", "no-plan-cache"});
  ReportedPlan plan = reported(*file, path);
  const std::vector<std::string>& entries = flags.values.entries;
  if (!entries.empty()) keep_entries(plan, entries);
  return plan;
}

}  // namespace

std::vector<ReportedPlan> read_reported_plans(const std::vector<std::string>& paths,
                                              const CompileFlags& flags, const AdapterFlags& adapters) {
  const bool are_plans = std::ranges::all_of(paths, is_plan_path);
  if (are_plans) adapter_of(adapters, nullptr);
  std::vector<ReportedPlan> plans;
  for (const std::string& path : paths)
    plans.push_back(is_plan_path(path) ? loaded(path, flags, are_plans) : compiled(path, flags, adapters));
  return plans;
}

}  // namespace smelt::cli
