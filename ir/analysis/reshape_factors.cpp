#include "ir/analysis/reshape_factors.h"

namespace smelt {
namespace {

/// Iterator along one side: the dim and the rest of it.
struct Side {
  const Shape& shape;
  size_t dim = 0;
  Dim left = 1;

  explicit Side(const Shape& shape) : shape(shape) {
    if (!shape.empty()) left = shape[0];
  }
  bool at_end() const { return dim >= shape.size(); }
  void skip() {
    ++dim;
    left = at_end() ? Dim(1) : shape[dim];
  }
  void take(const Dim& part) {
    left = *left.divide(part);
    if (left.is_one()) skip();
  }
};

}  // namespace

std::vector<ReshapeFactor> reshape_factors(const Shape& from, const Shape& to) {
  std::vector<ReshapeFactor> factors;
  Side a(from), b(to);
  while (!a.at_end() || !b.at_end()) {
    // Dims of size 1 are of one side alone.
    if (!a.at_end() && a.left.is_one()) {
      factors.push_back({1, a.dim, std::nullopt}), a.skip();
    } else if (!b.at_end() && b.left.is_one()) {
      factors.push_back({1, std::nullopt, b.dim}), b.skip();
    } else {
      const bool ends = a.at_end() || b.at_end();
      const bool a_divides = !ends && b.left.divide(a.left).has_value();
      if (ends || (!a_divides && !a.left.divide(b.left))) break;
      const Dim part = a_divides ? a.left : b.left;
      factors.push_back({part, a.dim, b.dim});
      a.take(part), b.take(part);
    }
  }
  for (; !a.at_end(); a.skip()) factors.push_back({a.left, a.dim, std::nullopt, false});
  for (; !b.at_end(); b.skip()) factors.push_back({b.left, std::nullopt, b.dim, false});
  return factors;
}

}  // namespace smelt
