// Training by several processes, the ranks: how they join, and the properties that all ranks must have in
// common. "Launch variables" are the environment variables that tell a process its rank (read_launch).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/ranks/mesh_ranks.h"

namespace smelt::cli {

/// This process as one of the ranks.
class TrainRanks {
 public:
  /// Waits until all ranks have joined. Throws Error with both numbers if the number of ranks in the mesh
  /// differs from the number of ranks that were started.
  TrainRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh)
      : ranks_(ranks), launch_(launch), groups_(ranks, mesh) {}

  RankGroups& groups() { return groups_; }
  const Mesh& mesh() const { return groups_.mesh(); }
  /// Returns this rank's coordinate along the axis `stage` of the mesh; 0 if there is no such axis.
  int64_t stage() const;
  /// Returns the number of this rank's GPU (device_of); -1 if this machine has none.
  int device() const;
  /// Returns whether this rank takes part in generating sample texts during training. Ranks take part if they
  /// have the same batch as rank 0, or if the entry `logits` exchanges values along the axis `data`.
  bool samples(const Plan& plan) const;
  /// Throws Error with both meshes if the plan is for another mesh. Throws Error with the axis if the mesh
  /// has several ranks along an axis that the plan does not use.
  void require_plan(const Plan& plan);
  /// Compares the compiler's build, the plans' meshes and targets, and, for pipeline stages, the options that
  /// the plans were compiled with. If two ranks differ, throws Error at all ranks with both values. The ranks
  /// call it before agree(). `compiled`: null if the plan was loaded from a file.
  void agree_stages(const Plan& plan, const CompileOptions* compiled);
  /// Compares the plan, the compiler's build, the data and the options of all ranks. If two ranks differ,
  /// throws Error at all ranks with both values. `data`: the result of Trainer::describe_data.
  void agree(const Plan& plan, const std::string& data, const TrainerOptions& options);

 private:
  Ranks& ranks_;
  Launch launch_;
  MeshRanks groups_;
};

/// A command of smelt, and the default axis of its ranks.
struct RankUse {
  std::string_view command = "train", axis = "data";
};
/// Returns `given`, or, if it is empty, a mesh with all `count` ranks along the axis use.axis. Throws Error
/// with both numbers if `given` does not have `count` ranks.
Mesh mesh_of_ranks(const Mesh& given, int64_t count, const RankUse& use = {});

/// Throws Error if the mesh has several pipeline stages. For commands that do not train.
void require_no_stages(const Mesh& mesh);

/// Joins the other ranks and calls `work`. If the run fails, one rank throws the failure; the others end with
/// exit status 1 and print nothing, so that the message appears once.
void join_ranks(const Launch& launch, const std::function<void(Ranks&)>& work);

/// Returns the checksum of `bytes` in hexadecimal. Ranks compare the checksum instead of the bytes.
std::string checksum_of(std::string_view bytes);

/// Calls `train` with the ranks that the launch variables specify, or with null if this process was started
/// alone. Only one rank prints the failure that ends a run.
void train_over_ranks(const Mesh& mesh, const std::function<void(TrainRanks*)>& train);

}  // namespace smelt::cli
