// Sharding: distribution of values over the ranks of a mesh.
//
// A value's sharding has, for each of its dims, the axes of the mesh that cut the dim (the first one cuts
// outermost), and the axes over which it is partial: ranks along them hold addends, and the value is their
// sum. Along all other axes ranks hold the same data. An axis occurs at most once in a sharding.
//
// In the text form a module has a line `mesh {data = 2, model = 4}`, and `on [data, -]` after the type of a
// value, a parameter or a state is its sharding. The position of a rank along an axis is a symbol,
// `data.rank`, from 0 to the axis' size - 1: offsets of slices are written with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/dim.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

/// Per symbol the axes that cut its sizes.
using SymbolCuts = std::map<std::string, std::vector<size_t>, std::less<>>;

struct Sharding {
  std::vector<std::vector<size_t>> dims;  // axes of the mesh; as many entries as the value has dims
  std::vector<size_t> partial;            // increasing

  bool is_replicated() const;
  bool operator==(const Sharding&) const = default;
};
/// Returns "[data, -, model + stage] partial [data]".
std::string str(const Sharding& sharding, const Mesh& mesh);
/// Returns the number of parts into which these axes cut a dim.
int64_t parts_of(const Mesh& mesh, const std::vector<size_t>& axes);
/// Returns all errors in the sharding of a value of this whole shape; empty: it is valid.
std::vector<std::string> faults(const Sharding& sharding, const Mesh& mesh, const Shape& shape);
/// Returns whether the dim can be cut into equal parts: it is a number that `parts` divides, or one product
/// of symbols, one of which is then cut.
bool can_cut(const Dim& dim, int64_t parts);

}  // namespace smelt
