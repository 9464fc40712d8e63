// Inference by several processes that have parts of one model: how one of them joins the others, and what all
// must have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/cli/model.h"
#include "compiler/compile.h"
#include "runtime/ranks/mesh_ranks.h"
#include "runtime/session.h"
#include "runtime/system/json_text.h"

namespace smelt::cli {

class InferenceRanks {
 public:
  /// Waits until all have joined. Throws Error where ranks along an axis of the mesh would all do the same.
  InferenceRanks(Ranks& ranks, const Launch& launch, const Mesh& mesh);

  RankGroups& groups() { return groups_; }
  /// Whether this is the rank that prints.
  bool is_first() const { return groups_.rank() == 0; }
  /// The mesh, and this rank's GPU.
  void add_to(CompileOptions& options) const;
  /// The same of a session, whose plan is of this mesh and its target.
  void add_to(SessionOptions& options, const std::string& target);
  /// For a plan that may be of another one; throws Error naming both then.
  void add_to(SessionOptions& options, const Plan& plan);
  /// Throws Error, at all ranks, where two of them have other plans, code, weights or values: it names both.
  void agree(std::string_view what, const Model& model, const Json& values);
  /// What a GPU chooses by measuring, such as algorithms of matmuls, becomes rank 0's at all ranks: all do
  /// `runs` first, whose results nobody needs. On a CPU, which chooses nothing, there are none.
  void share_choices(Session& session, const std::function<void()>& runs);
  /// What rank 0 reads, at all ranks.
  std::string of_first(std::string_view what, const std::function<std::string()>& read);
  /// For messages, and so that a rank that goes on is told from one that hangs.
  void progress(std::string_view what) { groups_.progress(what, 0); }

 private:
  int device(const std::string& target) const;

  Ranks& ranks_;
  Launch launch_;
  MeshRanks groups_;
};

/// Calls `work` with what the launch variables of this process say, or with null where it was started alone.
/// One rank alone says what ends the run. `command`: of smelt, for messages. Without --mesh all ranks are
/// along the axis model.
void infer_over_ranks(const std::string& mesh, std::string_view command,
                      const std::function<void(InferenceRanks*)>& work);

}  // namespace smelt::cli
