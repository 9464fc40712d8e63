#include "runtime/engine/serving/place_rows.h"

#include <numeric>

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

/// Other rows may read the slots `from`, too.
void PlaceRows::move(std::span<const RowMove> moves) {
  std::vector<int32_t> slot_now(shares_.size());
  std::iota(slot_now.begin(), slot_now.end(), 0);
  for (const RowMove& each : moves) {
    slot_now[each.from] = static_cast<int32_t>(each.to);
    reset(each.to);
    if (shares_[each.from]) std::ranges::copy(of(each.from), of(each.to).begin());
    shares_[each.to] = shares_[each.from];
    reset(each.from);
  }
  for (size_t row = 0; row < shares_.size(); ++row) {
    if (!shares_[row]) continue;
    for (int32_t& slot : of(row)) slot = slot_now[static_cast<size_t>(slot)];
  }
}

}  // namespace smelt
