// Checkpoints of training runs. After a kill, a full disk or a damaged file, the run can continue from an
// earlier checkpoint.
//
// A checkpoint is one safetensors file. If states are sharded over ranks, each rank first writes its parts to
// a separate file in the same directory. The first rank then writes the checkpoint file. In this case it is
// the index of the other files, and contains only the states that are not sharded. A checkpoint exists when
// its checkpoint file exists. A checkpoint can be read by a different number of ranks, because tensors are
// found by name, and each rank reads the elements that it needs.
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
  int64_t step = 0;            // number of updates done; it and the seed determine all later random numbers
  std::string trainer;         // JSON of the trainer's options
  std::filesystem::path path;  // file that was read
  std::string warning = {};    // reason why the file's choices (Executor::choices) were not used; else empty
  /// Results of checkpoint_layout at all ranks, in rank order. write_checkpoint needs them only for a
  /// pipeline.
  std::vector<std::string> layouts = {};
};

/// Returns the layout of the states on this rank's pipeline stage (state_layout.h), for
/// CheckpointInfo::layouts. Stages have different states, so the checkpoint needs the layouts of all ranks.
/// Returns an empty text if the plan is not that of a pipeline stage.
std::string checkpoint_layout(const Plan& plan);

/// Writes a checkpoint file: the states for which is_saved is true, the executor's measured choices
/// (Executor::choices), and a checksum over everything. The file is replaced atomically. If states are
/// sharded, only the first rank calls this function, after all ranks have called write_checkpoint_part;
/// `parts` has the result of each rank, in rank order.
void write_checkpoint(const std::filesystem::path& path, const Session& session, const CheckpointInfo& info,
                      std::span<const std::string> parts = {});
/// Writes this rank's parts of the sharded states to a file in the directory of the checkpoint `path`.
/// Returns the checksum of the file, or an empty text if this rank has no parts to write.
std::string write_checkpoint_part(const std::filesystem::path& path, const Session& session, int64_t step);
/// Returns whether checkpoints have the state. Left out are states of the roles gradient, cache, stream and
/// fault (Role in plan.h), rounded copies of other states (State::copy_of), and weights that never change
/// (State::from_model).
bool is_saved(const State& state);
/// Sets the session's states to those of the checkpoint. Before that, checks the structure and the checksums
/// of the file, and that its states are those of the plan; throws Error if a check fails. If the executor
/// cannot use the choices in the file, for example because they are from another device, the result has a
/// warning, and the executor measures again.
CheckpointInfo read_checkpoint(const std::filesystem::path& path, Session& session);

/// Returns the parameters of a checkpoint, with the names and shapes of the model's weight files. Throws
/// Error (invalid_file) if the file is damaged, which the checksum shows.
Checkpoint checkpoint_weights(const std::filesystem::path& path);
/// Returns the weights of a file or directory of weights, or the parameters of a checkpoint.
Checkpoint open_weights(const std::filesystem::path& path);

/// Returns the path of the checkpoint after `step` updates in a directory.
std::filesystem::path checkpoint_path(const std::filesystem::path& directory, int64_t step);
/// Returns the paths of the checkpoints in a directory, the one of the lowest step first. There are none if
/// the directory does not exist.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);
/// Returns the step that is in the file name of a result of list_checkpoints.
int64_t checkpoint_step(const std::filesystem::path& path);

/// A directory of checkpoints named by step.
class CheckpointDirectory {
 public:
  using Log = std::function<void(std::string_view)>;

  /// `keep` is the number of checkpoints that are kept; 0: all. Creates the directory if there is none.
  /// Removes incomplete files of a killed process, including parts without an index.
  CheckpointDirectory(std::filesystem::path directory, int64_t keep);

  /// Writes a checkpoint and returns its path. Then removes all but the `keep` newest ones. The arguments are
  /// those of write_checkpoint.
  std::filesystem::path save(const Session& session, const CheckpointInfo& info,
                             std::span<const std::string> parts = {});
  /// Reads the newest checkpoint that is not damaged. Newer checkpoints, which are damaged, are then renamed
  /// to *.damaged, with a message to `log`. Returns nothing if there is no checkpoint. Throws Error if all
  /// are damaged, or if a checkpoint belongs to another plan.
  std::optional<CheckpointInfo> restore(Session& session, const Log& log);
  /// Removes the checkpoints after more updates than `step`, which a run that resumes there makes again.
  void remove_after(int64_t step);
  /// Returns list_checkpoints of the directory.
  std::vector<std::filesystem::path> list() const { return list_checkpoints(directory_); }

 private:
  /// Removes all checkpoints but the `keep` newest ones; none if `keep` is 0.
  void prune();
  std::filesystem::path directory_;
  int64_t keep_;
};

}  // namespace smelt
