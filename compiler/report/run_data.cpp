#include "compiler/report/run_data.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/base/error.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostRecords = 2000;

/// Returns a number of an event; NaN if the event has none, which is how JSON lines write NaN and infinities.
double number(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number() ? found->get<double>() : std::nan("");
}

/// Returns a text of an event; empty if the event has none.
std::string text(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double median(const std::vector<Json>& steps, const char* name) {
  std::vector<double> values;
  for (const Json& step : steps)
    if (const double value = number(step, name); std::isfinite(value)) values.push_back(value);
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Json medians(const std::vector<Json>& steps) {
  Json result = {{"milliseconds", median(steps, "milliseconds")},
                 {"tokens_per_second", median(steps, "tokens_per_second")},
                 {"gflops_per_second", median(steps, "gflops_per_second")}};
  if (const double mfu = median(steps, "mfu"); mfu > 0) result["mfu"] = mfu;
  return result;
}

/// Sets "hours" of each step: the time spent in the steps up to its end. Returns the seconds of all steps.
double set_hours(std::vector<Json>& steps) {
  double seconds = 0;
  for (Json& step : steps) {
    if (const double spent = number(step, "milliseconds"); std::isfinite(spent)) seconds += spent / 1e3;
    step["hours"] = seconds / 3600;
  }
  return seconds;
}

/// Returns one record with the means of steps[begin, end); counts such as "tokens" are those of the last
/// step.
Json record_of(const std::vector<Json>& steps, size_t begin, size_t end) {
  const Json& last = steps[end - 1];
  Json result = Json::object();
  for (const char* name : {"step", "tokens", "hours", "peak_bytes", "skipped_steps"})
    if (last.contains(name)) result[name] = last[name];
  for (const char* name :
       {"loss", "learning_rate", "gradient_norm", "milliseconds", "tokens_per_second", "loss_scale"}) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += number(steps[i], name);
    if (std::isfinite(sum)) result[name] = sum / static_cast<double>(end - begin);
  }
  return result;
}

Json thinned(const std::vector<Json>& steps) {
  const size_t run = (steps.size() + kMostRecords - 1) / kMostRecords;
  Json result = Json::array();
  for (size_t i = 0; i < steps.size(); i += run)
    result.push_back(record_of(steps, i, std::min(steps.size(), i + run)));
  return result;
}

std::string value_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Json options_of(const Json& options) {
  Json result = Json::array();
  if (!options.is_object()) return result;
  for (const auto& [name, value] : options.items())
    if (!value.is_null()) result.push_back({name, value_text(value)});
  return result;
}

Json head_of(const fs::path& directory, const Json& options, const std::string& command) {
  const auto option = [&](const char* name) {
    return options.is_object() && options.contains(name) ? value_text(options[name]) : std::string();
  };
  return {{"directory", directory.string()},
          {"model", option("model")},
          {"data", option("data")},
          {"command", command}};
}

}  // namespace

bool is_run_directory(const fs::path& path) { return fs::is_regular_file(path / "metrics.jsonl"); }

RunEvents::RunEvents(const fs::path& directory) : file_(directory / "metrics.jsonl") {}

void RunEvents::add(Json event) {
  const std::string kind = event.is_object() ? text(event, "event") : std::string();
  if (kind == "step")
    steps.push_back(std::move(event));
  else if (kind == "message")
    messages.push_back(text(event, "text"));
  else if (Json* list = list_of(kind))
    list->push_back(std::move(event));
}

/// Returns the list of the events of a kind; null if the report does not show them.
Json* RunEvents::list_of(std::string_view kind) {
  if (kind == "evaluation") return &evaluations;
  if (kind == "sample") return &samples;
  return kind == "checkpoint" ? &checkpoints : nullptr;
}

void RunEvents::forget() {
  steps.clear();
  for (Json* list : {&evaluations, &samples, &checkpoints, &messages}) list->clear();
  end_ = 0, last_.clear();
}

/// A line that is not whole yet, as while a run writes it, is read the next time.
void RunEvents::read() {
  constexpr size_t kKept = 64;
  std::ifstream in(file_, std::ios::binary);
  if (!in) fail("{}: cannot be read", file_.string());
  std::string before(last_.size(), '\0');
  in.seekg(end_ - static_cast<int64_t>(last_.size()));
  in.read(before.data(), static_cast<std::streamsize>(before.size()));
  if (!in || before != last_) {
    forget();
    in.clear(), in.seekg(0);
  }
  std::string line;
  while (std::getline(in, line) && !in.eof()) {
    add(parse_json_or_null(line));
    end_ += static_cast<int64_t>(line.size()) + 1, last_ += line + "\n";
    if (last_.size() > kKept) last_.erase(0, last_.size() - kKept);
  }
}

Json run_data(const fs::path& directory, const std::string& command) {
  RunEvents events(directory);
  return run_data(events, directory, command);
}

Json run_data(RunEvents& events, const fs::path& directory, const std::string& command) {
  events.read();
  if (events.steps.empty()) fail("{}: there is no step in it yet", (directory / "metrics.jsonl").string());
  const double seconds = set_hours(events.steps);
  double evaluating = 0;
  for (const Json& evaluation : events.evaluations)
    if (const double spent = number(evaluation, "milliseconds"); std::isfinite(spent))
      evaluating += spent / 1e3;
  const fs::path file = directory / "train.json";
  const Json options = fs::exists(file) ? parse_json_or_null(read_text_file(file)) : Json();
  return {{"head", head_of(directory, options, command)},
          {"steps", thinned(events.steps)},
          {"evaluations", events.evaluations},
          {"samples", events.samples},
          {"checkpoints", events.checkpoints},
          {"messages", events.messages},
          {"median", medians(events.steps)},
          {"time", {{"steps", seconds}, {"evaluations", evaluating}}},
          {"anomalies", std::ranges::count_if(
                            events.steps, [](const Json& step) { return std::isnan(number(step, "loss")); })},
          {"options", options_of(options)}};
}

}  // namespace smelt
