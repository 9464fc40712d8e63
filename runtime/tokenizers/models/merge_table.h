// MergeTable: hash table of the merges of byte pair encoding: (left token, right token) -> rank, merged
// token.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace smelt {

/// The result of a merge of two tokens, and its rank.
struct Merge {
  uint32_t rank;  // merges with lower ranks are applied first
  int32_t id;     // of the merged token
};

class MergeTable {
 public:
  /// Requires: add() is called at most `merges` times.
  explicit MergeTable(size_t merges)
      : slots_(std::bit_ceil(2 * merges + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// Adds the merge of two tokens into the token `id`. Its rank is the number of earlier calls. If the pair
  /// was added before, its rank and token are replaced.
  void add(int32_t left, int32_t right, int32_t id) {
    Slot& slot = slots_[place(key_of(left, right))];
    slot = {key_of(left, right), {static_cast<uint32_t>(ids_.size()), id}};
    ids_.push_back(id);
  }

  /// Returns the merge of a pair; null if there is none.
  const Merge* find(int32_t left, int32_t right) const {
    const Slot& slot = slots_[place(key_of(left, right))];
    return slot.key == kFree ? nullptr : &slot.merge;
  }

  /// Returns the merged token of a rank.
  int32_t id(uint32_t rank) const { return ids_[rank]; }
  /// Returns the number of ranks.
  size_t size() const { return ids_.size(); }

 private:
  static constexpr uint64_t kFree = ~0ull;
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t key) const {
    size_t at = key * 0x9E3779B97F4A7C15u >> shift_;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
  std::vector<int32_t> ids_;
};

}  // namespace smelt
