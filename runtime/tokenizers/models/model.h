// Models: the parts of a tokenizer that convert pieces of text to tokens of a vocabulary. (They are not
// neural networks.)
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tokenizers/aligned_text.h"
#include "runtime/tokenizers/models/vocabulary.h"

namespace smelt {

/// A token of a piece.
struct ModelToken {
  int32_t id;
  Span range;  // the bytes of the piece that become this token
};

class TokenModel {
 public:
  explicit TokenModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~TokenModel() = default;

  /// Appends the tokens of a piece. Throws Error if a part of the piece has no token and the vocabulary has
  /// no unknown token. Thread-safe.
  virtual void encode(std::string_view piece, std::vector<ModelToken>& tokens) const = 0;
  /// Returns the text of a token that encode(piece) has appended.
  virtual std::string_view text_of(const ModelToken& token, std::string_view piece) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  /// Returns the id of `token`, the unknown token. Throws Error if it is not in the vocabulary.
  int32_t require_unknown(const std::string& token) const;

  Vocabulary vocabulary_;
};

/// Options of byte pair encoding, named as in tokenizer.json.
struct BpeOptions {
  std::vector<std::pair<std::string, std::string>> merges;  // in order of their ranks, the lowest first
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix, end_of_word_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
};

/// A token of the vocabulary of a unigram model.
struct UnigramPiece {
  std::string text;
  double score = 0;     // logarithm of its probability
  bool in_text = true;  // false: the piece has an id, but text is never divided into it
};

struct UnigramOptions {
  std::vector<UnigramPiece> pieces;  // by id
  std::optional<int32_t> unk_id;
  std::optional<double> unknown_score;  // score per unknown code point; default: the lowest score - 10
  bool byte_fallback = false;
  bool single_precision = false;  // sums of scores are rounded to float, as in SentencePiece
};

struct WordPieceOptions {
  std::string unk_token = "[UNK]", continuing_subword_prefix = "##";
  uint64_t max_input_chars_per_word = 100;
};

/// Creates a model for byte pair encoding. Throws Error (invalid_file) if one of the tokens of a merge is not
/// in the vocabulary.
std::unique_ptr<TokenModel> bpe_model(Vocabulary vocabulary, const BpeOptions& options);
/// Creates a model that divides text into pieces with the largest sum of scores.
std::unique_ptr<TokenModel> unigram_model(const UnigramOptions& options);
/// Creates a model that repeatedly takes the longest token at the beginning of the remaining text.
std::unique_ptr<TokenModel> word_piece_model(Vocabulary vocabulary, WordPieceOptions options);
/// Creates a model that makes one token of each piece.
std::unique_ptr<TokenModel> word_level_model(Vocabulary vocabulary, std::string unk_token);

/// Creates a model that divides text into the same tokens as `model`, but gives each the id that its text has
/// in `vocabulary`. A token whose text is not in `vocabulary` becomes `unk_token`.
std::unique_ptr<TokenModel> renamed_model(std::unique_ptr<TokenModel> model, Vocabulary vocabulary,
                                          std::string unk_token);

/// Returns the ids of the tokens "<0x00>" to "<0xFF>"; -1 for each that the vocabulary does not have.
std::vector<int32_t> byte_token_ids(const Vocabulary& vocabulary);

}  // namespace smelt
