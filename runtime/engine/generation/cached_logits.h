// Logits of the next token of several rows. The entries @encode, @decode, @reorder and @reorder_sources of a
// plan (decode_contract.def) compute them with KV caches.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/cache_bounds.h"
#include "runtime/engine/generation/model_row.h"
#include "runtime/session/session.h"

namespace smelt {

/// Logits of rows, computed with KV caches. For each row, a run finds the cached row with the longest common
/// prefix, and reads only the tokens after this prefix. For example, a run reads one token of each row if
/// each row is some row of the previous run with one more token.
class CachedLogits {
 public:
  CachedLogits(Session& session, const DecodeInterface& decode);

  size_t capacity() const { return bounds_.capacity(); }  // tokens per row

  /// Computes the logits of the next token of each row: `logits` is [rows, vocabulary]. Requires: there are
  /// at most as many rows as the plan's caches have, and no row is longer than capacity(). If the plan has no
  /// mask for sources, all sources have the same length.
  void run(std::span<const ModelRow> rows, std::span<float> logits);
  /// Fills the caches with all tokens of each row except its last one. Call it before runs of an entry that
  /// samples tokens (@next, @next_beams).
  void hold(std::span<const ModelRow> rows);
  /// Records that, after hold(), an entry that samples tokens has run `runs` times. Each run has read one
  /// token of the row. The first runs have read `tokens`, one per run. Later runs have read tokens that the
  /// row does not keep.
  void note_read(size_t row, std::span<const int32_t> tokens, size_t runs);
  /// Marks the contents of the caches as undefined, so that the next run reads all tokens.
  void forget() { held_.clear(); }

 private:
  using Tokens = std::vector<int32_t>;
  /// Contents of one row of the caches. `furthest` is the end of all positions that have been written,
  /// padding included.
  struct Held {
    Tokens tokens, source, mask;
    size_t furthest = 0;
  };
  /// The row of the caches that has the longest common prefix with a given row, and the length of that
  /// prefix.
  struct Match {
    size_t slot, length;
  };
  /// Copies of rows of the caches to other rows.
  struct Moves {
    std::vector<int32_t> from, to;
    size_t length = 0;  // tokens of the longest copy
    void add(size_t from_slot, size_t to_slot, size_t tokens);
  };
  void move(const char* entry, const Moves& moves);
  size_t match_length(const ModelRow& row, const Held& held) const;
  Match match(const ModelRow& row, size_t own_slot, std::span<const Held> held) const;
  /// For each row, finds the slot whose cached tokens have the longest prefix in common with the row, and
  /// copies this prefix to the slot of the row. Returns the lengths of these prefixes.
  std::vector<size_t> keep_matches(std::span<const ModelRow> rows, std::span<const Held> held);
  void reorder(std::span<const Match> matches);
  void reorder_sources(std::span<const Match> matches, std::span<const Held> held);
  void encode(std::span<const ModelRow> rows);
  void decode(std::span<const ModelRow> rows, std::vector<size_t> past, std::span<float> logits);
  void decode_run(std::span<const ModelRow> rows, std::vector<size_t>& past, size_t longest,
                  std::span<float> logits);
  /// Calls keep_matches, and then read(lengths), which reads the other tokens of the rows. Sets held_.
  template <typename Read>
  void update(std::span<const ModelRow> rows, const Read& read);
  void read_all_but_last(std::span<const ModelRow> rows, std::vector<size_t> past);

  Session& session_;
  CacheBounds bounds_;
  size_t source_capacity_;
  bool reads_source_;
  std::vector<Held> held_;
  std::vector<size_t> furthest_;  // Held::furthest of each row of the last run
};

}  // namespace smelt
