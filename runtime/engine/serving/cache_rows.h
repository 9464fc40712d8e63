// The rows of a continuous batch in a plan's caches: prompts are read in row 0, and the first rows run
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/serving/page_pool.h"
#include "runtime/engine/serving/request.h"
#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class ChoosingRows;

/// In place of the token that a row's last run has chosen.
inline constexpr int32_t kChosenToken = -1;

/// A row that reads one more token.
struct RowStep {
  size_t row = 0;
  int32_t token = kChosenToken;
  size_t past = 0;                   // tokens that the caches hold of it
  const Request* request = nullptr;  // by which the plan chooses the next; null: the host does, by the logits
};

/// Rows that are whole slots of the caches, or lists of their pages, depending on the plan.
class CacheRows {
 public:
  /// Throws Error if the plan has no such entries, or reads a source as well as tokens.
  static std::unique_ptr<CacheRows> of(Session& session, bool shares_prefixes);

  virtual ~CacheRows() = default;
  CacheRows(const CacheRows&) = delete;
  CacheRows& operator=(const CacheRows&) = delete;

  int64_t vocabulary() const { return vocabulary_; }
  size_t slots() const { return slots_; }        // rows that may run together
  size_t capacity() const { return capacity_; }  // tokens of a row

  /// Throws Error if a row of `tokens` tokens never fits.
  virtual void check(size_t /*tokens*/) const {}
  /// Returns whether there is memory for a row that begins with this prompt and may grow to `tokens` tokens.
  virtual bool has_room(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) const { return true; }
  /// Makes the free row 0 such a row, which never waits for memory again. Returns the number of prompt tokens
  /// that it has already, fewer than all.
  virtual size_t begin(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) { return 0; }
  /// Frees the row.
  virtual void end(size_t /*row*/) {}
  /// Moves row `from`, of `length` tokens, to the free row `to`.
  virtual void move(size_t from, size_t to, size_t length) = 0;
  /// Frees all rows, because the contents of the caches are now undefined.
  virtual void forget() {}

  struct Read {
    size_t tokens = 0;                   // that were read
    std::span<const float> logits = {};  // after the last token of the prompt, if it was among them
  };
  /// Reads some of row 0's prompt after the `past` tokens that it has: about `chunk`, at least one.
  virtual Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) = 0;
  /// Reads one more token of each of these rows, in increasing order, and returns their logits. If rows are
  /// slots, only row 0 may be left out, while it reads its prompt.
  virtual std::span<const float> run(std::span<const RowStep> steps) = 0;
  /// Returns the counts of pages, if the caches are in pages.
  virtual PageCounts pages() const { return {}; }
  /// Returns these rows as ChoosingRows if the plan samples tokens; null otherwise.
  virtual ChoosingRows* choosing() { return nullptr; }

 protected:
  explicit CacheRows(const DecodeInterface& decode);
  int64_t vocabulary_;
  size_t slots_, capacity_;
};

}  // namespace smelt
