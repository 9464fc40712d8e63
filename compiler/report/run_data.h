// The data of a report about a training run, as JSON.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns whether a path is the directory of a run: one with a metrics.jsonl.
bool is_run_directory(const std::filesystem::path& path);

/// Reads the metrics and the options of a run, which may not have ended yet. `command`: the command that the
/// report shows for the run. Returns the following object; members with "?" may be absent:
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

}  // namespace smelt
