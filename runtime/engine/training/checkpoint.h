// The whole state of a training run, written so that a kill, a full disk or a damaged file never costs more
// than the steps since the previous one.
//
// A checkpoint is one safetensors file. If states are sharded over ranks, each rank first writes its parts to
// a file of its own in the same directory, and the checkpoint file, with the states that are whole at every
// rank, is their index: a checkpoint exists when its index does. A reader may hold other parts, such as a
// rank of a different number of ranks, because elements of named tensors are compared and read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class Checkpoint;
class Session;
struct Plan;
struct State;

struct CheckpointInfo {
  int64_t step = 0;            // updates done; with the seed, this is the whole state of every random number
  std::string trainer;         // JSON of the options the run had
  std::filesystem::path path;  // where it was read from
  std::string warning = {};    // what of it could not be taken, and what that means
  /// The results of checkpoint_layout at each rank, in order, for writing the checkpoint of a pipeline.
  std::vector<std::string> layouts = {};
};

/// Returns the entry of a checkpoint's index for this rank's states, if its pipeline stage has other states
/// than the first one; empty without a pipeline.
std::string checkpoint_layout(const Plan& plan);

/// Writes all states but gradients (zero between steps) and the executor's measured choices, with a checksum
/// over everything; the file is replaced as a whole. If states are sharded, `parts` are the results of
/// write_checkpoint_part at each rank, in order, and the first rank writes the index.
void write_checkpoint(const std::filesystem::path& path, const Session& session, const CheckpointInfo& info,
                      std::span<const std::string> parts = {});
/// Writes this rank's share of the sharded states to a file in the checkpoint's directory. Returns its
/// checksum, or nothing if the rank has none to write.
std::string write_checkpoint_part(const std::filesystem::path& path, const Session& session, int64_t step);
/// Returns whether checkpoints hold a state.
bool is_saved(const State& state);
/// Checks structure, checksums and fit to the plan before it changes the session; throws Error if one is
/// wrong. An executor that cannot use the recorded choices (such as those of another device) makes its own,
/// with a warning.
CheckpointInfo read_checkpoint(const std::filesystem::path& path, Session& session);

/// The parameters of a checkpoint under the names and in the shapes of the model's own weights. The checksum
/// is compared: a damaged file is an Error (invalid_file).
Checkpoint checkpoint_weights(const std::filesystem::path& path);
/// A file or directory of weights, or a checkpoint's.
Checkpoint open_weights(const std::filesystem::path& path);

/// Returns the path of the checkpoint of a step in a directory.
std::filesystem::path checkpoint_path(const std::filesystem::path& directory, int64_t step);
/// The checkpoints in a directory, oldest first; none if there is no such directory. Nothing is changed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);
/// Updates done, by the name of a path of list_checkpoints.
int64_t checkpoint_step(const std::filesystem::path& path);

/// A directory of checkpoints named by step.
class CheckpointDirectory {
 public:
  using Log = std::function<void(std::string_view)>;

  /// `keep` newest ones stay; 0 keeps all. Removes incomplete files of a killed process, including parts
  /// without their index.
  CheckpointDirectory(std::filesystem::path directory, int64_t keep);

  /// Older ones are removed only after the new one is safely on the disk. Returns its path.
  std::filesystem::path save(const Session& session, const CheckpointInfo& info,
                             std::span<const std::string> parts = {});
  /// The newest checkpoint that is whole. A damaged one is renamed to *.damaged, with a message, and the one
  /// before it is tried; one of another plan is an Error.
  std::optional<CheckpointInfo> restore(Session& session, const Log& log);
  /// Oldest first.
  std::vector<std::filesystem::path> list() const { return list_checkpoints(directory_); }

 private:
  void prune();
  std::filesystem::path directory_;
  int64_t keep_;
};

}  // namespace smelt
