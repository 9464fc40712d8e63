// The logits of the next token of some rows, from entries that cache the keys and values of their tokens
// (@encode, @decode, @reorder, @reorder_sources).
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/cache_bounds.h"
#include "runtime/engine/generation/model_row.h"
#include "runtime/session/session.h"

namespace smelt {

/// Logits of rows, computed with KV caches. It detects the tokens that a row shares with rows of the run
/// before: the next token of a sequence, beams that continue from another beam's tokens, and batches of which
/// some rows have ended read their last token only.
class CachedLogits {
 public:
  CachedLogits(Session& session, const DecodeInterface& decode);

  size_t capacity() const { return bounds_.capacity(); }  // tokens of a row

  /// Computes the logits of at most as many rows as the plan's caches have, each no longer than their
  /// capacity. Sources have one length if the plan has no mask for them.
  void run(std::span<const ModelRow> rows, std::span<float> logits);
  /// Fills the caches with all tokens of the rows but the last, for an entry that reads the next ones
  /// (@next).
  void hold(std::span<const ModelRow> rows);
  /// Records that such an entry has read more tokens of a row, in `runs` runs; tokens that these runs read
  /// after `tokens` are discarded.
  void note_read(size_t row, std::span<const int32_t> tokens, size_t runs);
  /// Marks the caches as undefined: no row can continue from them.
  void forget() { held_.clear(); }

 private:
  using Tokens = std::vector<int32_t>;
  /// The tokens of one row in the caches, and the number of tokens they have had of it, padding included.
  struct Held {
    Tokens tokens, source, mask;
    size_t furthest = 0;
  };
  /// The row of the caches with the longest common prefix of a row, and the length of the prefix.
  struct Match {
    size_t slot, length;
  };
  /// Rows that move to the slots of others.
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
  void encode(std::span<const ModelRow> rows);
  void decode(std::span<const ModelRow> rows, std::vector<size_t> past, std::span<float> logits);
  void decode_run(std::span<const ModelRow> rows, std::vector<size_t>& past, size_t longest,
                  std::span<float> logits);
  template <typename Read>
  void update(std::span<const ModelRow> rows, const Read& read);
  void read_all_but_last(std::span<const ModelRow> rows, std::vector<size_t> past);

  Session& session_;
  CacheBounds bounds_;
  size_t source_capacity_;
  bool reads_source_;
  std::vector<Held> held_;
  std::vector<size_t> furthest_;  // of each row of the last run, as Held has it
};

}  // namespace smelt
