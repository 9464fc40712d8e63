// Algorithms that were chosen for each kind of matmul on this device with this library. Choices are stored in
// a file of the cache directory, so that the next process does not measure again. They are also stored in
// checkpoints, so that a resumed run computes the same bits as one that was never stopped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/cuda/cublas_lt.h"

namespace smelt::cuda {

/// Value that stands for Smelt's own kernel (PreparedGemm::consider) instead of an algorithm of the library.
inline constexpr LtAlgorithm kOwnKernel = {{~uint64_t{0}, ~uint64_t{0}}};

/// Kind of GPU and library version for which choices are valid. Elsewhere the same algorithm may give other
/// bits.
struct GemmPlace {
  std::string device;
  size_t library_version = 0;

  static GemmPlace of(const Device& device);
  std::string str() const;  // "NVIDIA H200 with cuBLASLt 130100"
  bool operator==(const GemmPlace&) const = default;
};

/// Key of a choice: the bucket of the matmul (GemmProblem::bucket), and the exact sizes of a large matmul (""
/// for others). Matmuls of one bucket have the same types and layouts, and similar sizes.
struct GemmKey {
  std::string bucket, sizes = {};
};

/// Algorithm per key. Large matmuls are measured at their exact sizes, but only kMeasuredSizes sizes per
/// bucket are measured, because otherwise every batch with a new shape would wait for a measurement. Other
/// sizes use the bucket's first choice.
class GemmChoices {
 public:
  /// Reads the file of `place` in `directory`. Choices that cannot be read are made again. If `directory` is
  /// empty, there is no file.
  GemmChoices(const std::filesystem::path& directory, GemmPlace place);
  ~GemmChoices();
  GemmChoices(const GemmChoices&) = delete;
  GemmChoices& operator=(const GemmChoices&) = delete;

  static constexpr int kMeasuredSizes = 4;
  /// Returns the choice for the key, or for its bucket if enough sizes of the bucket were measured. Returns
  /// nothing if the caller must measure.
  std::optional<LtAlgorithm> find(const GemmKey& key);
  /// Adds a measured choice. The first choice of a bucket also becomes the choice of the bucket.
  void add(const GemmKey& key, const LtAlgorithm& algorithm);

  /// Returns the choices that were found, added or restored, as JSON with the place, for a checkpoint.
  /// Returns an empty text if there are none.
  std::string record() const;
  /// Makes the record's choices override all others; they are not written to the file. Returns an empty text,
  /// or the reason if the record is refused because it is of another place or cannot be read.
  std::string restore(std::string_view record);

 private:
  using Algorithms = std::map<std::string, LtAlgorithm>;
  /// Returns the choice that is stored under a name: a bucket, or a bucket with sizes.
  std::optional<LtAlgorithm> find_name(const std::string& name);
  void save() const;

  GemmPlace place_;
  std::filesystem::path file_;
  Algorithms choices_;          // read from the file or added by this process
  Algorithms restored_;         // from a checkpoint
  Algorithms fresh_;            // added by this process
  Algorithms borrowed_;         // of sizes that use their bucket's choice
  std::set<std::string> used_;  // names of the choices that `record` includes
};

}  // namespace smelt::cuda
