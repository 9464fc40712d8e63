// Which algorithm serves which kind of matmul on this device with this library: kept in memory, in a file of
// the cache directory, so that the next process does not measure again, and in checkpoints, so that a resumed
// run gets the bits of one that was never stopped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/cuda/cublas_lt.h"

namespace smelt::cuda {

/// In place of an algorithm of the library: our own kernel (PreparedGemm::consider).
inline constexpr LtAlgorithm kOwnKernel = {{~uint64_t{0}, ~uint64_t{0}}};

/// Where choices hold: an algorithm gives the same bits on the same kind of GPU with the same library.
struct GemmPlace {
  std::string device;
  size_t library_version = 0;

  static GemmPlace of(const Device& device);
  std::string str() const;  // "NVIDIA H200 with cuBLASLt 130100"
  bool operator==(const GemmPlace&) const = default;
};

/// A kind of matmul, and of large ones its very sizes ("" of others).
struct GemmKey {
  std::string bucket, sizes = {};
};

/// Large matmuls are measured at their very sizes: a tile that fits 3,136 rows may leave half of the GPU
/// idle at 3,200. Of a bucket no more than a few sizes are, since batches of ever new shapes must not stall;
/// others take what was measured first.
class GemmChoices {
 public:
  /// Reads the place's file in `directory`; what cannot be read is chosen anew. Empty: there is no file.
  GemmChoices(const std::filesystem::path& directory, GemmPlace place);
  ~GemmChoices();
  GemmChoices(const GemmChoices&) = delete;
  GemmChoices& operator=(const GemmChoices&) = delete;

  static constexpr int kMeasuredSizes = 4;
  std::optional<LtAlgorithm> find(const GemmKey& key);
  void add(const GemmKey& key, const LtAlgorithm& algorithm);

  /// What was found or added here, and what was restored, as JSON with the place; empty where there is
  /// nothing.
  std::string record() const;
  /// From now on a record's choices go before all others; they do not go into the file. Returns what is wrong
  /// with a record that is not taken: another place's, or one that does not read.
  std::string restore(std::string_view record);

 private:
  using Algorithms = std::map<std::string, LtAlgorithm>;
  std::optional<LtAlgorithm> find_name(const std::string& name);
  void save() const;

  GemmPlace place_;
  std::filesystem::path file_;
  Algorithms choices_, restored_, fresh_;  // all but restored ones; those; those added here
  Algorithms borrowed_;                    // sizes that took their bucket's
  std::set<std::string> used_;
};

}  // namespace smelt::cuda
