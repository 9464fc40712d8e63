// Candidates of plan_search: the configurations in which several ranks may train one model.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt {

/// One configuration of the training of a model on several ranks.
struct PlanCandidate {
  Mesh mesh;                       // axes among data, model and stage, each of at least two ranks
  int zero = 0;                    // stage of ZeRO
  bool sequence_parallel = false;  // sequences are sharded along the axis `model`
  int64_t parts_a_stage = 1;       // model parts (virtual stages) per pipeline stage
  int64_t batch = 1;               // records (sequences) per micro-batch of a rank
  int64_t micro_batches = 1;       // micro-batches that a rank runs per update
  RecomputePolicy recompute = {};  // activations that backward computes again instead of storing them

  /// Returns the number of ranks along an axis of the mesh; 1 if there is no such axis.
  int64_t ranks(std::string_view axis) const;
  int64_t stages() const { return ranks(kStageAxis); }
  /// Returns the pipeline schedule with the least time: interleaved if stages have several parts, else 1F1B.
  PipelineOrder order() const;
  PipelineShape shape() const { return {stages(), micro_batches, parts_a_stage}; }

  bool operator==(const PlanCandidate&) const = default;
};

/// Returns all meshes of `ranks` ranks over the axes data, model and stage. Meshes with more ranks along
/// `data` come first.
std::vector<Mesh> training_meshes(int64_t ranks);

/// Returns the candidates of the mesh with one micro-batch, a batch of one and the default recomputation.
/// They are all combinations of the stages of ZeRO, whole and sharded sequences, and one or two parts per
/// pipeline stage. ZeRO 2 is left out, because with one micro-batch it is the same as ZeRO 1. ZeRO 3 is
/// also left out if the mesh has pipeline stages. The first candidate has no ZeRO, whole sequences and one
/// part.
std::vector<PlanCandidate> variants_of(const Mesh& mesh);

/// Returns the three recomputation policies that a search tries, the fastest first. A policy's price is the
/// largest number of seconds of recomputation that it spends to save a GiB of stored activations. The first
/// policy is the default one, with price 0. The second has the price of a matmul on this target
/// (matmul_price). The third has an infinite price, and checkpoints at the boundaries of layers.
std::vector<RecomputePolicy> recompute_levels(const Target& target, const CompileOptions& options);

/// Returns the options that compile one pipeline stage of the candidate, or the candidate as a whole if it
/// has no stages. `base`: the options that candidates do not change. B is the number of records per
/// micro-batch; its bound in `base` is `base_batch`. The names in base.entries are not used. If there are
/// any, the plan has only the entries that compute an update; if there are none, it may also have other
/// entries of training.
CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch,
                          int64_t stage = 0);

/// Returns `bounds` for a batch of `to` records instead of `from`: the bounds of B, and of products that
/// contain B, are multiplied by `to` / `from`. If there is no bound of B, adds the bound `to`.
std::vector<Symbols::Bound> with_batch(std::vector<Symbols::Bound> bounds, int64_t from, int64_t to);

}  // namespace smelt
