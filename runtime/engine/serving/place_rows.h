// Slots that hold the tokens of each row (the input place_rows of the entry decode_beams). A beam that
// continues another one reads the tokens that they have in common in the slot of that one, so that no keys
// and values are copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"

namespace smelt {

class PlaceRows {
 public:
  /// There are `slots` rows of `capacity` tokens. At first each row is in its own slot.
  PlaceRows(size_t slots, size_t capacity);

  /// Returns whether some row reads tokens in another slot than its own.
  bool share() const { return std::ranges::count(shares_, true) > 0; }
  /// Puts all tokens of a row into its own slot.
  void reset(size_t row);
  /// Lets row `to` read the first `length` tokens where row `from` has them. Its other tokens will be in its
  /// own slot.
  void copy(size_t from, size_t to, size_t length);
  /// Makes rows `from` rows `to`, whose slots have got copies of the slots `from`.
  void move(std::span<const RowMove> moves);
  /// Returns the slots of the first `rows` rows, [rows, capacity].
  std::span<const int32_t> first(size_t rows) const { return std::span(slots_).first(rows * capacity_); }

 private:
  std::span<int32_t> of(size_t row) { return std::span(slots_).subspan(row * capacity_, capacity_); }

  size_t capacity_;
  std::vector<int32_t> slots_;  // [rows, capacity]
  std::vector<bool> shares_;    // by row: it may have tokens in other slots
};

}  // namespace smelt
