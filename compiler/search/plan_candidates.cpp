#include "compiler/search/plan_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/step_cost.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

constexpr std::string_view kBatch = "B";
/// Axes of a mesh that training uses, those that cut batches first: another one is a row more.
constexpr std::string_view kAxes[] = {"data", "model"};

/// Meshes of `ranks` ranks over the axes from `first` on, behind `begin`.
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

int64_t data_ranks(const Mesh& mesh) {
  const auto data = mesh.find("data");
  return data ? mesh.axes[*data].size : 1;
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

CompileOptions options_of(const PlanCandidate& candidate, const CompileOptions& base, int64_t base_batch) {
  CompileOptions options = base;
  options.mesh = candidate.mesh;
  options.zero = candidate.zero;
  options.recompute = candidate.recompute;
  options.memory_budget.reset();
  options.memory_curve = false;
  options.build.bounds = with_batch(base.build.bounds, base_batch, candidate.batch);
  const bool accumulates = candidate.micro_batches > 1;
  options.training.accumulation = accumulates;
  if (!accumulates)
    options.entries = {"train_step"};
  else if (base.entries.empty())
    options.entries = {"train_step", "accumulate", "apply"};
  else
    options.entries = {"accumulate", "apply"};
  return options;
}

}  // namespace smelt
