#include "runtime/plan/segment_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/error.h"

namespace smelt {

bool is_cut(const Segment& segment) { return !segment.cut.empty(); }

const std::vector<int64_t>& whole_shape(const Segment& segment) {
  return segment.whole.empty() ? segment.shape : segment.whole;
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

namespace {

/// Axes that there are not, and those that stand twice.
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

/// Ranks of a mesh are few, and extents are checked: no product overflows.
bool is_part(int64_t part, int64_t ranks, int64_t whole) {
  return whole >= 0 && whole % ranks == 0 && whole / ranks == part;
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
  return list;
}

}  // namespace smelt
