// Options that every command which compiles has in common.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/memory_flags.h"
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
  std::string target = "cpu", mode = "train", precision = "fp32", masters = "fp32", weight_type = "float",
              attention = "auto", gemm_bodies = "auto", mesh, pipeline, dump_dir;
  std::vector<std::string> bounds, disabled, print_after, trained;
  int64_t bisect_limit = -1, bucket_mib = BucketCollectivesOptions{}.bytes >> 20;
  bool no_plan_cache = false, tune = false, verify_each = false, timing = false, print_after_all = false;
  bool says_memory = true;    // on stderr, before any of it is allocated
  bool says_fallback = true;  // on stderr, where "native" is the CPU
  std::optional<int64_t> chunk_rows;
  std::optional<double> dropout;
  std::optional<bool> attention_mask;
  bool position_ids = false, segment_ids = false, hidden_states = false;
  std::optional<bool> caches, chooses_tokens;
  int64_t cache_pages = 0;
  int zero = 0;  // ZeRO's stage
  int64_t zero_bucket = 0, stage = 0, pipeline_parts = 1;
  bool sequence_parallel = false;
  OptimizerFlags optimizer;
  MemoryFlags memory;  // of commands that add it

  /// Adds --target, --max and the options that steer and show the passes.
  void add_to(CLI::App& app);
  /// Adds --mode, --dropout and the optimiser, for commands that make plans of either mode.
  void add_mode(CLI::App& app);
  void add_dropout(CLI::App& app);
  /// Adds --train-only.
  void add_trained(CLI::App& app);
  /// Adds --mesh, --zero, --sequence-parallel, --pipeline-parts and others, for commands that make or train
  /// plans of several ranks.
  void add_mesh(CLI::App& app);
  /// Adds --mesh alone, for commands whose ranks run a model together.
  void add_ranks(CLI::App& app);
  /// Adds --stage, for commands that make or show the plan of one rank.
  void add_stage(CLI::App& app);
  /// Adds options for inputs and outputs that a model may or may not have.
  void add_inputs(CLI::App& app);
  /// Adds --kv-cache, --no-kv-cache, --cache-pages and what add_choice adds.
  void add_caches(CLI::App& app);
  /// Adds --choose-tokens and --no-choose-tokens.
  void add_choice(CLI::App& app);

  /// --timing asks where the seconds of compiling go, and so bypasses the cache.
  bool uses_plan_cache() const { return !no_plan_cache && !timing; }
  /// Notes on stderr that "native" means the CPU here, where says_fallback.
  CompileOptions options() const;
};

/// "B=32,T=1024,B*T=4096". Throws Error with the part that cannot be read.
std::vector<Symbols::Bound> parse_bounds(const std::vector<std::string>& texts);
/// Bounds `symbol` where the user has not; returns whether it did.
bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper);

/// Bounds that commands take from other options than --max, where that does not name the symbol.
class DefaultBounds {
 public:
  /// `option` is the one that `upper` comes from, such as "--batch".
  void add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper, std::string option);
  /// "B is set by --batch, T by --length"; empty where --max set all.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> set_;  // symbol, option
};

/// Prints the seconds by phase and the table of passes to stderr.
void print_timing(const Compilation& compilation);

}  // namespace smelt::cli
