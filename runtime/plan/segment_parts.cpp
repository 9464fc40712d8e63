#include "runtime/plan/segment_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/base/error.h"

namespace smelt {

bool is_cut(const Segment& segment) { return !segment.cut.empty(); }

const std::vector<int64_t>& whole_shape(const Segment& segment) {
  return segment.whole.empty() ? segment.shape : segment.whole;
}

std::vector<int64_t> stored_shape(const Segment& segment) {
  std::vector<int64_t> shape = whole_shape(segment);
  if (!shape.empty()) shape.back() *= segment.per_byte;
  if (segment.stacked && shape.size() > 1) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  if (segment.transposed) std::ranges::reverse(shape);
  return shape;
}

std::vector<std::vector<size_t>> axes_of(const Segment& segment, const Mesh& mesh) {
  std::vector<std::vector<size_t>> axes(segment.shape.size());
  for (size_t i = 0; i < std::min(axes.size(), segment.cut.size()); ++i)
    for (const std::string& name : segment.cut[i]) {
      const auto axis = mesh.find(name);
      if (!axis)
        fail("segment \"{}\" is cut over \"{}\", an axis that the mesh {{{}}} does not have", segment.name,
             name, str(mesh));
      axes[i].push_back(*axis);
    }
  return axes;
}

std::vector<int64_t> part_numbers(const Segment& segment, const Mesh& mesh,
                                  std::span<const int64_t> coordinates) {
  std::vector<int64_t> numbers;
  for (const std::vector<size_t>& axes : axes_of(segment, mesh)) {
    int64_t number = 0;
    for (const size_t axis : axes) number = number * mesh.axes[axis].size + coordinates[axis];
    numbers.push_back(number);
  }
  return numbers;
}

std::vector<PartRun> part_runs(const Segment& segment, const Mesh& mesh,
                               std::span<const int64_t> coordinates) {
  if (!is_cut(segment)) return {{0, 0, segment.elements()}};
  const std::vector<int64_t>& whole = whole_shape(segment);
  const std::vector<int64_t> numbers = part_numbers(segment, mesh, coordinates);
  size_t last = segment.shape.size();  // the dims after the last sharded one are contiguous
  while (last > 0 && segment.shape[last - 1] == whole[last - 1]) --last;
  int64_t length = 1, whole_length = 1;
  for (size_t i = last > 0 ? last - 1 : 0; i < segment.shape.size(); ++i)
    length *= segment.shape[i], whole_length *= whole[i];
  std::vector<PartRun> runs;
  for (int64_t at = 0; at < segment.elements(); at += length) {
    int64_t row = at / length, place = 0, stride = whole_length;
    for (size_t i = last > 0 ? last - 1 : 0; i-- > 0; row /= segment.shape[i], stride *= whole[i])
      place += (row % segment.shape[i] + numbers[i] * segment.shape[i]) * stride;
    const int64_t begin = last > 0 ? numbers[last - 1] * length : 0;
    runs.push_back({at, place + begin, length});
  }
  return runs;
}

namespace {

/// Returns the faults of the axes: unknown ones, and those that occur twice.
std::vector<std::string> faults_of_axes(const Segment& segment, const Mesh& mesh) {
  std::vector<std::string> list;
  std::set<std::string> seen;
  for (const auto& names : segment.cut)
    for (const std::string& name : names)
      if (!mesh.find(name))
        list.push_back(fmt::format("the mesh {{{}}} has no axis {}", str(mesh), name));
      else if (!seen.insert(name).second)
        list.push_back(fmt::format("the axis {} stands twice", name));
  return list;
}

bool is_part(int64_t part, int64_t ranks, int64_t whole) {
  return whole >= 0 && whole % ranks == 0 && whole / ranks == part;
}

bool is_countable(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  return std::ranges::none_of(shape,
                              [&](int64_t extent) { return __builtin_mul_overflow(count, extent, &count); });
}

}  // namespace

std::vector<std::string> cut_faults(const Segment& segment, const Mesh& mesh) {
  if (segment.cut.empty() && segment.whole.empty()) return {};
  const size_t dims = segment.shape.size();
  if (segment.cut.size() != dims || segment.whole.size() != dims)
    return {fmt::format("it is cut in {} dims of a whole of {}: expected {}", segment.cut.size(),
                        segment.whole.size(), dims)};
  std::vector<std::string> list = faults_of_axes(segment, mesh);
  if (!list.empty()) return list;
  const auto axes = axes_of(segment, mesh);
  for (size_t i = 0; i < dims; ++i) {
    int64_t ranks = 1;
    for (const size_t axis : axes[i]) ranks *= mesh.axes[axis].size;
    if (!is_part(segment.shape[i], ranks, segment.whole[i]))
      list.push_back(
          fmt::format("dim {} is {} of {} over {} ranks", i, segment.shape[i], segment.whole[i], ranks));
  }
  if (list.empty() && !is_countable(segment.whole)) list.emplace_back("it has more than 2^63 elements");
  return list;
}

}  // namespace smelt
