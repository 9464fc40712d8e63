// TextConstraints: constrained texts of the requests to one model, from their specifications.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/structured/constrained_text.h"
#include "runtime/structured/constraint_cache.h"

namespace smelt::structured {

/// Compiles specifications and caches the results. Thread-safe.
class TextConstraints {
 public:
  using Tokens = std::function<TokenBytes()>;

  /// `tokens` returns the bytes of all tokens. text() calls it when a first request needs them, because that
  /// takes time.
  explicit TextConstraints(Tokens tokens) : make_(std::move(tokens)) {}

  /// Returns the constrained text of a request. `end_tokens` are the ids that end it. `prompt` decides
  /// whether the text is decoded after other text. Throws the Errors of `tokens` and of compile().
  std::shared_ptr<ConstrainedText> text(const Specification& specification, std::vector<int32_t> end_tokens,
                                        std::span<const int32_t> prompt);

 private:
  ConstraintCache& constraints();

  Tokens make_;
  std::mutex mutex_;                                // held while constraints_ is created
  std::shared_ptr<const ConstraintTokens> tokens_;  // null until a request needs it
  std::unique_ptr<ConstraintCache> constraints_;    // null until a request needs it
};

}  // namespace smelt::structured
