// Options that every command which compiles has in common.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace smelt::cli {

/// The update rule and its numbers.
struct OptimizerFlags {
  std::string optimizer = "adamw", decay = "declared";
  double weight_decay = 0.01, clip = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, momentum = 0.9;

  void add_to(CLI::App& app);
  ApplyOptimizerOptions options() const;
};

struct CompileFlags {
  std::string target = "cpu", mode = "train", precision = "fp32", masters = "fp32", pipeline, dump_dir;
  std::vector<std::string> bounds, disabled, print_after;
  int64_t bisect_limit = -1;
  bool no_plan_cache = false, tune = false, verify_each = false, timing = false, print_after_all = false;
  std::optional<double> dropout;
  std::optional<bool> attention_mask;
  bool position_ids = false, hidden_states = false;
  OptimizerFlags optimizer;

  /// --target, --max and what steers and shows the passes.
  void add_to(CLI::App& app);
  /// --mode, --dropout and the optimiser, for commands that make plans of either mode.
  void add_mode(CLI::App& app);
  void add_dropout(CLI::App& app);
  /// Inputs and outputs that a model may have or not.
  void add_inputs(CLI::App& app);

  /// Whoever asks where the seconds go wants a compilation.
  bool uses_plan_cache() const { return !no_plan_cache && !timing; }
  /// Says on stderr where "native" turns out to be the CPU.
  CompileOptions options() const;
};

/// "B=32,T=1024,B*T=4096". Throws Error with the part that does not read.
std::vector<Symbols::Bound> parse_bounds(const std::vector<std::string>& texts);
/// Bounds `symbol` where the user has not; whether that was so.
bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper);

/// Bounds that commands take from other options than --max, where that does not name the symbol.
class DefaultBounds {
 public:
  /// `option` is the one that says `upper`, such as "--batch".
  void add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper, std::string option);
  /// "B is set by --batch, T by --length"; empty where --max set all.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> set_;  // symbol, option
};

/// "seconds by phase" and the table of passes, on stderr.
void print_timing(const Compilation& compilation);

}  // namespace smelt::cli
