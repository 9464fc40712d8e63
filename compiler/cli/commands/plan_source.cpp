#include "compiler/cli/commands/plan_source.h"

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
  if (const auto adapter = adapter_of(adapters, &description)) options.build.lora = adapter->config;
  return reported(compile(description, options, Stage::program), options, path);
}

}  // namespace

ReportedPlan read_reported_plan(const std::string& path, const CompileFlags& flags,
                                const AdapterFlags& adapters) {
  if (!is_plan_path(path)) return compiled(path, flags, adapters);
  ReportedPlan plan = reported(*load_plan(path), path);
  const std::vector<std::string>& entries = flags.values.entries;
  if (!entries.empty()) keep_entries(plan, entries);
  return plan;
}

}  // namespace smelt::cli
