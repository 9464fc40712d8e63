// The whole state of a training run, written so that a kill, a full disk or a damaged file never costs more
// than the steps since the previous one.
//
// It is one safetensors file. Where ranks have parts of states, each writes its own beside it first, and the
// file, with what is whole at every rank, is their index: a checkpoint exists from when its index does. A
// reader may hold other parts, as a rank of another number of ranks: what is compared and read are elements
// of named tensors.
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
  /// To write that of a pipeline: what checkpoint_layout returned at each rank, in order.
  std::vector<std::string> layouts = {};
};

/// What the index of a checkpoint has to say of this rank's states, where its stage of a pipeline has others
/// than the first one; empty where there is no pipeline.
std::string checkpoint_layout(const Plan& plan);

/// Writes all states but gradients (zero between steps) and the executor's measured choices, with a checksum
/// over everything; the file is replaced as a whole. Where ranks have parts of states, `parts` is what
/// write_checkpoint_part returned at each of them, in order: the first rank writes the index.
void write_checkpoint(const std::filesystem::path& path, const Session& session, const CheckpointInfo& info,
                      std::span<const std::string> parts = {});
/// Writes what this rank is to write of states that are cut, beside the checkpoint of this path; returns its
/// checksum, or nothing where there is nothing to write.
std::string write_checkpoint_part(const std::filesystem::path& path, const Session& session, int64_t step);
/// Whether checkpoints hold a state.
bool is_saved(const State& state);
/// Checks structure, checksums and fit to the plan before it changes the session; throws Error where one is
/// wrong. An executor that cannot use the recorded choices (of another device, say) makes its own, with a
/// warning.
CheckpointInfo read_checkpoint(const std::filesystem::path& path, Session& session);

/// The parameters of a checkpoint under the names and in the shapes of the model's own weights. The checksum
/// is compared: a damaged file is an Error (invalid_file).
Checkpoint checkpoint_weights(const std::filesystem::path& path);
/// A file or directory of weights, or a checkpoint's.
Checkpoint open_weights(const std::filesystem::path& path);

/// Where a directory has the checkpoint of a step.
std::filesystem::path checkpoint_path(const std::filesystem::path& directory, int64_t step);
/// The checkpoints in a directory, oldest first; none where there is no such directory. Nothing is changed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);
/// Updates done, by the name of a path of list_checkpoints.
int64_t checkpoint_step(const std::filesystem::path& path);

/// A directory of checkpoints named by step.
class CheckpointDirectory {
 public:
  using Log = std::function<void(std::string_view)>;

  /// `keep` newest ones stay; 0 keeps all. Removes what a killed process left half-written, parts without
  /// their index among it.
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
