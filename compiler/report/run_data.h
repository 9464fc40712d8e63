// The data of a report about a training run, as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns whether a path is the directory of a run: one with a metrics.jsonl.
bool is_run_directory(const std::filesystem::path& path);

/// The events of metrics.jsonl. Each reading continues where the one before it has ended.
class RunEvents {
 public:
  /// `directory`: that of the run.
  explicit RunEvents(const std::filesystem::path& directory);
  /// Reads the lines that were added. If the file was made anew or cut since then, reads all of it again.
  /// Throws Error if it cannot be read.
  void read();

  std::vector<Json> steps;
  Json evaluations = Json::array(), samples = Json::array(), checkpoints = Json::array(),
       messages = Json::array();

 private:
  void add(Json event);
  Json* list_of(std::string_view kind);
  void forget();

  std::filesystem::path file_;
  int64_t end_ = 0;   // of the lines that were read, in bytes
  std::string last_;  // the last bytes before end_
};

/// Returns the metrics and the options of a run, which may not have ended yet. `command`: the command that
/// the report shows for the run. Returns the following object; members with "?" may be absent:
///   {"head": {"directory", "model", "data", "command"},
///    "steps": [{"step", "tokens", "hours", "loss", "learning_rate", "gradient_norm", "milliseconds",
///               "tokens_per_second", "peak_bytes", "loss_scale"?, "skipped_steps"?}],
///    "evaluations", "samples", "checkpoints": [the events of metrics.jsonl], "messages": [text],
///    "median": {"milliseconds", "tokens_per_second", "gflops_per_second", "mfu"?},
///    "time": {"steps", "evaluations"} in seconds, "anomalies": number of steps without a finite loss,
///    "options": [[name, value]]}.
/// "hours" is the time spent in steps so far. If a run has more than 2,000 steps, each object of "steps"
/// describes several consecutive steps: their mean losses, rates, norms and times, and the counts of the last
/// one. Throws Error if the directory has no metrics of a step.
Json run_data(const std::filesystem::path& directory, const std::string& command);
/// The same of events that were read before, to which this adds new ones.
Json run_data(RunEvents& events, const std::filesystem::path& directory, const std::string& command);

}  // namespace smelt
