// The rows of a continuous batch in a plan's caches: row 0 is where prompts are read, and the first rows run
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/serving/page_pool.h"
#include "runtime/session.h"

namespace smelt {

/// Rows that are whole slots of the caches, or lists of their pages: as the plan has them.
class CacheRows {
 public:
  /// Throws Error where the plan has no such entries, or reads a source beside its tokens.
  static std::unique_ptr<CacheRows> of(Session& session, bool shares_prefixes);

  virtual ~CacheRows() = default;
  CacheRows(const CacheRows&) = delete;
  CacheRows& operator=(const CacheRows&) = delete;

  int64_t vocabulary() const { return vocabulary_; }
  size_t slots() const { return slots_; }        // rows that may run together
  size_t capacity() const { return capacity_; }  // tokens of a row

  /// Throws Error where a row of so many tokens can never be there.
  virtual void check(size_t /*tokens*/) const {}
  /// Whether there is memory for a row that begins with this prompt and may have so many tokens in the end.
  virtual bool has_room(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) const { return true; }
  /// Row 0, which nobody has, becomes such a row, which never waits for memory again. Returns how many tokens
  /// of the prompt it has already, which is not all.
  virtual size_t begin(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) { return 0; }
  /// Nobody has the row any more.
  virtual void end(size_t /*row*/) {}
  /// What row `from` is becomes row `to`, which nobody has; `length` tokens of it are there.
  virtual void move(size_t from, size_t to, size_t length) = 0;
  /// Nothing is known of what the caches hold: nobody has a row.
  virtual void forget() {}

  struct Read {
    size_t tokens = 0;                   // that were read
    std::span<const float> logits = {};  // behind the prompt's last one, if it was among them
  };
  /// Reads some of row 0's prompt behind the `past` tokens that it has: about `chunk`, at least one.
  virtual Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) = 0;
  /// Reads one more token in each of the first rows, and returns the logits of all. Where row 0 still reads
  /// its prompt, its token is one that it may forget, and its logits are anything.
  virtual std::span<const float> read_one_each(std::span<const int32_t> tokens, std::span<const int32_t> past,
                                               bool first_reads_prompt) = 0;
  /// Of caches in pages.
  virtual PageCounts pages() const { return {}; }

 protected:
  CacheRows() = default;
  int64_t vocabulary_ = 0;
  size_t slots_ = 0, capacity_ = 0;
};

}  // namespace smelt
