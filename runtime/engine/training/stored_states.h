// The states in a checkpoint, from one file or from the parts of several ranks: elements of whole tensors,
// for readers that hold other parts of them.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Elements of a tensor that are neighbours in one of the files.
struct StoredPiece {
  int64_t at = 0;  // of the first one, in the whole tensor
  std::span<const std::byte> bytes;
};

/// Description of a stored state: its name, type and whole shape, and, in a checkpoint in parts, its role and
/// segments.
struct StoredState {
  State state;
  std::vector<std::vector<StoredPiece>> tensors;  // by segment, in order of `at`; one where there are none

  int64_t elements() const;  // over all ranks, with padding
  /// Takes the segments of a checkpoint in one file, which stores them elsewhere. Throws Error (invalid_file)
  /// naming `file` if one is outside the state.
  void take_segments(const std::vector<Segment>& segments, const std::string& file);
};

class StoredStates {
 public:
  /// Checks the checksums of all files. Throws Error (invalid_file) that names the file which is missing,
  /// damaged or no checkpoint.
  static StoredStates open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return index_.path(); }
  /// "step", "trainer", "choices", "parameters": empty if the file has none.
  std::string text(const std::string& key) const;
  bool in_parts() const { return !parts_.empty(); }
  const std::vector<StoredState>& states() const { return states_; }
  const StoredState* find(std::string_view name) const;
  /// Returns the file, or the index of the parts, with the whole states in it.
  const Checkpoint& index() const { return index_; }

  /// Copies elements of a tensor; throws Error (invalid_file) if no file has them.
  void copy(const StoredState& state, size_t tensor, int64_t at, std::span<std::byte> to) const;

 private:
  void add_whole();
  void add_parts();
  void add_rank(const Checkpoint& file, const std::vector<State>& own, const Mesh& mesh, int64_t rank);

  Checkpoint index_;
  std::vector<Checkpoint> parts_;  // by rank; empty ones of ranks that wrote none
  std::vector<StoredState> states_;
};

/// Checksum over texts and tensors, in any fixed order.
std::string checksum_of(std::span<const std::string> texts, std::vector<TensorView> tensors);

/// Texts of a checkpoint's metadata, in the order in which checksums take them.
inline constexpr const char* kCheckpointTexts[] = {"step",       "trainer", "choices",
                                                   "parameters", "states",  "parts"};
inline constexpr const char *kWholeFormat = "smelt-checkpoint-1", *kIndexFormat = "smelt-checkpoint-2",
                            *kPartFormat = "smelt-checkpoint-part-1";

/// Returns the path of the file with the part of a rank, in the directory of the index.
std::filesystem::path checkpoint_part_path(const std::filesystem::path& index, int64_t rank, int64_t ranks);

}  // namespace smelt
