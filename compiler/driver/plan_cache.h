// Plans on the disk, each named by a hash of everything that it depends on: the second start of a run loads
// its plan instead of compiling it. Damaged entries are ignored, and so is a directory that cannot be read or
// written: plans are then compiled again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compiler/driver/compile.h"

namespace smelt {

class PlanCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{2} << 30;

  /// Returns the cache in the cache directory (runtime/system/cache_directory.h).
  static PlanCache standard();
  /// Stores nothing where `directory` is empty; beyond `most_bytes` the least recently used entries are
  /// removed.
  explicit PlanCache(std::filesystem::path directory, int64_t most_bytes = kMostBytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  /// Empty where there is no such entry or where it is damaged.
  std::optional<Plan> read(const std::string& key) const;
  void write(const std::string& key, const Plan& plan) const;
  std::filesystem::path file(const std::string& key) const { return directory_ / (key + ".plan"); }

 private:
  std::filesystem::path directory_;
  int64_t most_bytes_;
};

/// Returns 64 hexadecimal digits for the description, the options that change a plan
/// (compiler/compile_options.def), the target (for a CPU: this machine's), the format of plans and this build
/// of the compiler. Empty where the plan is always compiled: where the options require it, print the passes,
/// or tune.
std::string plan_key(const Description& description, const CompileOptions& options);

/// Compiles like compile(), but loads the plan of an earlier call with the same key where there is one.
/// `built` is the description's module where the caller has already built it by build_options(options).
Compilation compile_or_recall(const Description& description, const CompileOptions& options,
                              std::unique_ptr<Module> built = nullptr,
                              const PlanCache& cache = PlanCache::standard());

}  // namespace smelt
