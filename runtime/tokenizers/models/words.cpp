// Models of whole words and of their longest parts, and one that renames another's tokens.
#include "runtime/tokenizers/models/byte_trie.h"
#include "runtime/tokenizers/models/model.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

class WordPieceModel : public TokenModel {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options)
      : TokenModel(std::move(vocabulary)), options_(std::move(options)) {
    vocabulary_.each([&](const std::string& token, int32_t id) {
      const uint32_t node = trie_.insert(token);
      if (node >= ids_.size()) ids_.resize(node + 1, -1);
      ids_[node] = id;
    });
    ids_.resize(trie_.nodes(), -1);
    continuing_ = trie_.find(options_.continuing_subword_prefix);
  }

  void encode(std::string_view piece, std::vector<ModelToken>& tokens) const override {
    const size_t first = tokens.size();
    bool known = count_code_points(piece) <= options_.max_input_chars_per_word;
    for (uint32_t at = 0; known && at < piece.size();) {
      const ModelToken token = longest(piece, at);
      known = token.id >= 0;
      if (known) tokens.push_back(token);
      at = token.range.end;
    }
    if (known) return;
    tokens.resize(first);
    tokens.push_back({require_unknown(options_.unk_token), {0, static_cast<uint32_t>(piece.size())}});
  }

 private:
  /// Returns the longest token that begins at `begin`; without an id where there is none.
  ModelToken longest(std::string_view piece, uint32_t begin) const {
    ModelToken token{-1, {begin, begin}};
    uint32_t node = begin == 0 ? ByteTrie::kRoot : continuing_;
    for (uint32_t at = begin; node != ByteTrie::kNone && at < piece.size();) {
      node = trie_.child(node, piece[at++]);
      const bool whole = at == piece.size() || begins_code_point(piece[at]);
      if (node != ByteTrie::kNone && ids_[node] >= 0 && whole) token = {ids_[node], {begin, at}};
    }
    return token;
  }

  WordPieceOptions options_;
  ByteTrie trie_;
  std::vector<int32_t> ids_;               // by node: the token that ends there
  uint32_t continuing_ = ByteTrie::kNone;  // begin of the parts after the first
};

class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(Vocabulary vocabulary, std::string unk_token)
      : TokenModel(std::move(vocabulary)), unk_token_(std::move(unk_token)) {}
  void encode(std::string_view piece, std::vector<ModelToken>& tokens) const override {
    const auto id = vocabulary_.find(piece);
    tokens.push_back({id ? *id : require_unknown(unk_token_), {0, static_cast<uint32_t>(piece.size())}});
  }

 private:
  std::string unk_token_;
};

class RenamedModel : public TokenModel {
 public:
  RenamedModel(std::unique_ptr<TokenModel> model, Vocabulary vocabulary, std::string unk_token)
      : TokenModel(std::move(vocabulary)), model_(std::move(model)), unk_token_(std::move(unk_token)) {}
  void encode(std::string_view piece, std::vector<ModelToken>& tokens) const override {
    const size_t first = tokens.size();
    model_->encode(piece, tokens);
    for (size_t i = first; i < tokens.size(); ++i) {
      const auto id = vocabulary_.find(model_->text_of(tokens[i], piece));
      tokens[i].id = id ? *id : require_unknown(unk_token_);
    }
  }

 private:
  std::unique_ptr<TokenModel> model_;
  std::string unk_token_;
};

}  // namespace

std::unique_ptr<TokenModel> renamed_model(std::unique_ptr<TokenModel> model, Vocabulary vocabulary,
                                          std::string unk_token) {
  return std::make_unique<RenamedModel>(std::move(model), std::move(vocabulary), std::move(unk_token));
}
std::unique_ptr<TokenModel> word_piece_model(Vocabulary vocabulary, WordPieceOptions options) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(options));
}
std::unique_ptr<TokenModel> word_level_model(Vocabulary vocabulary, std::string unk_token) {
  return std::make_unique<WordLevelModel>(std::move(vocabulary), std::move(unk_token));
}

}  // namespace smelt
