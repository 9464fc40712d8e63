// The whole state of a training run in one safetensors file, written so that a kill, a full disk or a damaged
// file never costs more than the steps since the previous one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class Session;

struct CheckpointInfo {
  int64_t step = 0;            // updates done; with the seed, this is the whole state of every random number
  std::string trainer;         // JSON of the options the run had
  std::filesystem::path path;  // where it was read from
  std::string warning = {};    // what of it could not be taken, and what that means
};

/// All states but gradients (zero between steps) and what the executor chose by measuring, with a checksum
/// over everything, replaced as a whole.
void write_checkpoint(const std::filesystem::path& path, const Session& session, const CheckpointInfo& info);
/// Checks structure, checksum and fit to the plan before it changes the session; throws Error otherwise. An
/// executor that cannot take the recorded choices (of another device, say) makes its own: a warning.
CheckpointInfo read_checkpoint(const std::filesystem::path& path, Session& session);

/// A directory of checkpoints named by step.
class CheckpointDirectory {
 public:
  using Log = std::function<void(std::string_view)>;

  /// `keep` newest ones stay; 0 keeps all. Removes what a killed process left half-written.
  CheckpointDirectory(std::filesystem::path directory, int64_t keep);

  /// Older ones are removed only after the new one is safely on the disk. Returns its path.
  std::filesystem::path save(const Session& session, const CheckpointInfo& info);
  /// The newest checkpoint that is whole. A damaged one is renamed to *.damaged, with a message, and the one
  /// before it is tried; one of another plan is an Error.
  std::optional<CheckpointInfo> restore(Session& session, const Log& log);
  /// Oldest first.
  std::vector<std::filesystem::path> list() const;

 private:
  void prune();
  std::filesystem::path directory_;
  int64_t keep_;
};

}  // namespace smelt
