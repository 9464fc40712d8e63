// Whole tensors and the parts of them that ranks hold.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ir/evaluate/evaluate_ranks.h"
#include "ir/evaluate/tensor_index.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Block of a rank in a whole value.
struct Block {
  Sizes shape;
  std::vector<int64_t> places;  // of its elements in the whole value
  bool first = true;            // it is first along the axes of partial sums
};

Block block_of(const Sizes& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank) {
  const std::vector<int64_t> at = mesh.coordinates(rank);
  const Sizes strides = row_major_strides(whole);
  Block block{whole, {}};
  int64_t base = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    int64_t number = 0;
    for (const size_t axis : sharding.dims[i]) number = number * mesh.axes[axis].size + at[axis];
    const int64_t parts = parts_of(mesh, sharding.dims[i]);
    if (whole[i] % parts != 0)
      fail("dim {} of [{}] on {} is not divided by {} ranks", i, fmt::join(whole, ","), str(sharding, mesh),
           parts);
    block.shape[i] = whole[i] / parts;
    base += number * block.shape[i] * strides[i];
  }
  block.places = offsets(block.shape, strides, base);
  block.first = llvm::all_of(sharding.partial, [&](size_t axis) { return at[axis] == 0; });
  return block;
}

void check_rank(const Sizes& shape, const Sharding& sharding, const Mesh& mesh) {
  if (shape.size() != sharding.dims.size())
    fail("a value [{}] on {}: expected {} dims", fmt::join(shape, ","), str(sharding, mesh),
         sharding.dims.size());
}

bool same_bits(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The rank among those that hold the same as `rank` that stands first: its place along every axis that
/// neither cuts nor sums is 0.
int64_t first_holder(const Sharding& sharding, const Mesh& mesh, int64_t rank) {
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const bool cuts =
        llvm::any_of(sharding.dims, [&](const auto& axes) { return llvm::is_contained(axes, axis); });
    if (!cuts && !llvm::is_contained(sharding.partial, axis)) rank = mesh.group(rank, axis)[0];
  }
  return rank;
}

void expect_same(const Tensor& a, const Tensor& b, const std::string& what, int64_t rank, int64_t other) {
  for (size_t i = 0; i < a.data.size(); ++i)
    if (!same_bits(a.data[i], b.data[i]))
      fail("{}: ranks {} and {} should hold the same, and hold {} and {} at element {}", what, rank, other,
           a.data[i], b.data[i], i);
}

}  // namespace

Tensor part_of(const Tensor& whole, const Sharding& sharding, const Mesh& mesh, int64_t rank) {
  check_rank(whole.shape, sharding, mesh);
  const Block block = block_of(whole.shape, sharding, mesh, rank);
  Tensor part{whole.dtype, block.shape, {}};
  for (const int64_t place : block.places)
    part.data.push_back(block.first ? whole.data[static_cast<size_t>(place)] : 0.0);
  return part;
}

Tensor joined(const std::vector<Tensor>& parts, const Sharding& sharding, const Mesh& mesh,
              const std::string& what) {
  check_rank(parts.at(0).shape, sharding, mesh);
  Tensor whole{parts[0].dtype, parts[0].shape, {}};
  for (size_t i = 0; i < whole.shape.size(); ++i) whole.shape[i] *= parts_of(mesh, sharding.dims[i]);
  whole.data.resize(static_cast<size_t>(element_count(whole.shape)));
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const Tensor& part = parts[static_cast<size_t>(rank)];
    if (const int64_t holder = first_holder(sharding, mesh, rank); holder != rank) {
      expect_same(parts[static_cast<size_t>(holder)], part, what, holder, rank);
      continue;
    }
    const Block block = block_of(whole.shape, sharding, mesh, rank);
    for (size_t i = 0; i < part.data.size(); ++i)
      whole.data[static_cast<size_t>(block.places[i])] += part.data[i];
  }
  return whole;
}

}  // namespace smelt
