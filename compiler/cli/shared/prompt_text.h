// PromptText: conversion between texts and tokens, by the model's tokenizer, or byte by byte if the model's
// tokens are bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/structured/token_bytes.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {

/// Converter for one model. Prompts are neither truncated nor padded: such settings in the tokenizer's file
/// are for training, and are ignored.
class PromptText {
 public:
  /// `vocabulary`: the number of the model's token ids. `add_special_tokens`: the default of encode().
  PromptText(const Model& model, int64_t vocabulary, bool add_special_tokens);

  /// Returns whether the model has a tokenizer or its tokens are known to be bytes.
  bool known() const { return bytes_ || tokenizer_; }
  /// Throws Error if the tokenizer returns an id outside of the vocabulary. Without a tokenizer, the tokens
  /// are the bytes of the text; throws Error if the vocabulary is not 256.
  Generator::Tokens encode(const std::string& text) const;
  /// Encodes with or without the special tokens that the tokenizer adds.
  Generator::Tokens encode(const std::string& text, bool add_special_tokens) const;
  /// Does the same for a text whose beginning is left out if it has more than `most` tokens, of which the
  /// special tokens are a part.
  Generator::Tokens encode_end(const std::string& text, bool add_special_tokens, size_t most) const;
  /// Returns whether encode() adds special tokens by default.
  bool adds_special_tokens() const { return add_special_tokens_; }
  /// Returns the text of the tokens; `skips_special`: without special tokens.
  std::string decode(const Generator::Tokens& tokens, bool skips_special = true) const;
  /// Returns the text of a token as the tokenizer's vocabulary has it, before decoding.
  std::string name_of(int32_t token) const;
  /// Decodes one token by itself, even if it is a special token.
  std::string decode_one(int32_t token) const;
  /// Returns the bytes of each token, for structured output. Throws Error (invalid_argument) if the tokens
  /// have no texts, or if the bytes of a token depend on the tokens next to it (structured::token_bytes).
  structured::TokenBytes token_bytes() const;
  /// Returns a function that decodes tokens one by one. Called with a token, it returns the text that is now
  /// complete, in whole characters. Called without one, after the last token, it returns the remaining text.
  /// Special tokens add no text, except those that `kept` names; all do if `skips_special` is false.
  std::function<std::string(std::optional<int32_t>)> stream(const std::vector<std::string>& kept = {},
                                                            bool skips_special = true) const;

 private:
  Generator::Tokens encode_by(const Tokenizer& tokenizer, const std::string& text,
                              bool add_special_tokens) const;

  std::optional<Tokenizer> tokenizer_;
  int64_t vocabulary_;
  bool bytes_, add_special_tokens_;
};

}  // namespace smelt::cli
