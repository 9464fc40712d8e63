// The logits of the next token of some rows, from entries that keep the keys and values of what they read
// (@encode, @decode, @reorder, @reorder_sources of frontend/build_transformer.h).
#pragma once

#include <span>
#include <vector>

#include "runtime/generation/cache_bounds.h"
#include "runtime/generation/model_row.h"
#include "runtime/session.h"

namespace smelt {

/// Finds by itself what a row shares with those of the run before: the next token of a sequence, beams that
/// go on from another's tokens and batches of which some rows have ended need no more than their last token.
class CachedLogits {
 public:
  explicit CachedLogits(Session& session);

  size_t capacity() const { return bounds_.capacity(); }  // tokens of a row

  /// As many rows as the plan's caches have at most, each no longer than they hold. Sources are of one length
  /// where the plan takes no mask of them.
  void run(std::span<const ModelRow> rows, std::span<float> logits);
  /// Makes the caches hold all of the rows but their last tokens, for someone else who reads on (@next).
  void hold(std::span<const ModelRow> rows);
  /// That one has read more of a row since, in so many runs, of which those behind the tokens are nobody's.
  void note_read(size_t row, std::span<const int32_t> tokens, size_t runs);
  /// That one leaves nothing in the caches that a row could go on from.
  void forget() { held_.clear(); }

 private:
  using Tokens = std::vector<int32_t>;
  /// What the caches hold of one row, and how many tokens they have had of it, padding included.
  struct Held {
    Tokens tokens, source, mask;
    size_t furthest = 0;
  };
  /// The row of the caches that has most of the beginning of a row, and how much that is.
  struct Match {
    size_t slot, length;
  };
  /// Rows that go to others' places.
  struct Moves {
    std::vector<int32_t> from, to;
    size_t length = 0;  // of the longest
    void add(size_t from_slot, size_t to_slot, size_t tokens);
  };
  void move(const char* entry, const Moves& moves);
  size_t match_length(const ModelRow& row, const Held& held) const;
  Match match(const ModelRow& row, size_t own_slot, std::span<const Held> held) const;
  std::vector<size_t> keep_matches(std::span<const ModelRow> rows, std::span<const Held> held);
  void reorder(std::span<const Match> matches);
  void reorder_sources(std::span<const Match> matches, std::span<const Held> held);
  size_t source_length(std::span<const ModelRow> rows) const;
  void encode(std::span<const ModelRow> rows);
  void decode(std::span<const ModelRow> rows, std::vector<size_t> past, std::span<float> logits);
  void decode_run(std::span<const ModelRow> rows, std::vector<size_t>& past, size_t longest,
                  std::span<float> logits);
  template <typename Read>
  void update(std::span<const ModelRow> rows, const Read& read);
  void read_all_but_last(std::span<const ModelRow> rows, std::vector<size_t> past);

  Session& session_;
  CacheBounds bounds_;
  size_t source_capacity_ = 0;
  bool reads_source_, pads_sources_ = false;
  std::vector<Held> held_;
  std::vector<size_t> furthest_;  // of each row of the last run, as Held has it
};

}  // namespace smelt
