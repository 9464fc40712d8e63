// Which page of a cache holds which tokens, behind which others: so that texts that begin alike share pages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/generation/cache_pages.h"

namespace smelt {

/// Full pages alone. A page is found by a hash of all tokens up to its end, and taken only where its own
/// tokens are equal and the page before it is the one that was found before. Nothing is allocated but by the
/// constructor.
class PrefixIndex {
 public:
  /// What a text has in pages so far: all tokens before a page's own.
  struct Prefix {
    uint64_t hash = 0;
    uint64_t last = 0;  // the number that its last page was given; 0: there is none
  };

  explicit PrefixIndex(size_t pages);

  /// The page that holds these kPageTokens tokens behind that prefix.
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const;
  /// Notes a page that is not noted yet. Nobody may write to it until it is removed.
  void add(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  /// Of a page that is not noted: nothing.
  void remove(int32_t page);
  bool has(int32_t page) const { return at(page).number != 0; }
  /// The prefix that ends with a noted page.
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
