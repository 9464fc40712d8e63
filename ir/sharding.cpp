#include "ir/sharding.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "runtime/error.h"

namespace smelt {

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const MeshAxis& axis : axes) count *= axis.size;
  return count;
}

std::optional<size_t> Mesh::find(std::string_view name) const {
  const auto found = std::ranges::find(axes, name, &MeshAxis::name);
  if (found == axes.end()) return std::nullopt;
  return static_cast<size_t>(found - axes.begin());
}

std::vector<int64_t> Mesh::coordinates(int64_t rank) const {
  std::vector<int64_t> place(axes.size());
  for (size_t i = axes.size(); i-- > 0; rank /= axes[i].size) place[i] = rank % axes[i].size;
  return place;
}

std::vector<int64_t> Mesh::group(int64_t rank, size_t axis) const {
  int64_t stride = 1;
  for (size_t i = axis + 1; i < axes.size(); ++i) stride *= axes[i].size;
  const int64_t first = rank - coordinates(rank)[axis] * stride;
  std::vector<int64_t> members;
  for (int64_t i = 0; i < axes[axis].size; ++i) members.push_back(first + i * stride);
  return members;
}

std::string coordinate(const MeshAxis& axis) { return axis.name + ".rank"; }

std::string str(const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const MeshAxis& axis : mesh.axes) texts.push_back(fmt::format("{} = {}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(texts, ", "));
}

namespace {

constexpr int64_t kMostRanks = 1 << 16;  // Philox counters have 16 bits for a rank

MeshAxis parse_axis(std::string_view part, std::string_view text) {
  const size_t equals = part.find('=');
  MeshAxis axis{std::string(part.substr(0, equals)), 0};
  if (equals != std::string_view::npos) {
    const std::string_view number = part.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), axis.size);
    if (error != std::errc() || end != number.data() + number.size()) axis.size = 0;
  }
  const bool is_name = !axis.name.empty() && std::ranges::all_of(axis.name, [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  }) && !std::isdigit(static_cast<unsigned char>(axis.name[0]));
  if (!is_name || axis.size < 1 || axis.size > kMostRanks)
    fail("mesh '{}': '{}' is no axis and its size; expected such as data=2,model=4", text, part);
  return axis;
}

}  // namespace

Mesh parse_mesh(std::string_view text) {
  Mesh mesh;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    MeshAxis axis = parse_axis(text.substr(begin, end - begin), text);
    if (mesh.find(axis.name)) fail("mesh '{}': the axis {} stands there twice", text, axis.name);
    mesh.axes.push_back(std::move(axis));
    if (mesh.ranks() > kMostRanks) fail("mesh '{}': more than {} ranks", text, kMostRanks);
    begin = end + 1;
  }
  return mesh;
}

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

/// Axes that there are not, and those that stand twice.
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
