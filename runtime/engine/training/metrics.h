// Events of a training run, and observers that write them: as JSON lines for programs, or as a progress bar
// for a terminal. Observers write to streams that the caller opens.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

/// Event after update number `step` (the first is 1).
struct StepRecord {
  int64_t step = 0;
  double loss = 0;  // nats per target, averaged over the batch
  double learning_rate = 0;
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  // NaN: the plan does not report it
  double milliseconds = 0;
  double tokens_per_second = 0;
  double gflops_per_second = 0;           // model FLOP of the update (plan_costs.h) per second
  double peak_gflops_per_second = 0;      // measured rate of large GEMMs; 0: not known
  int64_t tokens = 0;                     // in all steps up to now
  int64_t peak_bytes = 0;                 // most memory of the process
  std::optional<double> loss_scale = {};  // of this update; nothing: no loss scaling
  std::optional<int64_t> skipped_steps =
      {};  // updates skipped so far because of overflow; nothing: no scaling
  /// Returns the model FLOP utilization: gflops_per_second / peak_gflops_per_second. Returns NaN if no peak
  /// is known, or if this step was faster than the peak, which happens if the machine was busy when the peak
  /// was measured.
  double mfu() const {
    const bool known = peak_gflops_per_second >= gflops_per_second && peak_gflops_per_second > 0;
    return known ? gflops_per_second / peak_gflops_per_second : std::numeric_limits<double>::quiet_NaN();
  }
};

/// A figure of an evaluation other than the loss: "accuracy", "f1" or "perplexity" (see evaluation.h).
struct Metric {
  std::string name;
  double value = 0;
};
using Metrics = std::vector<Metric>;
/// Returns the value of the metric `name`; nothing if there is none.
std::optional<double> find_metric(const Metrics& metrics, std::string_view name);
/// Returns the metric as text for people: "accuracy 93.10%", "perplexity 45.3000".
std::string to_text(const Metric& metric);

/// Event after an evaluation on held-back data.
struct EvaluationRecord {
  int64_t step = 0;
  double loss = 0;      // nats per target
  int64_t targets = 0;  // number of targets over which the loss is averaged
  double milliseconds = 0;
  Metrics metrics = {};  // those that the model and the data have
};

/// Interface of observers, which receive the events of a run when they happen. By default the functions do
/// nothing, except that `warned` calls `message`. They are called from the training thread.
class TrainerObserver {
 public:
  virtual ~TrainerObserver() = default;
  /// `first_step`: updates that were done before this run (0 for a new one). `steps`: the number of the last
  /// update of the run.
  virtual void started(int64_t first_step, int64_t steps);
  virtual void stepped(const StepRecord& record);
  virtual void evaluated(const EvaluationRecord& record);
  virtual void sampled(int64_t step, std::string_view text);
  virtual void saved(int64_t step, const std::filesystem::path& checkpoint);
  virtual void message(std::string_view text);  // one line of information
  virtual void warned(std::string_view text) { message(text); }
  virtual void finished(int64_t step);  // also if the run was stopped early or has failed
};

/// Loss by step, for the loss curve.
struct LossHistory {
  std::vector<std::pair<int64_t, double>> train, held_back;
  std::vector<std::optional<double>> gradient_norms;  // of the same steps as `train`
  std::vector<EvaluationRecord> evaluations;          // with all metrics
  int64_t tokens = 0;                                 // in all steps
};

/// Writes steps, evaluations, samples, checkpoints and messages, each as one line of JSON such as {"event":
/// "step", "step": 1, "loss": ...}. Flushes the stream after each line. Throws Error (io) if that fails.
class JsonLines : public TrainerObserver {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}
  void stepped(const StepRecord& record) override;
  void evaluated(const EvaluationRecord& record) override;
  void sampled(int64_t step, std::string_view text) override;
  void saved(int64_t step, const std::filesystem::path& checkpoint) override;
  void message(std::string_view text) override;

 private:
  void line(const std::string& text);
  std::ostream& out_;
};

/// Removes from a file of JsonLines the events of steps after `step`, and lines that are no JSON objects,
/// such as an incomplete last line. Returns the losses of the events that remain. Returns an empty history
/// if there is no file.
LossHistory truncate_metrics(const std::filesystem::path& path, int64_t step);

/// Appearance of the output on a terminal.
struct TerminalStyle {
  bool bar = false;  // redraws a progress bar at each step; otherwise steps are not written
  bool color = false;
  int width = 100;  // columns
};
/// Returns the style for a file descriptor. If the descriptor is a terminal that is not "dumb", the style has
/// a bar, and has color unless the environment variable NO_COLOR is set. Otherwise it has neither.
TerminalStyle terminal_style(int descriptor);

/// Writes a progress bar, and evaluations, samples and messages as lines above it.
class TerminalProgress : public TrainerObserver {
 public:
  TerminalProgress(std::ostream& out, TerminalStyle style) : out_(out), style_(style) {}
  void started(int64_t first_step, int64_t steps) override;
  void stepped(const StepRecord& record) override;
  void evaluated(const EvaluationRecord& record) override;
  void sampled(int64_t step, std::string_view text) override;
  void saved(int64_t step, const std::filesystem::path& checkpoint) override;
  void message(std::string_view text) override;
  void finished(int64_t step) override;

 private:
  using Clock = std::chrono::steady_clock;
  std::string bar(const StepRecord& record) const;
  /// Erases the bar.
  void clear();
  /// Writes a line above the bar.
  void above(const std::string& text);

  std::ostream& out_;
  TerminalStyle style_;
  int64_t first_step_ = 0, steps_ = 0;
  std::string current_;  // the bar on the screen
  Clock::time_point begun_, drawn_;
};

}  // namespace smelt
