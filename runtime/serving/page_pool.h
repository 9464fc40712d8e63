// Who has which pages of a cache: free ones, those of rows, and those that nobody has but that hold the
// beginning of a text that may come again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/serving/prefix_index.h"

namespace smelt {

/// Pages of a pool, now, and what was found of prompts since the beginning.
struct PageCounts {
  size_t total = 0;
  size_t used = 0;      // that rows have
  size_t shared = 0;    // of these, those that several rows have
  size_t kept = 0;      // that nobody has, with the beginning of a text in them
  size_t reserved = 0;  // not taken yet by rows that may need them
  uint64_t found = 0;   // that were shared and not read again
};

/// Nothing is allocated but by the constructor.
class PagePool {
 public:
  using Prefix = PrefixIndex::Prefix;

  explicit PagePool(size_t pages);

  /// Pages that may still be reserved: free and kept ones.
  size_t available() const { return free_.size() + counts_.kept - counts_.reserved; }
  /// Promises so many to a row, which take() gives it one by one: it never waits for one then. There must be
  /// as many available.
  void reserve(size_t pages) { counts_.reserved += pages; }
  void unreserve(size_t pages) { counts_.reserved -= pages; }
  /// One of those reserved: a free page, or else the kept one that was used least recently.
  int32_t take();
  /// One more row has the page, which a row has or which is kept.
  void share(int32_t page);
  /// A row has it no longer. Last pages of a text are to be released before those in front of them, so that
  /// what is left of a text is its beginning.
  void release(int32_t page);
  bool is_kept(int32_t page) const { return users_[static_cast<size_t>(page)] == 0 && index_.has(page); }

  /// See PrefixIndex.
  std::optional<int32_t> find(const Prefix& before, std::span<const int32_t> tokens) const {
    return index_.find(before, tokens);
  }
  /// What these tokens make of a prefix, whose page holds them: from now on others find it, or the one that
  /// they would find already.
  Prefix note(int32_t page, const Prefix& before, std::span<const int32_t> tokens);
  Prefix behind(int32_t page) const { return index_.behind(page); }
  /// No page can be found any more; kept ones are free.
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
