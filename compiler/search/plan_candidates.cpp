#include "compiler/search/plan_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/driver/step_cost.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr std::string_view kBatch = "B", kModel = "model";
/// Axes of a mesh that training uses, those that shard batches first. A new axis is a new row.
constexpr std::string_view kAxes[] = {"data", kModel, kStageAxis};

/// Parts of a stage where it has several: more halve the idle time again, and send twice as often.
constexpr int64_t kMostParts = 2;

/// Adds the meshes of `ranks` ranks over the axes from `first` on, which come after `begin`.
void add_meshes(size_t first, int64_t ranks, const Mesh& begin, std::vector<Mesh>& meshes) {
  if (first == std::size(kAxes)) {
    if (ranks == 1) meshes.push_back(begin);
    return;
  }
  for (int64_t size = ranks; size >= 1; --size) {
    if (ranks % size != 0) continue;
    Mesh mesh = begin;
    if (size > 1) mesh.axes.push_back({std::string(kAxes[first]), size});
    add_meshes(first + 1, ranks / size, mesh, meshes);
  }
}

bool is_of_batch(const Symbols::Bound& bound) { return llvm::is_contained(bound.factors, kBatch); }

}  // namespace

std::vector<Mesh> training_meshes(int64_t ranks) {
  std::vector<Mesh> meshes;
  add_meshes(0, ranks, {}, meshes);
  return meshes;
}

int64_t PlanCandidate::ranks(std::string_view axis) const {
  const auto found = mesh.find(axis);
  return found ? mesh.axes[*found].size : 1;
}

/// 1f1b takes the time of gpipe and keeps less.
PipelineOrder PlanCandidate::order() const {
  return parts_a_stage > 1 ? PipelineOrder::interleaved : PipelineOrder::one_f_one_b;
}

std::vector<PlanCandidate> variants_of(const Mesh& mesh) {
  const PlanCandidate plain{.mesh = mesh};
  const bool has_stages = plain.stages() > 1;
  std::vector<int> zeros = {0};
  if (plain.ranks("data") > 1) zeros = has_stages ? std::vector{0, 1} : std::vector{0, 1, 3};
  std::vector<PlanCandidate> variants;
  for (const int64_t parts : {int64_t{1}, kMostParts})
    for (const bool shares : {false, true})
      for (const int zero : zeros) {
        if ((parts > 1 && !has_stages) || (shares && plain.ranks(kModel) == 1)) continue;
        PlanCandidate variant = plain;
        variant.parts_a_stage = parts, variant.sequence_parallel = shares, variant.zero = zero;
        variants.push_back(variant);
      }
  return variants;
}

std::vector<RecomputePolicy> recompute_levels(const Target& target, const CompileOptions& options) {
  const double price = matmul_price(rates_of(target), options.storage, options.tf32);
  constexpr double kAnyPrice = std::numeric_limits<double>::infinity();
  return {{}, {.seconds_per_gib = price}, {.seconds_per_gib = kAnyPrice, .layers = 1}};
}

std::vector<Symbols::Bound> with_batch(std::vector<Symbols::Bound> bounds, int64_t from, int64_t to) {
  for (Symbols::Bound& bound : bounds)
    if (is_of_batch(bound)) bound.upper = std::max<int64_t>(1, (bound.upper * to + from - 1) / from);
  const bool is_bound =
      llvm::any_of(bounds, [](const Symbols::Bound& b) { return b.factors.size() == 1 && is_of_batch(b); });
  if (!is_bound) bounds.push_back({{std::string(kBatch)}, to});
  return bounds;
}

namespace {

/// Returns the entries of one stage of a pipeline: the graphs of its parts, which become forward and
/// backward.
std::vector<std::string> stage_entries(const PlanCandidate& candidate, const std::string& loss,
                                       int64_t stage) {
  std::vector<std::string> entries = {"batch", "apply"};
  const PipelineShape shape = candidate.shape();
  for (int64_t part = stage; part < shape.parts(); part += shape.stages)
    entries.push_back(fmt::format("{}.{}", loss, part));
  return entries;
}

std::vector<std::string> entries_of(const PlanCandidate& candidate, const CompileOptions& base,
                                    int64_t stage) {
  const bool is_chosen = !base.entries.empty();
  if (candidate.stages() > 1)
    return is_chosen ? stage_entries(candidate, base.training.loss, stage) : std::vector<std::string>();
  if (candidate.micro_batches == 1) return {"train_step"};
  return is_chosen ? std::vector<std::string>{"accumulate", "apply"}
                   : std::vector<std::string>{"train_step", "accumulate", "apply"};
}

}  // namespace

CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch,
                          int64_t stage) {
  CompileOptions options = base;
  options.mesh = candidate.mesh;
  options.zero = candidate.zero;
  options.sequence_parallel = candidate.sequence_parallel;
  options.stage = stage, options.parts_a_stage = candidate.parts_a_stage;
  options.recompute = candidate.recompute;
  options.memory_budget.reset();
  options.memory_curve = false;
  options.build.bounds = with_batch(base.build.bounds, base_batch, candidate.batch);
  options.training.accumulation = candidate.micro_batches > 1;
  options.entries = entries_of(candidate, base, stage);
  return options;
}

}  // namespace smelt
