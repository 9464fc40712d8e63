// Record of the fastest alternative on this device for each choice (Choice in runtime/plan/plan.h). The names
// of the alternatives are stored in checkpoints, and in a file of the cache directory, so that all processes
// use the same alternatives.
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

  using Names = std::vector<std::string>;  // names of a choice's alternatives
  /// Returns the index in `names` of the alternative that is recorded for the key (choice_key in
  /// algorithm_choice.h). Returns nothing if there is no record, or if the recorded name is not in `names`.
  std::optional<size_t> find(const std::string& key, const Names& names);
  /// Records that names[measured] was the fastest, unless another process has recorded an alternative for the
  /// key in the file. Returns the index of the alternative that is recorded now.
  size_t settle(const std::string& key, const Names& names, size_t measured);

  /// Returns the choices that were found, settled or restored, for a checkpoint; null if there are none.
  Json record() const;
  /// Makes the choices of a checkpoint override those of the file. Returns an empty text, or the reason if
  /// the record is refused.
  std::string restore(const Json& record);

 private:
  using Alternatives = std::map<std::string, std::string>;  // name by key
  /// Returns the contents of the file.
  Alternatives read() const;

  std::string place_;
  std::filesystem::path file_;
  Alternatives used_;  // found, settled or restored by this process
};

}  // namespace smelt::cuda
