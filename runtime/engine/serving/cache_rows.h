// Rows of a continuous batch (continuous_batch.h) in a plan's KV caches. Each row has the tokens of one
// request. Prompts are read in row 0, and rows 0, 1, ... run together.
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

/// Value of RowStep::token that stands for the token that the row's last run has sampled.
inline constexpr int32_t kChosenToken = -1;

/// One more token that a row reads in a run.
struct RowStep {
  size_t row = 0;
  int32_t token = kChosenToken;
  size_t past = 0;                   // tokens of the row that the caches hold
  const Request* request = nullptr;  // with it, the plan samples the next token; null: the host does
};

/// Interface of rows. Depending on the plan, a row is a slot of the caches (slot_rows.h) or a list of their
/// pages (page_rows.h).
class CacheRows {
 public:
  /// Creates the kind of rows that the plan has entries for. `shares_prefixes`: pages of prompts with the
  /// same beginning are read once. Throws Error if the plan has no entries with caches, or is an
  /// encoder-decoder.
  static std::unique_ptr<CacheRows> of(Session& session, bool shares_prefixes);

  virtual ~CacheRows() = default;
  CacheRows(const CacheRows&) = delete;
  CacheRows& operator=(const CacheRows&) = delete;

  int64_t vocabulary() const { return vocabulary_; }
  size_t slots() const { return slots_; }        // rows that may run together
  size_t capacity() const { return capacity_; }  // tokens per row

  /// Throws Error if there is not enough memory for a row of `tokens` tokens even if it is the only one.
  virtual void check(size_t /*tokens*/) const {}
  /// Returns whether there is memory for a row that begins with this prompt and may grow to `tokens` tokens.
  virtual bool has_room(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) const { return true; }
  /// Begins such a row in row 0, which must be free, and reserves its memory. Returns the number of prompt
  /// tokens that the caches already hold, which is less than the length of the prompt. Requires: has_room.
  virtual size_t begin(std::span<const int32_t> /*prompt*/, size_t /*tokens*/) { return 0; }
  /// Frees the row.
  virtual void end(size_t /*row*/) {}
  /// Moves row `from`, of `length` tokens, to the free row `to`.
  virtual void move(size_t from, size_t to, size_t length) = 0;
  /// Frees all rows, because the contents of the caches are now undefined.
  virtual void forget() {}

  struct Read {
    size_t tokens = 0;                   // number of tokens that were read
    std::span<const float> logits = {};  // after the last token of the prompt; empty if it was not read
  };
  /// Reads about `chunk` tokens, but at least one, of row 0's prompt, after the `past` tokens that the caches
  /// hold.
  virtual Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) = 0;
  /// Reads one more token of each of these rows, and returns the logits after it, [steps, vocabulary].
  /// Requires: rows are in increasing order. If rows are slots, only row 0 may be missing, while it reads its
  /// prompt.
  virtual std::span<const float> run(std::span<const RowStep> steps) = 0;
  /// Returns the counts of pages; all are 0 if rows are slots.
  virtual PageCounts pages() const { return {}; }
  /// Returns these rows as ChoosingRows if the plan samples tokens; null otherwise.
  virtual ChoosingRows* choosing() { return nullptr; }

 protected:
  explicit CacheRows(const DecodeInterface& decode);
  int64_t vocabulary_;
  size_t slots_, capacity_;
};

}  // namespace smelt
