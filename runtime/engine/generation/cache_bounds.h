// Bounds of the caches of @decode (frontend/build_transformer.h): tokens per row, and tokens that one run
// reads.
//
// A cache has a position for each token of a row, or it is a sliding-window KV cache (ring) of fewer
// positions, where token t is at position t modulo their number and overwrites an earlier one. A ring keeps
// the last tokens of a row: those that a block with a window attends to from the last run's first token on.
#pragma once

#include <cstddef>

#include "runtime/session/session.h"

namespace smelt {

class CacheBounds {
 public:
  explicit CacheBounds(const Session& session);

  size_t capacity() const { return capacity_; }  // tokens of a row
  /// Returns the most tokens per row that a run of `rows` rows reads.
  size_t longest_run(size_t rows) const;
  /// Returns the tokens per row of a run that reads `tokens` tokens of each row, at most longest_run. The
  /// others are padding, which limits the number of different lengths (prompt_lengths.h) if a graph is
  /// captured for each length.
  size_t run_length(size_t tokens, size_t rows) const;
  /// Returns whether a row that has had `furthest` tokens, padding included, can continue after its first
  /// `length` tokens, and read the last of these once more.
  bool holds(size_t length, size_t furthest) const;

 private:
  const Symbols& symbols_;
  std::string run_symbol_;
  size_t capacity_ = 0, run_ = 0;
  size_t ring_ = 0;  // places of a ring; 0: there is none
  bool pads_;
};

}  // namespace smelt
