// Drafter: interface of the sources of drafts. A draft is a list of tokens that may follow a text. One run of
// the model reads a draft after the last token of the text and keeps the tokens that the model would have
// sampled, so the resulting text does not depend on the drafts (steps.h).
//
// There are two sources: the text itself (LookupDrafter), and a smaller model (ModelDrafter,
// model_drafter.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/serving/drafts.h"
#include "runtime/engine/serving/request.h"

namespace smelt {

/// A running text, as a drafter sees it, and its draft.
struct DraftText {
  uint64_t number = 0;  // of the sequence; no two sequences of a batch have the same number
  const Request* request = nullptr;
  std::span<const int32_t> tokens;  // the prompt and the known new tokens
  size_t longest = 0;               // most tokens that the text may grow to, without its last new token
  size_t most = 0;                  // most tokens of the draft; 0: the text needs no draft now
  std::vector<int32_t> draft = {};  // result
};

/// Returns the share of a text in `left` tokens of drafts, if this text and `others` later texts want drafts.
inline size_t draft_share(const DraftText& text, size_t left, size_t others) {
  return std::min(text.most, left / (others + 1));
}

class Drafter {
 public:
  Drafter() = default;
  virtual ~Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;

  /// Sets the draft of each text that wants one: at most DraftText::most tokens, and at most `left` tokens of
  /// all texts together. `texts` are all running texts, so a text of an earlier call that is missing has
  /// ended.
  virtual void draft(std::span<DraftText> texts, size_t left) = 0;
  /// Returns whether a text that begins with `tokens` is likely to get a draft once its next tokens are
  /// known.
  virtual bool expects_draft(std::span<const int32_t> /*tokens*/) const { return true; }
  /// Returns the length of a new text's first draft, and how it changes with success.
  virtual DraftLength first_length() const { return DraftLength(); }
  /// Returns the bytes of the drafter's own caches.
  virtual int64_t cache_bytes() const { return 0; }
  /// Warm-up: executes all sizes of runs that may occur later. Requires: draft() was not called.
  virtual void prepare() {}
  /// Ends all texts, after a failure of the whole batch.
  virtual void forget() {}
};

/// Drafts by prompt lookup: the tokens that followed an earlier occurrence of the text's last tokens.
class LookupDrafter : public Drafter {
 public:
  void draft(std::span<DraftText> texts, size_t left) override;
  bool expects_draft(std::span<const int32_t> tokens) const override {
    return !likely_continuation(tokens, 1).empty();
  }
};

/// The drafter of a batch, and its limits.
struct DraftSource {
  std::shared_ptr<Drafter> drafter = {};  // null: no drafts
  size_t tokens = 0;                      // most tokens of a draft
  size_t texts = 0;                       // no text gets a draft while more than these run
};

}  // namespace smelt
