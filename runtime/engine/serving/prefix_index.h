// Index of the pages of a cache by their tokens and the prefix before them, so that texts with the same
// beginning share pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/plan/decode_contract.h"

namespace smelt {

/// Index of full pages. A page is found by a hash of all tokens up to its end, and used only if its own
/// tokens are equal and the page before it is the one that was found before. Only the constructor allocates
/// memory.
class PrefixIndex {
 public:
  /// The prefix of a text that is stored in pages: all tokens before a page's own.
  struct Prefix {
    uint64_t hash = 0;
    uint64_t last = 0;  // the number that its last page was given; 0: there is none
  };

  explicit PrefixIndex(size_t pages);

  /// Returns the page that holds these kPageTokens tokens after that prefix.
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const;
  /// Adds a page that is not in the index. It must not be written to until it is removed.
  void add(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  /// Removes a page; does nothing if it is not in the index.
  void remove(int32_t page);
  bool has(int32_t page) const { return at(page).number != 0; }
  /// Returns the prefix that ends with a page of the index.
  Prefix behind(int32_t page) const { return {at(page).hash, at(page).number}; }

 private:
  struct Entry {
    uint64_t hash = 0, before = 0, number = 0;  // 0: it is not noted
    int32_t next = -1;                          // page with the same remainder of its hash
    std::array<int32_t, kPageTokens> tokens = {};
  };
  const Entry& at(int32_t page) const { return entries_[static_cast<size_t>(page)]; }
  Entry& at(int32_t page) { return entries_[static_cast<size_t>(page)]; }
  int32_t& list_of(uint64_t hash) { return lists_[hash % lists_.size()]; }

  std::vector<Entry> entries_;  // by page
  std::vector<int32_t> lists_;  // the first page of each remainder; -1: none
  uint64_t numbers_ = 0;        // given so far; none is given twice
};

}  // namespace smelt
