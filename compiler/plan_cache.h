// Plans on the disk, each named by a hash of everything that decides it: the second start of a run takes its
// plan from there in place of compiling. An entry that is damaged is no entry; a directory that cannot be
// read or written is no error: plans are compiled again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compiler/compile.h"

namespace smelt {

class PlanCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{2} << 30;

  /// In the cache directory (runtime/system/cache_directory.h).
  static PlanCache standard();
  /// Nothing is kept where `directory` is empty; beyond `most_bytes` the entries go that were not used
  /// longest.
  explicit PlanCache(std::filesystem::path directory, int64_t most_bytes = kMostBytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  /// Nothing where there is no such entry or where it is damaged.
  std::optional<Plan> read(const std::string& key) const;
  void write(const std::string& key, const Plan& plan) const;
  std::filesystem::path file(const std::string& key) const { return directory_ / (key + ".plan"); }

 private:
  std::filesystem::path directory_;
  int64_t most_bytes_;
};

/// 64 hexadecimal digits for the description, the options, the target (of a CPU: this machine's), the format
/// of plans and this build of the compiler. Empty where a plan depends on more (`tune`), and where somebody
/// wants to look at the passes.
std::string plan_key(const Description& description, const CompileOptions& options);

/// compile(), but for what an earlier call with the same key has left. `built` is the description's module
/// where somebody has built it already by build_options(options).
Compilation compile_or_recall(const Description& description, const CompileOptions& options,
                              std::unique_ptr<Module> built = nullptr,
                              const PlanCache& cache = PlanCache::standard());

}  // namespace smelt
