// Sharding: distribution of values over the ranks of a mesh.
//
// The sharding of a value lists, for each dim, the mesh axes that divide the dim (the first one is the
// outermost). It also lists the axes over which the value is partial: each rank along such an axis has an
// addend, and the value is the sum of the addends. Along all other axes, ranks have the same data. An axis
// occurs at most once in a sharding.
//
// In the text form, a module has a line `mesh {data = 2, model = 4}`, and `on [data, -]` after the type of a
// value, a parameter or a state is its sharding. The coordinate of a rank along an axis is a symbol, such as
// `data.rank`, from 0 to the axis' size - 1. Graphs use it in offsets of slices.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/dim.h"
#include "runtime/ranks/mesh.h"

namespace smelt {

/// For each symbol: the mesh axes (indices) that divide its size.
using SymbolCuts = std::map<std::string, std::vector<size_t>, std::less<>>;

/// Sharding of one value. Axes are indices into Mesh::axes.
struct Sharding {
  std::vector<std::vector<size_t>> dims;  // for each dim of the value: the axes that divide it
  std::vector<size_t> partial;            // axes over which the value is partial, in increasing order

  /// Returns whether every rank has the whole value.
  bool is_replicated() const;
  bool operator==(const Sharding&) const = default;
};
/// Returns the text form, such as "[data, -, model + stage] partial [data]"; "-" is a dim that is not
/// divided.
std::string str(const Sharding& sharding, const Mesh& mesh);
/// Returns the number of parts into which these axes divide a dim: the product of their sizes.
int64_t parts_of(const Mesh& mesh, const std::vector<size_t>& axes);
/// Returns all errors in the sharding of a value whose shape over all ranks is `shape`; empty if it is valid.
std::vector<std::string> faults(const Sharding& sharding, const Mesh& mesh, const Shape& shape);
/// Returns whether a dim can be divided into `parts` equal parts. This is the case for constant multiples of
/// `parts`, and for symbols and products that have a symbol as a factor, such as 3*B. A sum, such as B + 1,
/// cannot be divided.
bool can_cut(const Dim& dim, int64_t parts);

}  // namespace smelt
