// Ownership of the pages of a paged KV cache. A row is a running sequence of the batch. A page is free, is
// used by one or more rows, or is kept without a row because a later request may begin with the same tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/engine/serving/prefix_index.h"

namespace smelt {

/// Counts of a pool's pages. `found` is a total since the pool was created; the others are present counts.
struct PageCounts {
  size_t total = 0;
  size_t used = 0;      // used by rows
  size_t shared = 0;    // used by two or more rows; a part of `used`
  size_t kept = 0;      // kept without a row
  size_t reserved = 0;  // reserved by rows and not taken yet
  uint64_t found = 0;   // times that a row used a page of an earlier prompt instead of reading its tokens

  PageCounts& operator+=(const PageCounts& other);
};

/// The pages of a KV cache, numbered from 0. The pool has the number of rows that use each page, the list of
/// free pages, and an index of the tokens in pages. Only the constructor allocates memory.
class PagePool {
 public:
  using Prefix = PrefixIndex::Prefix;

  explicit PagePool(size_t pages);

  /// Returns the number of pages that may still be reserved: free and kept ones.
  size_t available() const { return free_.size() + counts_.kept - counts_.reserved; }
  /// Reserves `pages` pages for a row, which take() then returns one by one. Requires: `pages` <=
  /// available().
  void reserve(size_t pages) { counts_.reserved += pages; }
  /// Cancels the reservation of `pages` pages.
  void unreserve(size_t pages) { counts_.reserved -= pages; }
  /// Takes one of the reserved pages for a row, and returns it: a free page, or else the kept page that was
  /// used least recently, which is removed from the index. Requires: a page is reserved.
  int32_t take();
  /// Adds a row to the users of a page that was found. Requires: the page is used by another row, or is kept.
  void share(int32_t page);
  /// Adds a row to the users of a page that another row uses, as a copy of that row.
  void join(int32_t page);
  /// Removes a row from the users of the page. A page without users is kept if it is in the index, and is
  /// free otherwise. Requires: the pages of a text are released from the last to the first, so that its
  /// beginning is kept longest.
  void release(int32_t page);
  /// Returns whether the page is kept without a row.
  bool is_kept(int32_t page) const { return users_[static_cast<size_t>(page)] == 0 && index_.has(page); }

  /// Returns the page that holds `tokens` after the prefix `before` (PrefixIndex::find).
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const {
    return index_.find(before, tokens);
  }
  /// Adds the page, which holds `tokens` after the prefix `before`, to the index, unless the index has a page
  /// for them. Returns the prefix that ends with these tokens.
  Prefix note(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  /// Returns the beginning of texts that are read with the adapter of this number (PrefixIndex::root).
  static Prefix root(uint64_t number) { return PrefixIndex::root(number); }
  /// Returns the prefix that ends with a page of the index.
  Prefix behind(int32_t page) const { return index_.behind(page); }
  /// Removes the page from the index if a single row uses it. Returns whether that is so.
  bool drop(int32_t page);
  /// Removes all pages from the index, and frees the kept ones.
  void forget();

  PageCounts counts() const { return counts_; }

 private:
  void append_kept(int32_t page);
  void remove_kept(int32_t page);

  /// Neighbours of a page in the list of kept pages; -1: none.
  struct Links {
    int32_t before = -1, behind = -1;
  };
  std::vector<int32_t> users_, free_;  // number of rows by page; the free pages
  std::vector<Links> kept_;            // by page: list of the kept pages, the least recently used first
  int32_t first_ = -1, last_ = -1;     // ends of that list; -1: it is empty
  PrefixIndex index_;
  PageCounts counts_;
};

}  // namespace smelt
