// Ways in which several ranks may train one model: what plan_search chooses from.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"

namespace smelt {

struct PlanCandidate {
  Mesh mesh;  // without axes of one rank
  int zero = 0;
  int64_t batch = 1;          // records of a rank's micro-step
  int64_t micro_batches = 1;  // of a rank, an update
  RecomputePolicy recompute;

  bool operator==(const PlanCandidate&) const = default;
};

/// The meshes of so many ranks over the axes that training uses, most ranks along `data` first.
std::vector<Mesh> training_meshes(int64_t ranks);
/// Ranks of the mesh that see different batches.
int64_t data_ranks(const Mesh& mesh);

/// The levels of recomputation that are tried, the fastest first, for a target that a GiB of matmuls of so
/// many seconds is computed again on (memory_curve.h).
std::vector<RecomputePolicy> recompute_levels(const Target& target, const CompileOptions& options);

/// The options that compile the candidate: `base` has the bounds of `base_batch` records. Its entries are
/// those of training, or, where base names entries, those of them that the candidate has.
CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch);

/// Bounds of B, and of products with it, changed from `from` records to `to`.
std::vector<Symbols::Bound> with_batch(std::vector<Symbols::Bound> bounds, int64_t from, int64_t to);

}  // namespace smelt
