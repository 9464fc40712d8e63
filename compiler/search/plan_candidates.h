// Ways in which several ranks may train one model: what plan_search chooses from.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt {

struct PlanCandidate {
  Mesh mesh;  // without axes of one rank
  int zero = 0;
  bool sequence_parallel = false;  // of ranks along `model`
  int64_t parts_a_stage = 1;       // where there are stages
  int64_t batch = 1;               // records of a rank's micro-step
  int64_t micro_batches = 1;       // of a rank, an update
  RecomputePolicy recompute = {};

  /// Ranks along an axis of the mesh; 1 where it has none of that name.
  int64_t ranks(std::string_view axis) const;
  int64_t stages() const { return ranks(kStageAxis); }
  /// Returns the order of the stages that takes the least time.
  PipelineOrder order() const;
  PipelineShape shape() const { return {stages(), micro_batches, parts_a_stage}; }

  bool operator==(const PlanCandidate&) const = default;
};

/// Returns the meshes of `ranks` ranks over the axes that training uses, most ranks along `data` first.
std::vector<Mesh> training_meshes(int64_t ranks);

/// Returns the candidates of the mesh with one micro-batch, no recomputation, and a batch of one: stages of
/// ZeRO (without 2, which is 1 where there is one micro-batch), with and without sharded sequences, and parts
/// of a pipeline. The first has none of these.
std::vector<PlanCandidate> variants_of(const Mesh& mesh);

/// Returns the levels of recomputation that are tried, the fastest first: none, at the price of a matmul on
/// this target (matmul_price), and at any price (memory_choice.h).
std::vector<RecomputePolicy> recompute_levels(const Target& target, const CompileOptions& options);

/// The options that compile a stage of the candidate: `base` has the bounds of `base_batch` records. Its
/// entries are those of training, or, where base names entries, those of them that the candidate has.
CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch,
                          int64_t stage = 0);

/// Bounds of B, and of products with it, changed from `from` records to `to`.
std::vector<Symbols::Bound> with_batch(std::vector<Symbols::Bound> bounds, int64_t from, int64_t to);

}  // namespace smelt
