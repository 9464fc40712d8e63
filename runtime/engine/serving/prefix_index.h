// Index of the pages of a paged KV cache by their tokens and the tokens before them, so that texts with the
// same beginning share pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/plan/decode_contract.h"

namespace smelt {

/// Index of full pages. A page is found by a hash of all tokens from the beginning of the text to the end of
/// the page. A match is confirmed by comparing the tokens of the page and the identity of the page before it.
/// Only the constructor allocates memory.
class PrefixIndex {
 public:
  /// A beginning of a text that fills whole pages. By default it is empty.
  struct Prefix {
    uint64_t hash = 0;
    uint64_t last = 0;  // unique number of its last page's entry in the index; 0: the prefix is empty
  };
  /// Returns an empty beginning whose pages are found only by texts that have a beginning of the same number:
  /// those that are read with the same adapter (adapter_store.h). 0: texts without an adapter.
  static Prefix root(uint64_t number) { return {number, number == 0 ? 0 : kRoot | number}; }

  explicit PrefixIndex(size_t pages);

  /// Returns the page that holds these kPageTokens tokens after the prefix `before`; nothing if there is
  /// none.
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const;
  /// Adds a page. Requires: it is not in the index, and is not written to until it is removed.
  void add(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  /// Removes a page. Does nothing if it is not in the index.
  void remove(int32_t page);
  /// Returns whether the page is in the index.
  bool has(int32_t page) const { return at(page).number != 0; }
  /// Returns the prefix that ends with a page of the index.
  Prefix behind(int32_t page) const { return {at(page).hash, at(page).number}; }

 private:
  struct Entry {
    uint64_t hash = 0, before = 0, number = 0;  // before: Prefix::last; number 0: not in the index
    int32_t next = -1;                          // next page in the same hash bucket; -1: none
    std::array<int32_t, kPageTokens> tokens = {};
  };
  static constexpr uint64_t kRoot = uint64_t{1} << 63;  // in no unique number of a page's entry
  const Entry& at(int32_t page) const { return entries_[static_cast<size_t>(page)]; }
  Entry& at(int32_t page) { return entries_[static_cast<size_t>(page)]; }
  int32_t& list_of(uint64_t hash) { return lists_[hash % lists_.size()]; }

  std::vector<Entry> entries_;  // by page
  std::vector<int32_t> lists_;  // the first page of each hash bucket; -1: none
  uint64_t numbers_ = 0;        // the last unique number that was given
};

}  // namespace smelt
