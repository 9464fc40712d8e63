// Prompts as text: by the model's tokenizer, or as bytes where bytes are its tokens.
#pragma once

#include <functional>
#include <optional>

#include "compiler/cli/shared/model.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {

/// Text and tokens of a prompt. A prompt is taken as a whole, because the truncation and padding in a
/// tokenizer's file are for its training.
class PromptText {
 public:
  PromptText(const Model& model, int64_t vocabulary, bool add_special_tokens);

  /// Returns whether the model's tokens are known to be text.
  bool known() const { return bytes_ || tokenizer_; }
  Generator::Tokens encode(const std::string& text) const;
  /// Encodes with the special tokens that the tokenizer adds, or without.
  Generator::Tokens encode(const std::string& text, bool add_special_tokens) const;
  std::string decode(const Generator::Tokens& tokens) const;
  /// One token by itself, even if it is special.
  std::string decode_one(int32_t token) const;
  /// Gives the text that each token adds, in whole characters; called without one, what was held back.
  std::function<std::string(std::optional<int32_t>)> stream() const;

 private:
  std::optional<Tokenizer> tokenizer_;
  int64_t vocabulary_;
  bool bytes_, add_special_tokens_;
};

}  // namespace smelt::cli
