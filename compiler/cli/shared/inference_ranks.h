// Inference by several processes that have parts of one model: joining the other ranks, and the properties
// that all ranks must have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/cli/shared/model.h"
#include "compiler/driver/compile.h"
#include "runtime/ranks/mesh_ranks.h"
#include "runtime/session/session.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

class InferenceRanks {
 public:
  /// Waits until all have joined. Throws Error where ranks along an axis of the mesh would all do the same.
  InferenceRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh);

  RankGroups& groups() { return groups_; }
  /// Returns whether this is the rank that prints.
  bool is_first() const { return groups_.rank() == 0; }
  /// The mesh, and this rank's GPU.
  void add_to(CompileOptions& options) const;
  /// The same for a session, whose plan is for this mesh and target.
  void add_to(SessionOptions& options, const CompileOptions& compiled);
  /// The same for a plan that may be for another mesh; throws Error naming both then.
  void add_to(SessionOptions& options, const Plan& plan);
  /// Throws Error, at all ranks, where two of them have other plans, code, weights or values: it names both.
  void agree(std::string_view what, const Model& model, const Json& values);
  /// Gives all ranks the choices that the GPU of rank 0 made by measurement, such as algorithms of matmuls.
  /// All ranks call `runs` first, and its results are not used. A CPU makes no such choices, so there is
  /// nothing to share.
  void share_choices(Session& session, const std::function<void()>& runs);
  /// Returns at all ranks the text that rank 0 reads.
  std::string of_first(std::string_view what, const std::function<std::string()>& read);
  /// Reports progress for messages, and to distinguish a working rank from one that hangs.
  void progress(std::string_view what) { groups_.progress(what, 0); }

 private:
  int device(bool own_memory) const;

  Ranks& ranks_;
  Launch launch_;
  MeshRanks groups_;
};

/// Calls `work` with the ranks of this process's launch variables, or with null where it was started alone.
/// Only one rank prints the failure that ends the run. `command`: of smelt, for messages. Without --mesh all
/// ranks are along the axis model.
void infer_over_ranks(const Mesh& given, std::string_view command,
                      const std::function<void(InferenceRanks*)>& work);

}  // namespace smelt::cli
