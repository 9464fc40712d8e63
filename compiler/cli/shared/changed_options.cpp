#include "compiler/cli/shared/trainer_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/driver/option_table.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt::cli {
namespace {

/// The trainer compares these with the checkpoint.
constexpr std::array kCompared = {
    "steps",          "epochs",    "batch",           "schedule_power", "schedule_cycles",
    "schedule_decay", "lr",        "min_lr",          "warmup",         "schedule",
    "length",         "pack",      "accumulate",      "seed",           "document_end",
    "data",           "held_back", "validation_data", "data_format",    "overfit_one_batch"};
/// They change no number of the run.
constexpr std::array kHarmless = {
    "run_dir",         "resume",         "keep",          "checkpoint_every", "eval_every",
    "eval_batches",    "token_accuracy", "translations",  "spike_factor",     "metric",
    "early_stopping",  "sample_every",   "sample_prompt", "sample_tokens",    "sample_temperature",
    "quiet",           "detect_anomaly", "no_plan_cache", "timing",           "verify_each",
    "print_after_all", "print_after",    "dump_dir",      "check_steps",      "tune",
    "threads",         "from_scratch",   "weights",       "adapter"};

bool is_told(const std::string& key) {
  return !llvm::is_contained(kCompared, key) && !llvm::is_contained(kHarmless, key);
}

std::string shown(const Json& options, const std::string& key) {
  const auto found = options.find(key);
  if (found == options.end()) return "none";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

/// Numbers are equal however they are written: 1 and 1.0.
bool are_equal(const Json& before, const Json& now, const std::string& key) {
  const auto then = before.find(key), next = now.find(key);
  return then != before.end() && next != now.end() && *then == *next;
}

/// The options of a run that an earlier version began, by the names of this one.
Json with_new_names(const Json& options) {
  Json renamed = Json::object();
  for (const auto& [key, value] : options.items()) {
    std::string name(new_name(key));
    std::ranges::replace(name, '-', '_');
    renamed[name.empty() ? key : name] = value;
  }
  return renamed;
}

}  // namespace

std::string changed_options(const Json& written, const Json& now) {
  if (!written.is_object()) return "";
  const Json before = with_new_names(written);
  Json keys = before;
  keys.update(now);
  std::string text;
  for (const auto& [key, value] : keys.items())
    if (const std::string then = shown(before, key), next = shown(now, key);
        is_told(key) && then != next && !are_equal(before, now, key))
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", key, then, next);
  return text;
}

}  // namespace smelt::cli
