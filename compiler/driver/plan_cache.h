// Cache of compiled plans on disk. The name of an entry (its key) is a hash of everything that the plan
// depends on, so that the second start of a run loads its plan instead of compiling it. If an entry is
// damaged, or if the directory cannot be read or written, plans are compiled as if there were no cache.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compiler/driver/compile.h"

namespace smelt {

class PlanCache {
 public:
  /// Default of the largest total size of all entries.
  static constexpr int64_t kMostBytes = int64_t{2} << 30;

  /// Returns the cache in the cache directory (runtime/system/cache_directory.h).
  static PlanCache standard();
  /// The cache stores nothing if the path `directory` is empty. If the cache exceeds `most_bytes`, write()
  /// removes the least recently used entries.
  explicit PlanCache(std::filesystem::path directory, int64_t most_bytes = kMostBytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  /// Returns the plan with this key; empty if there is no such entry, or if it is damaged.
  std::optional<Plan> read(const std::string& key) const;
  /// Stores the plan, unless it is larger than the cache.
  void write(const std::string& key, const Plan& plan) const;
  std::filesystem::path file(const std::string& key) const { return directory_ / (key + ".plan"); }

 private:
  std::filesystem::path directory_;
  int64_t most_bytes_;
};

/// Returns a hash, as 64 hexadecimal digits, of the description, the options that change a plan
/// (compiler/compile_options.def), the target (for a CPU: this machine's processor), the version of the
/// format of plans, and the id of this build of the compiler. Returns an empty key if the cache must not be
/// used. This is the case if the options disable the cache, print passes or tune kernels, or if this build
/// has no id (build_id.h).
std::string plan_key(const Description& description, const CompileOptions& options);

/// Compiles like compile(), but loads the plan from the cache if it has one with the same key. `built`: the
/// module of the description, if the caller has already built it with build_options(options); else null.
Compilation compile_or_recall(const Description& description, const CompileOptions& options,
                              std::unique_ptr<Module> built = nullptr,
                              const PlanCache& cache = PlanCache::standard());

}  // namespace smelt
