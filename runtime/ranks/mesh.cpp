#include "runtime/ranks/mesh.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "runtime/base/error.h"

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

bool is_axis(const MeshAxis& axis) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !axis.name.empty() && std::ranges::all_of(axis.name, in_name) &&
         !std::isdigit(static_cast<unsigned char>(axis.name[0])) && axis.size >= 1 &&
         axis.size <= kMostRanksOfMesh;
}

MeshAxis parse_axis(std::string_view part, std::string_view text) {
  const size_t equals = part.find('=');
  MeshAxis axis{std::string(part.substr(0, equals)), 0};
  if (equals != std::string_view::npos) {
    const std::string_view number = part.substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), axis.size);
    if (error != std::errc() || end != number.data() + number.size()) axis.size = 0;
  }
  if (!is_axis(axis))
    fail("mesh '{}': '{}' is no axis and its size; expected such as data=2,model=4", text, part);
  return axis;
}

}  // namespace

void check_mesh(const Mesh& mesh) {
  int64_t ranks = 1;
  for (const MeshAxis& axis : mesh.axes) {
    if (!is_axis(axis))
      fail("mesh '{}': '{} = {}' is no axis and its size; expected such as data = 2, model = 4", str(mesh),
           axis.name, axis.size);
    if (&mesh.axes[*mesh.find(axis.name)] != &axis)
      fail("mesh '{}': the axis {} stands there twice", str(mesh), axis.name);
    ranks *= axis.size;
    if (ranks > kMostRanksOfMesh) fail("mesh '{}': more than {} ranks", str(mesh), kMostRanksOfMesh);
  }
}

Mesh parse_mesh(std::string_view text) {
  Mesh mesh;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    mesh.axes.push_back(parse_axis(text.substr(begin, end - begin), text));
    begin = end + 1;
  }
  check_mesh(mesh);
  return mesh;
}

}  // namespace smelt
