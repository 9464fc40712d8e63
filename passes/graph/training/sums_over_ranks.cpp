#include "passes/graph/training/sums_over_ranks.h"

#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/training/flatten_parameters.h"

namespace smelt {
namespace {

bool is_cut_over(const Segment& segment, const MeshAxis& axis) {
  return llvm::any_of(segment.cut, [&](const auto& names) { return llvm::is_contained(names, axis.name); });
}

/// The axes that cut any segment.
std::vector<MeshAxis> cutting_axes(const Mesh& mesh, const State& flat) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis& axis : mesh.axes)
    if (llvm::any_of(flat.segments, [&](const Segment& segment) { return is_cut_over(segment, axis); }))
      axes.push_back(axis);
  return axes;
}

/// Returns whether another stage's copy counts, of a segment that several hold.
bool is_counted_elsewhere(const Segment& segment, const Module& module) {
  return module.stage && !segment.stages.empty() && segment.stages.front() != *module.stage;
}

/// Returns the weight of each rank's numbers of the segment: those of a whole segment are summed once per
/// rank.
double weight_of(const Segment& segment, llvm::ArrayRef<MeshAxis> axes, const Module& module) {
  double weight = is_counted_elsewhere(segment, module) ? 0 : 1;
  for (const MeshAxis& axis : axes)
    if (!is_cut_over(segment, axis)) weight /= static_cast<double>(axis.size);
  return weight;
}

/// Neighbours of equal weight, from the first one's begin to the last one's end.
struct WeightedRange {
  int64_t begin, end;
  double weight;
};
std::vector<WeightedRange> weighted_ranges(const State& flat, llvm::ArrayRef<MeshAxis> axes,
                                           const Module& module) {
  std::vector<WeightedRange> ranges;
  for (const Segment& segment : flat.segments) {
    const WeightedRange range{segment.offset, segment.offset + segment.elements(),
                              weight_of(segment, axes, module)};
    if (!ranges.empty() && ranges.back().weight == range.weight)
      ranges.back().end = range.end;
    else
      ranges.push_back(range);
  }
  return ranges;
}

Value* weighted(GraphBuilder& b, const WeightedRange& range, Value* elements, Value* place) {
  const auto at = [&](int64_t limit) { return b.like(place, static_cast<double>(limit)); };
  Value* inside = b.logical_and(b.ge(place, at(range.begin)), b.lt(place, at(range.end)));
  return b.select(inside, scale(b, elements, range.weight), elements);
}

Value* all_reduced(GraphBuilder& b, llvm::ArrayRef<MeshAxis> axes, Value* value) {
  for (const MeshAxis& axis : axes)
    value =
        b.create(Op::collective, {value}, {attr::kind("all_reduce"), attr::mesh_axis(axis.name)})->result();
  return value;
}

}  // namespace

Value* sum_over_ranks(GraphBuilder& b, const State& flat, Value* elements) {
  const std::vector<MeshAxis> axes = cutting_axes(b.module().mesh(), flat);
  Value* place = nullptr;
  for (const WeightedRange& range : weighted_ranges(flat, axes, b.module())) {
    if (range.weight == 1) continue;
    if (!place) place = flat_places(b, elements->shape());
    elements = weighted(b, range, elements, place);
  }
  return sum_over_stages(b, all_reduced(b, axes, b.sum(elements, leading_axes(elements->rank()))));
}

Value* sum_over_stages(GraphBuilder& b, Value* value) {
  if (!b.module().stage) return value;
  const auto axis = b.module().mesh().find(kStageAxis);
  return axis ? all_reduced(b, b.module().mesh().axes[*axis], value) : value;
}

Value* segment_sums_over_ranks(GraphBuilder& b, const State& flat, Value* by_segment) {
  const std::vector<MeshAxis> axes = cutting_axes(b.module().mesh(), flat);
  if (axes.empty()) return by_segment;
  std::vector<double> weights;
  for (const Segment& segment : flat.segments)
    weights.push_back(is_counted_elsewhere(segment, b.module()) ? 1 : weight_of(segment, axes, b.module()));
  return all_reduced(b, axes, b.mul(by_segment, b.table(weights, by_segment->type)));
}

}  // namespace smelt
