// Models: they convert a piece of text to tokens of a vocabulary.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tokenizers/aligned_text.h"
#include "runtime/tokenizers/models/vocabulary.h"

namespace smelt {

struct ModelToken {
  int32_t id;
  Span range;  // bytes of the piece
};

class TokenModel {
 public:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~TokenModel() = default;

  /// Appends the tokens of a piece. Throws Error if there is no token for a part of it. Safe to call from
  /// several threads.
  virtual void encode(std::string_view piece, std::vector<ModelToken>& tokens) const = 0;
  /// Returns the text of a token that encode made of `piece`.
  virtual std::string_view text_of(const ModelToken& token, std::string_view piece) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  /// Returns the id of the unknown token; throws Error if the vocabulary lacks it.
  int32_t require_unknown(const std::string& token) const;

  Vocabulary vocabulary_;
};

struct BpeOptions {
  std::vector<std::pair<std::string, std::string>> merges;  // the first is merged first
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};

struct UnigramPiece {
  std::string text;
  double score = 0;     // its logarithmic probability
  bool in_text = true;  // false: it has an id and is never found in a text
};

struct UnigramOptions {
  std::vector<UnigramPiece> pieces;  // by id
  std::optional<int32_t> unk_id;
  std::optional<double> unknown_score;  // by default 10 below the least
  bool byte_fallback = false;
  bool single_precision = false;  // sums are rounded to float, as SentencePiece does
};

struct WordPieceOptions {
  std::string unk_token = "[UNK]", continuing_subword_prefix = "##";
  uint64_t max_input_chars_per_word = 100;
};

/// Byte pair encoding. Throws Error (invalid_file) if a merge is not of tokens.
std::unique_ptr<TokenModel> bpe_model(Vocabulary vocabulary, const BpeOptions& options);
/// Creates a model that chooses the most probable division.
std::unique_ptr<TokenModel> unigram_model(const UnigramOptions& options);
/// Creates a model that takes the longest token first.
std::unique_ptr<TokenModel> word_piece_model(Vocabulary vocabulary, WordPieceOptions options);
/// Creates a model with one token per whole piece.
std::unique_ptr<TokenModel> word_level_model(Vocabulary vocabulary, std::string unk_token);

/// `model`'s tokens by the ids that `vocabulary` has for their texts.
std::unique_ptr<TokenModel> renamed_model(std::unique_ptr<TokenModel> model, Vocabulary vocabulary,
                                          std::string unk_token);

/// Returns the ids of <0x00> to <0xFF>; -1 where the vocabulary lacks one.
std::vector<int32_t> byte_token_ids(const Vocabulary& vocabulary);

}  // namespace smelt
