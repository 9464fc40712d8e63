// Runs the entries of a decoder with caches (@decode, @reorder of frontend/build_transformer.h): row i of a
// run has slot i of the caches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/session.h"

namespace smelt {

class CacheRows {
 public:
  /// Throws Error where the plan has no such entries, or reads a source beside its tokens.
  explicit CacheRows(Session& session);

  int64_t vocabulary() const { return vocabulary_; }
  size_t slots() const { return slots_; }
  size_t capacity() const { return capacity_; }  // tokens of a slot

  /// Reads tokens behind the `past` ones that slot 0 has, and returns the logits of the last.
  std::span<const float> read(std::span<const int32_t> tokens, size_t past);
  /// Reads one more token in each of the first slots, and returns the logits of all.
  std::span<const float> read_one_each(std::span<const int32_t> tokens, std::span<const int32_t> past);
  /// The first `length` tokens of slot `from` are those of slot `to` too.
  void copy(size_t from, size_t to, size_t length);

 private:
  std::span<const float> decode(std::span<const int32_t> tokens, std::span<const int32_t> past);

  Session& session_;
  int64_t vocabulary_ = 0;
  size_t slots_ = 0, capacity_ = 0;
  std::vector<float> logits_;
};

}  // namespace smelt
