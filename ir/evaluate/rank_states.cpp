#include "ir/evaluate/evaluate_ranks.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/base/tensor.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {

bool has_cut_segments(const State& state) {
  return llvm::any_of(state.segments, [](const Segment& segment) { return is_cut(segment); });
}

std::string segment_key(const std::string& state, const std::string& segment) {
  return state + "/" + segment;
}

namespace {

Sharding sharding_of(const Segment& segment, const Mesh& mesh) { return {axes_of(segment, mesh), {}}; }

/// Without the padding between segments, and of a rank's flat state.
Tensor slice(const Tensor& flat, const Segment& segment) {
  Tensor part{flat.dtype, segment.shape, {}};
  const auto from = flat.data.begin() + segment.offset;
  part.data.assign(from, from + segment.elements());
  return part;
}

const Tensor* given_segment(const State& state, const Segment& segment, const Tensors& given) {
  if (const auto found = given.find(segment_key(state.name, segment.name)); found != given.end())
    return &found->second;
  const auto found = state.role == Role::parameter ? given.find(segment.name) : given.end();
  return found == given.end() ? nullptr : &found->second;
}

int64_t elements_of(const State& state) {
  return *(state.whole.empty() ? state.shape : state.whole).front().constant();
}

/// The axes that tell ranks with other flat states apart: those that cut a segment.
std::vector<size_t> segment_axes(const State& state, const Mesh& mesh) {
  std::vector<size_t> axes;
  for (const Segment& segment : state.segments)
    for (const auto& dim : axes_of(segment, mesh))
      for (const size_t axis : dim)
        if (!llvm::is_contained(axes, axis)) axes.push_back(axis);
  return axes;
}

/// Every rank's flat state: a line of those that ranks have together, [lines,elements].
std::vector<Tensor> flats_of_ranks(const State& state, std::vector<Tensor> parts, const Mesh& mesh) {
  Sharding lines = smelt::sharding_of(state, mesh);
  lines.dims.insert(lines.dims.begin(), segment_axes(state, mesh));
  for (Tensor& part : parts) part.shape.insert(part.shape.begin(), 1);
  const Tensor all = joined(parts, lines, mesh, "state " + state.name);
  const Sharding own{{lines.dims[0], {}}, {}};
  std::vector<Tensor> flats;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) flats.push_back(part_of(all, own, mesh, rank));
  return flats;
}

}  // namespace

Tensors segments_of(const State& state, const Tensor& flat) {
  Tensors tensors;
  for (const Segment& segment : state.segments)
    tensors[segment_key(state.name, segment.name)] = slice(flat, segment);
  return tensors;
}

std::optional<Tensor> flat_part(const State& state, const Tensors& given, const Mesh& mesh, int64_t rank) {
  Tensor flat{state.dtype, {elements_of(state)}, {}};
  flat.data.resize(static_cast<size_t>(flat.shape[0]));
  for (const Segment& segment : state.segments) {
    const Tensor* whole = given_segment(state, segment, given);
    if (!whole) return std::nullopt;
    if (whole->shape != whole_shape(segment))
      fail("segment \"{}\" of state \"{}\" was given in another shape", segment.name, state.name);
    const Tensor part = part_of(*whole, sharding_of(segment, mesh), mesh, rank);
    std::ranges::copy(part.data, flat.data.begin() + segment.offset);
  }
  return part_of(flat, smelt::sharding_of(state, mesh), mesh, rank);
}

Tensors joined_segments(const State& state, const std::vector<Tensor>& parts, const Mesh& mesh) {
  const std::vector<Tensor> flats = flats_of_ranks(state, parts, mesh);
  Tensors segments;
  for (const Segment& segment : state.segments) {
    std::vector<Tensor> pieces;
    for (const Tensor& flat : flats) pieces.push_back(slice(flat, segment));
    const std::string key = segment_key(state.name, segment.name);
    segments[key] = joined(pieces, sharding_of(segment, mesh), mesh, "segment " + key);
  }
  return segments;
}

}  // namespace smelt
