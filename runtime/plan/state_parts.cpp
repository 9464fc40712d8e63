#include "runtime/plan/state_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/base/tensor.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

/// Into how many parts a dim is cut, and which of them the rank has.
struct DimPart {
  int64_t parts = 1, place = 0;
};

DimPart part_of(const std::vector<std::string>& axes, const Mesh& mesh, const std::vector<int64_t>& places,
                const State& state) {
  DimPart part;
  for (const std::string& name : axes) {
    const auto axis = mesh.find(name);
    if (!axis)
      fail_with(Status::invalid_file, "state '{}' is cut over the axis '{}', which the mesh ({}) has not",
                state.name, name, str(mesh));
    part.parts *= mesh.axes[*axis].size;
    part.place = part.place * mesh.axes[*axis].size + places[*axis];
  }
  return part;
}

std::vector<DimPart> parts_of(const State& state, const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> places = mesh.coordinates(rank);
  std::vector<DimPart> parts(state.shape.size());
  for (size_t i = 0; i < std::min(parts.size(), state.cut.size()); ++i)
    parts[i] = part_of(state.cut[i], mesh, places, state);
  return parts;
}

/// Returns the number of elements per index of `dim` over all ranks: the product of the later extents.
int64_t elements_behind(const std::vector<int64_t>& extents, size_t dim) {
  return count_elements(std::span(extents).subspan(dim + 1));
}

void require_even(const State& state, const std::vector<int64_t>& extents,
                  const std::vector<DimPart>& parts) {
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] % parts[i].parts != 0)
      fail_with(Status::invalid_file, "state '{}': {} ranks do not divide its dim {} of {}", state.name,
                parts[i].parts, i, extents[i]);
}

/// Returns the begins of the runs of the dims before `dim`, as elements from the state's beginning.
std::vector<int64_t> begins(const std::vector<int64_t>& extents, const std::vector<DimPart>& parts,
                            size_t dim) {
  std::vector<int64_t> begins = {0};
  for (size_t i = 0; i < dim; ++i) {
    const int64_t own = extents[i] / parts[i].parts, stride = elements_behind(extents, i);
    std::vector<int64_t> next;
    for (const int64_t begin : begins)
      for (int64_t at = 0; at < own; ++at) next.push_back(begin + (parts[i].place * own + at) * stride);
    begins = std::move(next);
  }
  return begins;
}

}  // namespace

bool is_cut(const State& state) {
  return std::ranges::any_of(state.cut, [](const auto& axes) { return !axes.empty(); });
}

bool is_in_parts(const State& state) {
  return is_cut(state) || std::ranges::any_of(state.segments, [](const Segment& s) { return is_cut(s); });
}

bool is_in_parts(const State& state, const Mesh& mesh) {
  const auto axis = mesh.find(kStageAxis);
  const bool is_of_stage = axis && mesh.axes[*axis].size > 1 && !state.segments.empty();
  return is_of_stage || is_in_parts(state);
}

namespace {

const Shape& whole_of(const State& state) { return state.whole.empty() ? state.shape : state.whole; }

std::string fault_of_dim(const State& state, size_t dim, const Mesh& mesh) {
  int64_t parts = 1;
  for (const std::string& name : state.cut[dim]) {
    const auto axis = mesh.find(name);
    if (!axis) return fmt::format("is cut over the axis '{}', which the mesh has not", name);
    parts *= mesh.axes[*axis].size;
  }
  const Dim& whole = whole_of(state)[dim];
  if (parts == 1 || state.shape[dim] * parts == whole) return {};
  return fmt::format("is cut into {} parts of {}: expected them to make {}", parts, state.shape[dim].str(),
                     whole.str());
}

}  // namespace

std::string fault_of_parts(const State& state, const Mesh& mesh) {
  const size_t dims = state.shape.size();
  if (!state.cut.empty() && state.cut.size() != dims)
    return fmt::format("is cut in {} dims: expected {}", state.cut.size(), dims);
  if (!state.whole.empty() && state.whole.size() != dims)
    return fmt::format("has {} dims over all ranks: expected {}", state.whole.size(), dims);
  for (size_t dim = 0; dim < state.cut.size(); ++dim)
    if (std::string fault = fault_of_dim(state, dim, mesh); !fault.empty()) return fault;
  return {};
}

bool have_same_elements(const State& a, const State& b) {
  const auto same_place = [](const Segment& x, const Segment& y) {
    return x.name == y.name && x.shape == y.shape && x.offset == y.offset;
  };
  return whole_of(a) == whole_of(b) && (a.cut != b.cut || a.shape == b.shape) &&
         (a.cut == b.cut || std::ranges::equal(a.segments, b.segments, same_place));
}

std::vector<int64_t> whole_extents(const State& state) {
  std::vector<int64_t> extents;
  for (const Dim& dim : whole_of(state)) {
    if (!dim.constant()) fail("state '{}' is of {} elements: expected a number", state.name, dim.str());
    extents.push_back(*dim.constant());
  }
  return extents;
}

std::vector<StateRun> state_runs(const State& state, const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> extents = whole_extents(state);
  if (!is_cut(state)) return {{0, 0, count_elements(extents)}};
  const std::vector<DimPart> parts = parts_of(state, mesh, rank);
  require_even(state, extents, parts);
  size_t inner = parts.size() - 1;  // the last dim that is cut
  while (parts[inner].parts == 1 && inner > 0) --inner;
  const int64_t own = extents[inner] / parts[inner].parts * elements_behind(extents, inner);
  std::vector<StateRun> runs;
  for (const int64_t begin : begins(extents, parts, inner))
    runs.push_back({begin + parts[inner].place * own, static_cast<int64_t>(runs.size()) * own, own});
  return runs;
}

std::vector<TensorRun> tensor_runs(const State& state, const Mesh& mesh, int64_t rank) {
  std::vector<TensorRun> tensors;
  for (const StateRun& run : state_runs(state, mesh, rank)) {
    if (state.segments.empty()) tensors.push_back({nullptr, run.whole, run.local, run.elements});
    const auto ends_later = [](const Segment& s, int64_t at) { return s.offset + s.elements() <= at; };
    auto segment = std::lower_bound(state.segments.begin(), state.segments.end(), run.whole, ends_later);
    for (; segment != state.segments.end() && segment->offset < run.whole + run.elements; ++segment) {
      const int64_t from = std::max(run.whole, segment->offset);
      const int64_t to = std::min(run.whole + run.elements, segment->offset + segment->elements());
      if (from < to)
        tensors.push_back({&*segment, from - segment->offset, run.local + from - run.whole, to - from});
    }
  }
  return tensors;
}

namespace {

/// Adds the pieces of a run of the rank's part that are contiguous in the whole tensor.
void add_whole_runs(const TensorRun& run, const std::vector<PartRun>& parts, std::vector<TensorRun>& runs) {
  for (const PartRun& part : parts) {
    const int64_t from = std::max(run.at, part.in_part);
    const int64_t to = std::min(run.at + run.elements, part.in_part + part.elements);
    if (from < to)
      runs.push_back(
          {run.segment, part.in_whole + from - part.in_part, run.local + from - run.at, to - from});
  }
}

}  // namespace

std::vector<TensorRun> whole_tensor_runs(const State& state, const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> places = mesh.coordinates(rank);
  std::vector<TensorRun> runs;
  for (const TensorRun& run : tensor_runs(state, mesh, rank))
    if (run.segment && is_cut(*run.segment))
      add_whole_runs(run, part_runs(*run.segment, mesh, places), runs);
    else
      runs.push_back(run);
  return runs;
}

std::vector<int64_t> whole_offsets(const State& state) {
  const bool has_parts = std::ranges::any_of(state.segments, [](const Segment& s) { return is_cut(s); });
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const Segment& segment : state.segments) {
    offsets.push_back(has_parts ? end : segment.offset);
    end += count_elements(whole_shape(segment));
  }
  return offsets;
}

bool is_first_holder(const State& state, const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> places = mesh.coordinates(rank);
  for (size_t axis = 0; axis < places.size(); ++axis) {
    const auto names = [&](const auto& axes) { return std::ranges::count(axes, mesh.axes[axis].name) > 0; };
    const auto cuts_segment = [&](const Segment& s) { return std::ranges::any_of(s.cut, names); };
    const bool is_of_stage = mesh.axes[axis].name == kStageAxis && !state.segments.empty();
    const bool cuts = is_of_stage || std::ranges::any_of(state.cut, names) ||
                      std::ranges::any_of(state.segments, cuts_segment);
    if (!cuts && places[axis] != 0) return false;
  }
  return true;
}

}  // namespace smelt
