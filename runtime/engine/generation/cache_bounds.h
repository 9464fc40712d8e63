// Limits on the number of tokens that one run of a plan can read, if the plan's KV caches have one slot per
// row of the batch. The cache of a layer with sliding-window attention may be a ring buffer ("ring"), which
// keeps only the last tokens of a row: those to which tokens of the last run attend.
#pragma once

#include <cstddef>

#include "runtime/plan/decode_interface.h"

namespace smelt {

class CacheBounds {
 public:
  CacheBounds(const Plan& plan, const DecodeInterface& decode);
  size_t capacity() const { return decode_.capacity; }  // tokens per row
  /// Returns the most tokens per row that one run of `rows` rows can read.
  size_t longest_run(size_t rows) const;
  /// Returns the padded length of a run that reads `tokens` tokens per row, where `tokens` is at most
  /// longest_run. Padding limits the number of different lengths (prompt_lengths.h) on devices that capture a
  /// graph for each length. Elsewhere the result is `tokens`.
  size_t run_length(size_t tokens, size_t rows) const;
  /// Returns the padded length of an encoder's sources of at most `tokens` tokens. Sources are padded only if
  /// the plan masks their padding.
  size_t source_length(size_t tokens, size_t rows) const;
  /// Returns whether a row can continue after its first `length` tokens, although all positions before
  /// `furthest`, padding included, have been written to its caches. It cannot if the next tokens attend to
  /// tokens in a ring that have been overwritten.
  bool holds(size_t length, size_t furthest) const;

 private:
  SymbolValues of_rows(size_t rows) const;

  const Symbols& symbols_;
  DecodeInterface decode_;
  bool pads_;
};

}  // namespace smelt
