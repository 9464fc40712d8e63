// What the caches of @decode (frontend/build_transformer.h) hold of a row, and how much one run reads.
//
// A cache has a place for each token of a row, or it is a ring of fewer places, where token t is at place t
// modulo their number and takes the place of an earlier one. Of what a row has had, a ring keeps the last
// tokens: those that a block with a window sees from the last run's first token on.
#pragma once

#include <cstddef>

#include "runtime/session.h"

namespace smelt {

class CacheBounds {
 public:
  explicit CacheBounds(const Session& session);

  size_t capacity() const { return capacity_; }  // tokens of a row
  /// Tokens that a run of so many rows reads of each at most.
  size_t longest_run(size_t rows) const;
  /// The tokens of a run that reads so many of each row, at most longest_run: more are padding, which makes
  /// the lengths of runs few (prompt_lengths.h) where each is captured for itself.
  size_t run_length(size_t tokens, size_t rows) const;
  /// Whether a row that has had `furthest` tokens, padding included, can go on behind its first `length`, and
  /// read the last of these once more.
  bool holds(size_t length, size_t furthest) const;

 private:
  const Symbols& symbols_;
  std::string run_symbol_;
  size_t capacity_ = 0, run_ = 0;
  size_t ring_ = 0;  // places of a ring; 0: there is none
  bool pads_;
};

}  // namespace smelt
