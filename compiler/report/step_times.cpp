#include "compiler/report/step_times.h"

#include "compiler/cli/shared/program_text.h"
#include "compiler/report/plan_diff.h"
#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

const PlanEntry& measured_entry(const Program& program, const std::string& name, const std::string& file) {
  const PlanEntry* entry = find_entry(program, name);
  if (entry == nullptr)
    fail("{}: it was measured of an entry @{}, which this plan does not have", file, name);
  return *entry;
}

/// One event of the trace: its step, and seconds.
void add_event(const Program& program, const Json& event, const std::string& file, StepTimes& times) {
  const Json& about = event.at("args");
  if (!about.contains("step") || !about.contains("entry"))
    fail("{}: its events do not say of which step they are; make it with smelt bench --profile --trace",
         file);
  const PlanEntry& entry = measured_entry(program, about.at("entry").get<std::string>(), file);
  const int64_t number = about.at("step").get<int64_t>();
  if (number < 0 || number >= static_cast<int64_t>(entry.steps.size()))
    fail("{}: step {} of @{}, which has {} steps here; give the plan, bounds and options that were measured",
         file, number, entry.name, entry.steps.size());
  const std::string name = cli::step_name(program, entry.steps[static_cast<size_t>(number)]);
  if (const auto measured = event.at("name").get<std::string>(); measured != name)
    fail("{}: step {} of @{} was {}, and is {} here; give the plan, bounds and options that were measured",
         file, number, entry.name, measured, name);
  times[{entry.name, static_cast<int>(number)}] = event.at("dur").get<double>() / 1e6;
}

}  // namespace

StepTimes read_step_times(const Program& program, const std::string& text, const std::string& file) {
  StepTimes times;
  try {
    const Json trace = Json::parse(text);
    for (const Json& event : trace.at("traceEvents")) add_event(program, event, file, times);
  } catch (const Json::exception& problem) {
    fail("{}: expected trace events of smelt bench --profile --trace: {}", file, problem.what());
  }
  if (times.empty()) fail("{}: there are no events in it", file);
  return times;
}

}  // namespace smelt
