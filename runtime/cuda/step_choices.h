// Which alternative of a choice (runtime/plan/plan.h) was the fastest on this device. It is kept in a file of
// the cache directory, so that every process takes the same one, and in checkpoints.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/system/json_text.h"

namespace smelt::cuda {

class StepChoices {
 public:
  /// `place` identifies the hardware and software for which choices are valid, such as "NVIDIA H200 with
  /// driver 13.0". Each place has a file of its own in `directory`; an empty `directory` means no file.
  StepChoices(const std::filesystem::path& directory, std::string place);

  using Names = std::vector<std::string>;  // of a choice's alternatives
  /// The alternative that is known for a key; nothing if none of them is.
  std::optional<size_t> find(const std::string& key, const Names& names);
  /// Stores a measured choice and returns the stored one: another process may have been first.
  size_t settle(const std::string& key, const Names& names, size_t measured);

  /// Returns the choices that were found, settled or restored; null if there are none.
  Json record() const;
  /// Makes these choices override those of the file. If the record is refused, returns the reason.
  std::string restore(const Json& record);

 private:
  using Alternatives = std::map<std::string, std::string>;  // by key
  Alternatives read() const;

  std::string place_;
  std::filesystem::path file_;
  Alternatives used_;  // here, or restored
};

}  // namespace smelt::cuda
