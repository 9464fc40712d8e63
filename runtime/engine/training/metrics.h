// Reports of a training run and their destinations: JSON lines for machines, a bar for a terminal. No
// function here opens a stream.
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

/// Report after update number `step` (the first is 1).
struct StepRecord {
  int64_t step = 0;
  double loss = 0;  // nats a target, averaged over the batch
  double learning_rate = 0;
  double gradient_norm = std::numeric_limits<double>::quiet_NaN();  // NaN: the plan does not report it
  double milliseconds = 0;
  double tokens_per_second = 0;
  double gflops_per_second = 0;               // model FLOP of the update (see plan_costs.h) over its time
  double peak_gflops_per_second = 0;          // what this machine reaches in large GEMMs; 0: not known
  int64_t tokens = 0;                         // seen in all steps so far
  int64_t peak_bytes = 0;                     // of the process
  std::optional<double> loss_scale = {};      // of this update, where the plan scales the loss
  std::optional<int64_t> skipped_steps = {};  // updates left out so far because a gradient overflowed
  /// Model FLOP utilisation: the share of the machine's peak that went into the model. NaN: no peak is known,
  /// or one that this step refutes, as of a machine that was busy when it was measured.
  double mfu() const {
    const bool known = peak_gflops_per_second >= gflops_per_second && peak_gflops_per_second > 0;
    return known ? gflops_per_second / peak_gflops_per_second : std::numeric_limits<double>::quiet_NaN();
  }
};

struct EvaluationRecord {
  int64_t step = 0;
  double loss = 0;
  int64_t targets = 0;  // that the loss is an average of
  double milliseconds = 0;
  std::optional<double> accuracy = {};  // share of right classes, of models that classify
};

/// Gets the events of a run as they happen; every function does nothing by default. They are called from the
/// training thread.
class TrainerObserver {
 public:
  virtual ~TrainerObserver() = default;
  virtual void started(int64_t first_step, int64_t steps);
  virtual void stepped(const StepRecord& record);
  virtual void evaluated(const EvaluationRecord& record);
  virtual void sampled(int64_t step, std::string_view text);
  virtual void saved(int64_t step, const std::filesystem::path& checkpoint);
  virtual void message(std::string_view text);  // a remark, one line
  virtual void warned(std::string_view text) { message(text); }
  virtual void finished(int64_t step);  // also when stopped early or failed
};

/// Loss by step, for the loss curve.
struct LossHistory {
  std::vector<std::pair<int64_t, double>> train, held_back;
  int64_t tokens = 0;  // seen in all steps
};

/// {"event": "step", "step": 1, "loss": ...} and so on, one object a line, flushed.
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

/// Drops events after `step` (of those that have a step) and an incomplete last line; returns the remaining
/// losses. A missing file is empty.
LossHistory truncate_metrics(const std::filesystem::path& path, int64_t step);

struct TerminalStyle {
  bool bar = false;  // redraw one line; without it only evaluations, samples and messages are written
  bool color = false;
  int width = 100;
};
/// Returns the style for a file descriptor: a bar only on a terminal, colour only there and without NO_COLOR.
TerminalStyle terminal_style(int descriptor);

/// A progress bar and the evaluations above it.
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
  void clear();
  void above(const std::string& text);

  std::ostream& out_;
  TerminalStyle style_;
  int64_t first_step_ = 0, steps_ = 0;
  std::string current_;  // the bar on the screen
  Clock::time_point begun_, drawn_;
};

}  // namespace smelt
