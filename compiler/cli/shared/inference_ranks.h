// Inference by several processes, the ranks, each of which has a part of the model: how they join, and the
// properties that all ranks must have in common.
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

/// This process as one of the ranks.
class InferenceRanks {
 public:
  /// Waits until all ranks have joined. Throws Error if the mesh has several ranks along another axis than
  /// `model`, because these ranks would all compute the same.
  InferenceRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh);

  RankGroups& groups() { return groups_; }
  /// Returns whether this is the rank that prints.
  bool is_first() const { return groups_.rank() == 0; }
  /// Sets the mesh and this rank's GPU in the options of compilation.
  void add_to(CompileOptions& options) const;
  /// Sets the ranks and this rank's GPU for a session of a plan that was compiled with `compiled`.
  void add_to(SessionOptions& options, const CompileOptions& compiled);
  /// Sets the ranks and this rank's GPU for a session of a plan from a file. Throws Error with both meshes if
  /// the plan was compiled for another mesh.
  void add_to(SessionOptions& options, const Plan& plan);
  /// Compares the plans, the compiler's builds, `values` (an object) and the weights of all ranks. Of each
  /// tensor of the weights, only the name, the type, the shape and some of the numbers are compared. If two
  /// ranks differ, throws Error at all ranks with both values. `what`: a name of the comparison, for
  /// messages.
  void agree(std::string_view what, const Model& model, const Json& values);
  /// Copies the choices that rank 0 made by measurement on its GPU, such as algorithms of matmuls, to all
  /// ranks. To make these choices, all ranks first call `runs`, whose results are not used. Does nothing if
  /// the plan is for a CPU, where nothing is measured.
  void share_choices(Session& session, const std::function<void()>& runs);
  /// Calls `read` at rank 0 only, and returns its text at all ranks. `what`: a name of the text, for
  /// messages.
  std::string of_first(std::string_view what, const std::function<std::string()>& read);
  /// Reports that this rank has begun the work that `what` names. The report is used in messages, and to
  /// distinguish a working rank from one that hangs.
  void progress(std::string_view what) { groups_.progress(what, 0); }

 private:
  int device(bool own_memory) const;  // number of this rank's GPU; -1: none

  Ranks& ranks_;
  Launch launch_;
  MeshRanks groups_;
};

/// Calls `work` with the ranks that the environment's launch variables (read_launch) specify, or with null if
/// this process was started alone. Only one rank prints the failure that ends the run. `given`: the mesh of
/// --mesh; empty: all ranks are along the axis `model`. `command`: the name of the command, for messages.
void infer_over_ranks(const Mesh& given, std::string_view command,
                      const std::function<void(InferenceRanks*)>& work);

}  // namespace smelt::cli
