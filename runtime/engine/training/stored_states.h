// Reader of the states in a checkpoint, which is one file or one file per rank. Elements are read by their
// positions in whole tensors, so the states may be read with another sharding than the one with which they
// were written.
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

/// Elements of a tensor that are contiguous in the tensor and in one of the files.
struct StoredPiece {
  int64_t at = 0;  // index of the first element in the whole tensor
  std::span<const std::byte> bytes;
};

/// A stored state. `state` has its name, type and shape over all ranks. In a checkpoint with one file per
/// rank, it also has the state's role and segments.
struct StoredState {
  State state;
  /// For each segment, its pieces in order of StoredPiece::at. A state without segments has one list.
  std::vector<std::vector<StoredPiece>> tensors;

  int64_t elements() const;  // number of elements over all ranks, including padding
  /// Divides a flat state (a vector of many tensors, its segments) into these segments. It is used for
  /// checkpoints in one file, which do not store the segments of states. Has no effect if the state has
  /// segments already, or if `segments` is empty. Throws Error (invalid_file) naming `file` if a segment is
  /// outside the state.
  void take_segments(const std::vector<Segment>& segments, const std::string& file);
};

/// The states of an open checkpoint.
class StoredStates {
 public:
  /// Opens the checkpoint at `path` and checks the checksums of all its files. Throws Error (invalid_file)
  /// naming the file that is missing, damaged or not a checkpoint. Throws an Error of another kind if another
  /// version of Smelt has written the checkpoint.
  static StoredStates open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return index_.path(); }
  /// Returns the text of a key of the metadata ("step", "trainer", "choices", "parameters"); empty if the
  /// file does not have the key.
  std::string text(const std::string& key) const;
  /// Returns whether ranks have written files in addition to the index.
  bool in_parts() const { return !parts_.empty(); }
  const std::vector<StoredState>& states() const { return states_; }
  /// Returns null if there is no state of that name.
  const StoredState* find(std::string_view name) const;
  /// Returns the only file of the checkpoint, or its index if there is one file per rank. The index also has
  /// the states that are not sharded.
  const Checkpoint& index() const { return index_; }

  /// Copies elements of one tensor of the state to `to`, from the tensor's element `at` on, until `to` is
  /// full. `tensor` is an index into StoredState::tensors. Throws Error (invalid_file) if an element is in no
  /// file.
  void copy(const StoredState& state, size_t tensor, int64_t at, std::span<std::byte> to) const;

 private:
  /// Adds the states of a checkpoint in one file.
  void add_whole();
  /// Adds the states of a checkpoint with one file per rank.
  void add_parts();
  /// Adds the pieces of states that are in the file of a rank. `own` has the states of that rank's stage.
  void add_rank(const Checkpoint& file, const std::vector<State>& own, const Mesh& mesh, int64_t rank);

  Checkpoint index_;
  std::vector<Checkpoint> parts_;  // in rank order, without ranks that wrote none
  std::vector<StoredState> states_;
};

/// Returns the checksum, in hexadecimal, of the texts and of the names and bytes of the tensors. It depends
/// on the order of the texts, but not on that of the tensors.
std::string checksum_of(std::span<const std::string> texts, std::vector<TensorView> tensors);

/// Keys of a checkpoint's metadata, in the order in which checksum_of gets their texts.
inline constexpr const char* kCheckpointTexts[] = {"step",       "trainer", "choices",
                                                   "parameters", "states",  "parts"};
/// Values of the metadata key "format": a checkpoint in one file, an index, and a file of one rank.
inline constexpr const char *kWholeFormat = "smelt-checkpoint-1", *kIndexFormat = "smelt-checkpoint-2",
                            *kPartFormat = "smelt-checkpoint-part-1";

/// Returns the path of the file that rank number `rank` writes, in the directory of the index.
std::filesystem::path checkpoint_part_path(const std::filesystem::path& index, int64_t rank, int64_t ranks);

}  // namespace smelt
