// The rows of a continuous batch in a plan's caches: row 0 is where prompts are read, and the first rows run
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/serving/page_pool.h"
#include "runtime/serving/request.h"
#include "runtime/session.h"

namespace smelt {

class ChoosingRows;

/// Stands for the token that a row's last run has chosen.
inline constexpr int32_t kChosenToken = -1;

/// A row that reads one more token.
struct RowStep {
  size_t row = 0;
  int32_t token = kChosenToken;
  size_t past = 0;                   // tokens that the caches hold of it
  const Request* request = nullptr;  // by which the plan chooses the next; null: the host does, by the logits
};

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
  /// Reads one more token of each of these rows, which are in their order, and returns their logits. Where
  /// rows are slots, none is left out but row 0 while it reads its prompt.
  virtual std::span<const float> run(std::span<const RowStep> steps) = 0;
  /// Of caches in pages.
  virtual PageCounts pages() const { return {}; }
  /// Where the plan chooses tokens: these rows as such.
  virtual ChoosingRows* choosing() { return nullptr; }

 protected:
  CacheRows() = default;
  int64_t vocabulary_ = 0;
  size_t slots_ = 0, capacity_ = 0;
};

}  // namespace smelt
