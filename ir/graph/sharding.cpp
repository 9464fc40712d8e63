#include "ir/graph/sharding.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace smelt {

bool Sharding::is_replicated() const {
  return partial.empty() && std::ranges::all_of(dims, [](const auto& axes) { return axes.empty(); });
}

std::string str(const Sharding& sharding, const Mesh& mesh) {
  const auto names = [&](const std::vector<size_t>& axes, const char* between) {
    std::vector<std::string> texts;
    for (const size_t axis : axes) texts.push_back(mesh.axes[axis].name);
    return fmt::format("{}", fmt::join(texts, between));
  };
  std::vector<std::string> dims;
  for (const auto& axes : sharding.dims) dims.push_back(axes.empty() ? "-" : names(axes, " + "));
  std::string text = fmt::format("[{}]", fmt::join(dims, ", "));
  if (!sharding.partial.empty()) text += fmt::format(" partial [{}]", names(sharding.partial, ", "));
  return text;
}

int64_t parts_of(const Mesh& mesh, const std::vector<size_t>& axes) {
  int64_t parts = 1;
  for (const size_t axis : axes)
    if (axis < mesh.axes.size()) parts *= mesh.axes[axis].size;
  return parts;
}

bool can_cut(const Dim& dim, int64_t parts) {
  if (const auto size = dim.constant()) return *size % parts == 0;
  const auto terms = dim.terms();
  return terms.size() == 1 && std::ranges::any_of(terms[0].atoms, [](const Atom& a) { return !a.inner; });
}

namespace {

/// Returns errors for unknown axes and for axes that occur twice.
std::vector<std::string> faults_of_axes(const Sharding& sharding, const Mesh& mesh) {
  std::vector<std::string> list;
  std::vector<int> seen(mesh.axes.size());
  const auto see = [&](const std::vector<size_t>& axes) {
    for (const size_t axis : axes)
      if (axis >= mesh.axes.size())
        list.push_back(fmt::format("the mesh {{{}}} has no axis {}", str(mesh), axis));
      else if (++seen[axis] == 2)
        list.push_back(fmt::format("the axis {} stands twice in a sharding", mesh.axes[axis].name));
  };
  for (const auto& axes : sharding.dims) see(axes);
  see(sharding.partial);
  return list;
}

}  // namespace

std::vector<std::string> faults(const Sharding& sharding, const Mesh& mesh, const Shape& shape) {
  std::vector<std::string> list = faults_of_axes(sharding, mesh);
  if (!list.empty()) return list;
  if (sharding.dims.size() != shape.size())
    return {fmt::format("a sharding {} of {} dims for a shape {}", str(sharding, mesh), sharding.dims.size(),
                        str(shape))};
  for (size_t i = 0; i < shape.size(); ++i)
    if (const int64_t parts = parts_of(mesh, sharding.dims[i]); parts > 1 && !can_cut(shape[i], parts))
      list.push_back(fmt::format("dim {} of {} is {}, which {} ranks do not divide", i, str(shape),
                                 shape[i].str(), parts));
  return list;
}

}  // namespace smelt
