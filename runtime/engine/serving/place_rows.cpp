#include "runtime/engine/serving/place_rows.h"

namespace smelt {

PlaceRows::PlaceRows(size_t slots, size_t capacity)
    : capacity_(capacity), slots_(slots * capacity), shares_(slots) {
  for (size_t row = 0; row < slots; ++row) reset(row);
}

void PlaceRows::reset(size_t row) {
  std::ranges::fill(of(row), static_cast<int32_t>(row));
  shares_[row] = false;
}

void PlaceRows::copy(size_t from, size_t to, size_t length) {
  reset(to);
  std::ranges::copy(of(from).first(length), of(to).begin());
  shares_[to] = true;
}

/// Other rows may read slot `from`, too.
void PlaceRows::move(size_t from, size_t to) {
  const auto before = static_cast<int32_t>(from), after = static_cast<int32_t>(to);
  std::ranges::copy(of(from), of(to).begin());
  shares_[to] = shares_[from];
  reset(from);
  std::ranges::replace(of(to), before, after);
  for (size_t row = 0; row < shares_.size(); ++row)
    if (shares_[row]) std::ranges::replace(of(row), before, after);
}

}  // namespace smelt
