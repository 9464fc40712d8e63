// Sharding: how values are spread over the ranks of a mesh.
//
// A value's sharding names for each of its dims the axes of the mesh that the dim is cut over (the first one
// cuts outermost), and the axes over which it is partial: ranks along them hold addends, and the
// value is their sum. Along all other axes ranks hold the same. An axis stands at most once in a sharding.
//
// In the text form a module has a line `mesh {data = 2, model = 4}`, and `on [data, -]` behind the type of a
// value, a parameter or a state is its sharding. The place of a rank along an axis is a symbol,
// `data.rank`, from 0 to the axis' size - 1: offsets of slices are written with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/dim.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

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
