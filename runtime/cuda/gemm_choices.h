// Which algorithm serves which kind of product on this device with this library: kept in memory and in a file
// of the cache directory, so that the next process neither measures again nor gets other bits.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runtime/cuda/cublas_lt.h"

namespace smelt::cuda {

/// In place of an algorithm of the library: our own kernel (PreparedGemm::consider).
inline constexpr LtAlgorithm kOwnKernel = {{~uint64_t{0}, ~uint64_t{0}}};

class GemmChoices {
 public:
  /// Reads the file of this device and library version; what cannot be read is chosen anew.
  explicit GemmChoices(std::filesystem::path directory);
  ~GemmChoices();
  GemmChoices(const GemmChoices&) = delete;
  GemmChoices& operator=(const GemmChoices&) = delete;

  std::optional<LtAlgorithm> find(const std::string& bucket) const;
  void add(const std::string& bucket, const LtAlgorithm& algorithm);

 private:
  std::string str() const;  // JSON
  void save() const;
  std::filesystem::path file_;
  std::map<std::string, LtAlgorithm> choices_;
  bool changed_ = false;
};

}  // namespace smelt::cuda
