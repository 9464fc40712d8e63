// Candidates of plan_search: the configurations in which several ranks may train one model.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "runtime/engine/training/pipeline_schedule.h"

namespace smelt {

struct PlanCandidate {
  Mesh mesh;                       // without axes of one rank
  int zero = 0;                    // stage of ZeRO
  bool sequence_parallel = false;  // sequences are sharded along the axis `model`
  int64_t parts_a_stage = 1;       // parts of the model per pipeline stage
  int64_t batch = 1;               // records per micro-batch of a rank
  int64_t micro_batches = 1;       // per update of a rank
  RecomputePolicy recompute = {};

  /// Returns the number of ranks along an axis of the mesh; 1 if there is no such axis.
  int64_t ranks(std::string_view axis) const;
  int64_t stages() const { return ranks(kStageAxis); }
  /// Returns the pipeline order with the least time: interleaved if stages have several parts, else 1f1b.
  PipelineOrder order() const;
  PipelineShape shape() const { return {stages(), micro_batches, parts_a_stage}; }

  bool operator==(const PlanCandidate&) const = default;
};

/// Returns all meshes of `ranks` ranks over the axes data, model and stage. Meshes with more ranks along
/// `data` come first.
std::vector<Mesh> training_meshes(int64_t ranks);

/// Returns the candidates of the mesh with one micro-batch, a batch of one and the default recomputation.
/// They are all combinations of the stages of ZeRO, whole and sharded sequences, and one or two parts per
/// pipeline stage. ZeRO 2 is left out, because with one micro-batch it is the same as ZeRO 1. With pipeline
/// stages, ZeRO 3 is left out, too. The first candidate has no ZeRO, whole sequences and one part.
std::vector<PlanCandidate> variants_of(const Mesh& mesh);

/// Returns the three recomputation policies that a search tries, the fastest first. A policy's price is the
/// seconds of recomputation that it spends to save a GiB. The first policy is the default one, with price 0.
/// The second has the price of a matmul on this target (matmul_price). The third has an infinite price, and
/// segments of one layer.
std::vector<RecomputePolicy> recompute_levels(const Target& target, const CompileOptions& options);

/// Returns the options that compile one pipeline stage of the candidate, or the candidate as a whole if it
/// has no stages. `base`: options whose bound of B is `base_batch` records. If base.entries is empty, the
/// entries are all entries of training that the candidate needs; otherwise only those of an update.
CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch,
                          int64_t stage = 0);

/// Returns the bounds with those of B, and of products with B, scaled from `from` records to `to` records.
/// Adds a bound of B if there is none.
std::vector<Symbols::Bound> with_batch(std::vector<Symbols::Bound> bounds, int64_t from, int64_t to);

}  // namespace smelt
