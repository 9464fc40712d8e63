// Speculation: tokens that may follow a text, found in the text itself or by a smaller model. Such tokens are
// a draft. One run of the model reads the draft after the last token of the text. The tokens of the draft
// that the model would have sampled are kept, so the text can grow by several tokens in one run. The
// resulting text is the same as without drafts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

/// Returns the `most` tokens that follow an earlier occurrence of the last tokens of a text: the latest
/// occurrence of the last 4 tokens, else of the last 3, else of the last 2. Empty if there is none. If the
/// text ends before `most` tokens, the result's own tokens follow: so a text that repeats a period of any
/// length goes on with it.
std::vector<int32_t> likely_continuation(std::span<const int32_t> text, size_t most);

/// The length of a text's next draft, which depends on the text's earlier drafts. If all tokens of a draft
/// were sampled, the next draft may have twice as many; else it has as many as were sampled. A draft fails if
/// less than half of it was sampled. After `patience` + 1 failures in succession, the text gets no draft for
/// its next token. This pause doubles with each further failure, up to 64 tokens, and is quartered by each
/// success, so a text whose drafts fail more often than not has few.
class DraftLength {
 public:
  explicit DraftLength(size_t first = 4, size_t patience = 0) : length_(first), patience_(patience) {}
  /// Returns the most tokens of the next draft; `limit` is the largest number that the options of the batch
  /// allow.
  size_t next(size_t limit);
  /// Returns the expected number of tokens of the next draft that will be sampled: those of earlier drafts,
  /// of which each counts twice as much as the one before it. It grows slowly while the text gets no drafts.
  double expected() const { return expected_; }
  /// Records that `kept` of the `drafted` tokens of a draft were sampled.
  void record(size_t drafted, size_t kept);

 private:
  size_t length_;    // most tokens of the next draft
  size_t patience_;  // failures in succession that make no pause
  double expected_ = static_cast<double>(length_);
  size_t failures_ = 0;          // failures in succession
  size_t pause_ = 0, left_ = 0;  // tokens of the last pause, less after successes; those that are left now
};

}  // namespace smelt
