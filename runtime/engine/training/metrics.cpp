#include "runtime/engine/training/metrics.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "runtime/base/error.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Returns whether the lines of evaluations have a field of this name that is no metric.
bool is_own_field(std::string_view name) {
  constexpr std::array kFields = {"event", "step", "loss", "targets", "milliseconds"};
  return std::ranges::find(kFields, name) != kFields.end();
}

/// Returns the whole number of this name in an event; nothing if it has none.
std::optional<int64_t> integer(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number_integer() ? std::optional(found->get<int64_t>())
                                                            : std::nullopt;
}

void add_step(LossHistory& history, const Json& event) {
  history.train.emplace_back(integer(event, "step").value_or(0), event["loss"].get<double>());
  const auto norm = event.find("gradient_norm");
  history.gradient_norms.push_back(
      norm != event.end() && norm->is_number() ? std::optional(norm->get<double>()) : std::nullopt);
  history.tokens = integer(event, "tokens").value_or(history.tokens);
}

/// The numbers of an evaluation that are no fields of EvaluationRecord are its metrics.
void add_evaluation(LossHistory& history, const Json& event) {
  EvaluationRecord record{.step = integer(event, "step").value_or(0), .loss = event["loss"].get<double>()};
  for (const auto& [name, value] : event.items())
    if (value.is_number() && !is_own_field(name)) record.metrics.push_back({name, value.get<double>()});
  history.held_back.emplace_back(record.step, record.loss);
  history.evaluations.push_back(std::move(record));
}

void add_to(LossHistory& history, const Json& event) {
  const Json kind = event.value("event", Json());
  if (!event.contains("loss") || !event["loss"].is_number()) return;
  if (kind == "step") add_step(history, event);
  if (kind == "evaluation") add_evaluation(history, event);
}

}  // namespace

std::optional<double> find_metric(const Metrics& metrics, std::string_view name) {
  for (const Metric& metric : metrics)
    if (metric.name == name) return metric.value;
  return std::nullopt;
}

std::string to_text(const Metric& metric) {
  if (metric.name.ends_with("accuracy")) return fmt::format("{} {:.2f}%", metric.name, 100 * metric.value);
  return fmt::format("{} {:.4f}", metric.name, metric.value);
}

void TrainerObserver::started(int64_t, int64_t) {}
void TrainerObserver::stepped(const StepRecord&) {}
void TrainerObserver::evaluated(const EvaluationRecord&) {}
void TrainerObserver::sampled(int64_t, std::string_view) {}
void TrainerObserver::saved(int64_t, const std::filesystem::path&) {}
void TrainerObserver::message(std::string_view) {}
void TrainerObserver::finished(int64_t) {}

void JsonLines::line(const std::string& text) {
  out_ << text << '\n' << std::flush;
  if (!out_) fail_with(Status::io, "the metrics cannot be written: is the disk full?");
}

void JsonLines::stepped(const StepRecord& r) {
  OrderedJson json = {{"event", "step"},
                      {"step", r.step},
                      {"loss", r.loss},
                      {"learning_rate", r.learning_rate},
                      {"gradient_norm", r.gradient_norm},
                      {"milliseconds", r.milliseconds},
                      {"tokens_per_second", r.tokens_per_second},
                      {"gflops_per_second", r.gflops_per_second},
                      {"peak_gflops_per_second", r.peak_gflops_per_second},
                      {"mfu", r.mfu()},
                      {"tokens", r.tokens},
                      {"peak_bytes", r.peak_bytes}};
  if (r.loss_scale) json["loss_scale"] = *r.loss_scale;
  if (r.skipped_steps) json["skipped_steps"] = *r.skipped_steps;
  line(json.dump());
}

void JsonLines::evaluated(const EvaluationRecord& r) {
  OrderedJson json = {{"event", "evaluation"},
                      {"step", r.step},
                      {"loss", r.loss},
                      {"targets", r.targets},
                      {"milliseconds", r.milliseconds}};
  for (const Metric& metric : r.metrics) json[metric.name] = metric.value;
  line(json.dump());
}

void JsonLines::sampled(int64_t step, std::string_view text) {
  const OrderedJson json = {{"event", "sample"}, {"step", step}, {"text", text}};
  line(json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace));
}

void JsonLines::saved(int64_t step, const std::filesystem::path& checkpoint) {
  const OrderedJson json = {{"event", "checkpoint"}, {"step", step}, {"path", checkpoint.string()}};
  line(json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace));
}

void JsonLines::message(std::string_view text) {
  const OrderedJson json = {{"event", "message"}, {"text", text}};
  line(json.dump(-1, ' ', true, OrderedJson::error_handler_t::replace));
}

LossHistory truncate_metrics(const std::filesystem::path& path, int64_t step) {
  LossHistory history;
  if (!std::filesystem::exists(path)) return history;
  std::istringstream lines(read_text_file(path));
  std::string kept;
  for (std::string text; std::getline(lines, text);) {
    const Json event = parse_json_or_null(text);
    if (!event.is_object() || integer(event, "step").value_or(0) > step) continue;
    add_to(history, event);
    kept += text + '\n';
  }
  write_file(path, kept);
  return history;
}

}  // namespace smelt
