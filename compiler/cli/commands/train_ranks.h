// Training by several processes: joining the other ranks, and the properties that all ranks must have in
// common.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/trainer.h"
#include "runtime/ranks/mesh_ranks.h"

namespace smelt::cli {

class TrainRanks {
 public:
  /// Waits until all have joined. Throws Error naming both where the mesh is of another number of ranks.
  TrainRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh)
      : ranks_(ranks), launch_(launch), groups_(ranks, mesh) {}

  RankGroups& groups() { return groups_; }
  const Mesh& mesh() const { return groups_.mesh(); }
  /// Returns its position along the axis stage of the mesh; 0 where there is none.
  int64_t stage() const;
  /// The number of this rank's GPU (device_of); -1 where this machine has none.
  int device() const;
  /// Returns whether this rank takes part in sampling: ranks with the same batch as rank 0, and the ranks
  /// that these exchange parameters with.
  bool samples(const Plan& plan) const;
  /// Throws Error naming both where the plan is for another mesh, or naming an axis that nothing of it uses.
  void require_plan(const Plan& plan);
  /// Before the ranks exchange anything: throws Error, at all of them, where plans are of other meshes, or
  /// stages of a pipeline were compiled otherwise; it names both. `compiled`: null where the plan came as a
  /// file.
  void agree_stages(const Plan& plan, const CompileOptions* compiled);
  /// Throws Error, at all ranks, where two of them have other plans, code, data or options: it names both.
  /// `data`: Trainer::describe_data.
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
/// The mesh that was given, or all of `count` ranks along one axis. Throws Error naming both where their
/// numbers differ.
Mesh mesh_of_ranks(const Mesh& given, int64_t count, const RankUse& use = {});

/// Throws Error where the mesh has stages of a pipeline, for commands that do not train.
void require_no_stages(const Mesh& mesh);

/// Joins the other ranks and does the work with them. Only one rank throws the failure that ends the run; the
/// others end their processes.
void join_ranks(const Launch& launch, const std::function<void(Ranks&)>& work);

/// Returns the checksum of bytes that ranks compare.
std::string checksum_of(std::string_view bytes);

/// Calls `train` with the ranks of this process's launch variables, or with null where it was started alone.
/// Only one rank prints the failure that ends the run.
void train_over_ranks(const Mesh& mesh, const std::function<void(TrainRanks*)>& train);

}  // namespace smelt::cli
