// Lengths of runs over caches in rows. A ring keeps the last tokens of a row: those that a block with a
// window attends to from the last run's first token on.
#pragma once

#include <cstddef>

#include "runtime/plan/decode_interface.h"

namespace smelt {

class CacheBounds {
 public:
  CacheBounds(const Plan& plan, const DecodeInterface& decode);
  size_t capacity() const { return decode_.capacity; }  // tokens of a row
  /// Returns the most tokens per row that a run of `rows` rows reads.
  size_t longest_run(size_t rows) const;
  /// Returns the tokens per row of a run that reads `tokens` tokens of each row, at most longest_run. The
  /// others are padding, which limits the number of different lengths (prompt_lengths.h) if a graph is
  /// captured for each length.
  size_t run_length(size_t tokens, size_t rows) const;
  /// Returns the same for sources, whose padding is masked.
  size_t source_length(size_t tokens, size_t rows) const;
  /// Returns whether a row that has had `furthest` tokens, padding included, can continue after its first
  /// `length` tokens, and read the last of these once more.
  bool holds(size_t length, size_t furthest) const;

 private:
  SymbolValues of_rows(size_t rows) const;

  const Symbols& symbols_;
  DecodeInterface decode_;
  bool pads_;
};

}  // namespace smelt
