// The options of trainer.h as JSON, and their ranges.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr double kMostEpochs = 1e6;
constexpr int64_t kMostMicroSteps = 65535;  // random numbers count them in 16 bits

// One row a field: its name in JSON (as on the command line, with _ for -) and where it lives.
constexpr auto kFields = std::tuple{
    std::pair{"run_directory", &TrainerOptions::run_directory},
    std::pair{"steps", &TrainerOptions::steps},
    std::pair{"epochs", &TrainerOptions::epochs},
    std::pair{"batch", &TrainerOptions::batch},
    std::pair{"length", &TrainerOptions::length},
    std::pair{"pack", &TrainerOptions::pack},
    std::pair{"document_end", &TrainerOptions::document_end},
    std::pair{"learning_rate", &TrainerOptions::learning_rate},
    std::pair{"min_learning_rate", &TrainerOptions::min_learning_rate},
    std::pair{"schedule", &TrainerOptions::schedule},
    std::pair{"schedule_power", &TrainerOptions::schedule_power},
    std::pair{"schedule_cycles", &TrainerOptions::schedule_cycles},
    std::pair{"schedule_decay", &TrainerOptions::schedule_decay},
    std::pair{"warmup_steps", &TrainerOptions::warmup_steps},
    std::pair{"gradient_accumulation", &TrainerOptions::gradient_accumulation},
    std::pair{"pipeline_order", &TrainerOptions::pipeline_order},
    std::pair{"data_ranks", &TrainerOptions::data_ranks},
    std::pair{"data", &TrainerOptions::data},
    std::pair{"data_step", &TrainerOptions::data_step},
    std::pair{"data_epoch", &TrainerOptions::data_epoch},
    std::pair{"data_record", &TrainerOptions::data_record},
    std::pair{"eval_every", &TrainerOptions::eval_every},
    std::pair{"eval_batches", &TrainerOptions::eval_batches},
    std::pair{"metric", &TrainerOptions::metric},
    std::pair{"early_stopping", &TrainerOptions::early_stopping},
    std::pair{"on_spike", &TrainerOptions::on_spike},
    std::pair{"spike_factor", &TrainerOptions::spike_factor},
    std::pair{"sample_every", &TrainerOptions::sample_every},
    std::pair{"checkpoint_every", &TrainerOptions::checkpoint_every},
    std::pair{"keep_checkpoints", &TrainerOptions::keep_checkpoints},
    std::pair{"seed", &TrainerOptions::seed},
    std::pair{"resume", &TrainerOptions::resume},
    std::pair{"overfit_one_batch", &TrainerOptions::overfit_one_batch},
};

template <typename Visit>
void for_each_field(Visit visit) {
  std::apply([&](const auto&... row) { (visit(row.first, row.second), ...); }, kFields);
}

OrderedJson to_value(const std::filesystem::path& path) { return path.string(); }
OrderedJson to_value(ScheduleKind kind) { return name(kind); }
OrderedJson to_value(PipelineOrder order) { return name(order); }
OrderedJson to_value(SpikeAction action) { return name(action); }
OrderedJson to_value(const StepCount& count) {
  return count.share > 0 ? OrderedJson(to_text(count)) : OrderedJson(count.steps);
}
template <typename T>
OrderedJson to_value(const T& value) {
  return value;
}

// Each reads a value; if it does not fit, returns the expected kind of value.
const char* read_value(const OrderedJson& json, int64_t& value) {
  if (!json.is_number_integer()) return "a whole number";
  value = json.get<int64_t>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, double& value) {
  if (!json.is_number()) return "a number";
  value = json.get<double>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, bool& value) {
  if (!json.is_boolean()) return "true or false";
  value = json.get<bool>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, std::vector<int32_t>& value) {
  const auto is_id = [](const OrderedJson& id) { return id.is_number_integer(); };
  if (!json.is_array() || !std::ranges::all_of(json, is_id)) return "a list of whole numbers";
  value = json.get<std::vector<int32_t>>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, std::string& value) {
  if (!json.is_string()) return "a text";
  value = json.get<std::string>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, std::filesystem::path& value) {
  if (!json.is_string()) return "a path";
  value = json.get<std::string>();
  return nullptr;
}
const char* read_value(const OrderedJson& json, ScheduleKind& value) {
  const auto kind = json.is_string() ? parse_schedule(json.get<std::string>()) : std::nullopt;
  static const std::string expected = "one of " + schedule_names();
  if (!kind) return expected.c_str();
  value = *kind;
  return nullptr;
}
const char* read_value(const OrderedJson& json, SpikeAction& value) {
  const auto action = json.is_string() ? parse_spike_action(json.get<std::string>()) : std::nullopt;
  if (!action) return "ignore, stop or skip";
  value = *action;
  return nullptr;
}
const char* read_value(const OrderedJson& json, StepCount& value) {
  const auto count = parse_step_count(json.is_string() ? json.get<std::string>() : json.dump());
  if (!count) return "a number of steps, or a share such as \"10%\"";
  value = *count;
  return nullptr;
}

const char* read_value(const OrderedJson& json, PipelineOrder& value) {
  const auto order = json.is_string() ? parse_pipeline_order(json.get<std::string>()) : std::nullopt;
  if (!order) return "gpipe, 1f1b or interleaved";
  value = *order;
  return nullptr;
}

bool is_field(std::string_view name) {
  bool found = false;
  for_each_field([&](std::string_view field, auto) { found |= field == name; });
  return found;
}

[[noreturn]] void fail_with_all(std::string_view what, const std::vector<std::string>& problems) {
  fail("{}: {}", what, fmt::join(problems, "; "));
}

}  // namespace

std::string to_json(const TrainerOptions& options) {
  OrderedJson json = OrderedJson::object();
  for_each_field([&](const char* name, auto member) { json[name] = to_value(options.*member); });
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

void read_json(std::string_view text, TrainerOptions& options) {
  const OrderedJson json = parse_ordered_json(text, "training options");
  if (!json.is_object()) fail("training options: expected one JSON object");
  std::vector<std::string> problems;
  for (const auto& [key, value] : json.items())
    if (!is_field(key)) problems.push_back(fmt::format("'{}' is no option", key));
  for_each_field([&](const char* name, auto member) {
    if (!json.contains(name)) return;
    if (const char* expected = read_value(json[name], options.*member))
      problems.push_back(fmt::format("'{}' is {}, expected {}", name, json[name].dump(), expected));
  });
  if (!problems.empty()) fail_with_all("training options", problems);
}

LearningRate TrainerOptions::rate() const {
  return {schedule, learning_rate,  min_learning_rate, warmup_steps.of(steps),
          steps,    schedule_power, schedule_cycles,   schedule_decay.of(steps)};
}

void TrainerOptions::validate() const {
  struct Row {
    const char* name;
    int64_t value, least, most;
  };
  const int64_t any = int64_t{1} << 31;  // the step is a 32-bit counter of the random numbers
  const Row rows[] = {{"steps", steps, 1, any},
                      {"batch", batch, 1, any},
                      {"length", length, 2, any},
                      {"gradient_accumulation", gradient_accumulation, 1, kMostMicroSteps},
                      {"data_ranks", data_ranks, 1, kMostRanksOfMesh},
                      {"data_step", data_step, 0, any},
                      {"data_epoch", data_epoch, 0, INT64_MAX},
                      {"data_record", data_record, 0, INT64_MAX},
                      {"schedule_cycles", schedule_cycles, 1, any},
                      {"early_stopping", early_stopping, 0, any},
                      {"eval_every", eval_every, 0, any},
                      {"eval_batches", eval_batches, 1, any},
                      {"sample_every", sample_every, 0, any},
                      {"checkpoint_every", checkpoint_every, 0, any},
                      {"keep_checkpoints", keep_checkpoints, 0, any},
                      {"seed", seed, 0, (int64_t{1} << 32) - 1}};
  std::vector<std::string> problems;
  for (const Row& r : rows)
    if (r.value < r.least || r.value > r.most)
      problems.push_back(fmt::format("{} is {}, expected {} to {}", r.name, r.value, r.least, r.most));
  if (gradient_accumulation * data_ranks > kMostMicroSteps)
    problems.push_back(
        fmt::format("gradient_accumulation is {} on {} ranks, expected at most {} batches a step",
                    gradient_accumulation, data_ranks, kMostMicroSteps));
  if (!pack && !document_end.empty()) problems.push_back("document_end is of packed rows: expected pack");
  if (resume && run_directory.empty()) problems.push_back("resume needs a run directory");
  if (!(epochs >= 0 && epochs <= kMostEpochs))
    problems.push_back(fmt::format("epochs is {}, expected 0 to {}", epochs, kMostEpochs));
  if (!(spike_factor > 1 && std::isfinite(spike_factor)))
    problems.push_back(fmt::format("spike_factor is {}, expected a number above 1", spike_factor));
  if (keeps_best() && eval_every == 0)
    problems.push_back("early_stopping and metric compare evaluations: expected eval_every above 0");
  try {
    if (epochs == 0) rate().validate();  // otherwise the trainer checks it when it knows the steps
  } catch (const Error& error) {
    problems.push_back(error.what());
  }
  if (!problems.empty()) fail_with_all("training options", problems);
}

}  // namespace smelt
