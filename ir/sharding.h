// Sharding: how values are spread over the ranks of a mesh.
//
// A mesh has named axes, {data = 2, model = 4}; a rank is a place in it, counted row-major, so that the last
// axis varies fastest. A value's sharding names for each of its dims the axes that the dim is cut over (the
// first one cuts outermost), and the axes over which it is partial: ranks along them hold addends, and the
// value is their sum. Along all other axes ranks hold the same. An axis stands at most once in a sharding.
//
// In the text form a module has a line `mesh {data = 2, model = 4}`, and `on [data, -]` behind the type of a
// value, a parameter or a state is its sharding. The place of a rank along an axis is a symbol,
// `data.rank`, from 0 to the axis' size - 1: offsets of slices are written with it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dim.h"

namespace smelt {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  bool operator==(const MeshAxis&) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;

  bool empty() const { return axes.empty(); }
  int64_t ranks() const;  // of all axes; 1 of none
  /// The axis of this name.
  std::optional<size_t> find(std::string_view name) const;
  /// Of a rank, one number an axis.
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// The ranks that differ from this one along `axis` alone, itself among them, in order.
  std::vector<int64_t> group(int64_t rank, size_t axis) const;
  bool operator==(const Mesh&) const = default;
};
std::string str(const Mesh& mesh);  // "data = 2, model = 4"
/// "data=2,model=4"; throws Error naming what is wrong.
Mesh parse_mesh(std::string_view text);
/// The symbol that is a rank's place along the axis: "data.rank".
std::string coordinate(const MeshAxis& axis);
/// The axes over which sizes of this symbol are cut.
using SymbolCuts = std::map<std::string, std::vector<size_t>, std::less<>>;

struct Sharding {
  std::vector<std::vector<size_t>> dims;  // axes of the mesh; as many entries as the value has dims
  std::vector<size_t> partial;            // increasing

  bool is_replicated() const;
  bool operator==(const Sharding&) const = default;
};
/// "[data, -, model + stage] partial [data]"
std::string str(const Sharding& sharding, const Mesh& mesh);
/// Into how many parts these axes cut a dim.
int64_t parts_of(const Mesh& mesh, const std::vector<size_t>& axes);
/// Everything that is wrong with the sharding of a value of this shape, which is the whole value's; empty:
/// nothing is.
std::vector<std::string> faults(const Sharding& sharding, const Mesh& mesh, const Shape& shape);
/// Whether the axes cut the dim into equal parts: a number that they divide, or one product of symbols, of
/// which one is then cut.
bool can_cut(const Dim& dim, int64_t parts);

}  // namespace smelt
