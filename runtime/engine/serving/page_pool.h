// Owners of the pages of a cache: free pages, pages of rows, and pages without a row that are kept because
// they hold the beginning of a text that may come again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/serving/prefix_index.h"

namespace smelt {

/// Counts of a pool's pages now, and of pages found for prompts since the beginning.
struct PageCounts {
  size_t total = 0;
  size_t used = 0;      // that rows have
  size_t shared = 0;    // of these, those that several rows have
  size_t kept = 0;      // without a row, holding the beginning of a text
  size_t reserved = 0;  // not taken yet by rows that may need them
  uint64_t found = 0;   // that were shared and not read again
};

/// Pages and their owners. Only the constructor allocates memory.
class PagePool {
 public:
  using Prefix = PrefixIndex::Prefix;

  explicit PagePool(size_t pages);

  /// Returns the number of pages that may still be reserved: free and kept ones.
  size_t available() const { return free_.size() + counts_.kept - counts_.reserved; }
  /// Reserves `pages` pages for a row, which take() returns one by one without waiting. Requires: as many are
  /// available.
  void reserve(size_t pages) { counts_.reserved += pages; }
  void unreserve(size_t pages) { counts_.reserved -= pages; }
  /// Takes one of the reserved pages: a free page, or else the kept one that was used least recently.
  int32_t take();
  /// Adds a row to the page, which has a row already or is kept.
  void share(int32_t page);
  /// Removes a row from the page. The last pages of a text must be released first, so that the kept pages are
  /// its beginning.
  void release(int32_t page);
  bool is_kept(int32_t page) const { return users_[static_cast<size_t>(page)] == 0 && index_.has(page); }

  /// See PrefixIndex.
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const {
    return index_.find(before, tokens);
  }
  /// Notes that the page holds these tokens after the prefix `before`, so that others find it, or a page with
  /// the same tokens that was noted earlier. Returns the prefix with these tokens.
  Prefix note(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  Prefix behind(int32_t page) const { return index_.behind(page); }
  /// Removes all pages from the index, and frees the kept ones.
  void forget();

  PageCounts counts() const { return counts_; }

 private:
  void append_kept(int32_t page);
  void remove_kept(int32_t page);

  struct Links {
    int32_t before = -1, behind = -1;
  };
  std::vector<int32_t> users_, free_;
  std::vector<Links> kept_;  // a list, of those kept: the least recently used first
  int32_t first_ = -1, last_ = -1;
  PrefixIndex index_;
  PageCounts counts_;
};

}  // namespace smelt
