#include <algorithm>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/tokenizers/models/byte_trie.h"
#include "runtime/tokenizers/models/model.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr double kUnknownPenalty = 10;

Vocabulary vocabulary_of(const UnigramOptions& options) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < options.pieces.size(); ++id)
    vocabulary.add(options.pieces[id].text, static_cast<int32_t>(id));
  return vocabulary;
}

class UnigramModel : public TokenModel {
 public:
  explicit UnigramModel(const UnigramOptions& options)
      : TokenModel(vocabulary_of(options)),
        unk_id_(options.unk_id),
        single_precision_(options.single_precision),
        bytes_(options.byte_fallback ? byte_token_ids(vocabulary_) : std::vector<int32_t>()) {
    double least = std::numeric_limits<double>::infinity();
    for (size_t id = 0; id < options.pieces.size(); ++id) {
      const UnigramPiece& piece = options.pieces[id];
      if (!piece.in_text) continue;
      const uint32_t node = trie_.insert(piece.text);
      if (node >= ends_.size()) ends_.resize(node + 1);
      ends_[node] = {static_cast<int32_t>(id), piece.score};
      least = std::min(least, piece.score);
    }
    ends_.resize(trie_.nodes());
    ends_[ByteTrie::kRoot] = {};
    unknown_score_ = options.unknown_score.value_or(least - kUnknownPenalty);
  }

  void encode(std::string_view piece, std::vector<ModelToken>& tokens) const override {
    const std::vector<Best> best = best_ends(piece);
    const size_t first = tokens.size();
    for (auto end = static_cast<uint32_t>(piece.size()); end > 0;) {
      const Best& node = best[end];
      const bool joins = node.id == unk_id_ && tokens.size() > first && tokens.back().id == unk_id_;
      if (joins)
        tokens.back().range.begin = node.begin;
      else
        tokens.push_back({node.id, {node.begin, end}});
      end = node.begin;
    }
    std::reverse(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
    name_unknown(piece, first, tokens);
  }

  std::string_view text_of(const ModelToken& token, std::string_view piece) const override {
    if (!bytes_.empty() && std::find(bytes_.begin(), bytes_.end(), token.id) != bytes_.end())
      return TokenModel::text_of(token, piece);
    return piece.substr(token.range.begin, token.range.end - token.range.begin);
  }

 private:
  /// The best division of the text up to a byte, by its last token.
  struct Best {
    double score = 0;
    int32_t id = -1;  // -1: no division ends here
    uint32_t begin = 0;
  };
  struct End {
    int32_t id = -1;
    double score = 0;
  };

  std::vector<Best> best_ends(std::string_view piece) const {
    std::vector<Best> best(piece.size() + 1);
    for (uint32_t begin = 0; begin < piece.size();) {
      const uint32_t next = begin + code_point_at(piece, begin).bytes;
      const double here = best[begin].score;
      const auto offer = [&](uint32_t end, int32_t id, double score) {
        const double sum = single_precision_ ? static_cast<float>(here + score) : here + score;
        if (best[end].id < 0 || sum > best[end].score) best[end] = {sum, id, begin};
      };
      bool single = false;
      uint32_t node = ByteTrie::kRoot;
      for (uint32_t at = begin; at < piece.size();) {
        node = trie_.child(node, piece[at++]);
        if (node == ByteTrie::kNone) break;
        if (ends_[node].id < 0) continue;
        offer(at, ends_[node].id, ends_[node].score);
        single |= at == next;
      }
      if (!single) offer(next, require_unknown_id(), unknown_score_);
      begin = next;
    }
    return best;
  }

  int32_t require_unknown_id() const {
    if (!unk_id_) fail("tokenizer: a part of the text has no token, and the model has no unk_id");
    return *unk_id_;
  }

  /// Replaces unknown tokens: an unknown text may be a token as a whole, or bytes.
  void name_unknown(std::string_view piece, size_t first, std::vector<ModelToken>& tokens) const {
    const auto is_unknown = [&](const ModelToken& token) { return token.id == unk_id_; };
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::none_of(begin, tokens.end(), is_unknown)) return;
    const std::vector<ModelToken> found(begin, tokens.end());
    tokens.resize(first);
    for (const ModelToken& token : found) {
      const std::string_view text = piece.substr(token.range.begin, token.range.end - token.range.begin);
      const auto known = is_unknown(token) ? vocabulary_.find(text) : token.id;
      if (known)
        tokens.push_back({*known, token.range});
      else if (has_bytes(text))
        for (const char byte : text)
          tokens.push_back({bytes_[static_cast<unsigned char>(byte)], token.range});
      else
        tokens.push_back(token);
    }
  }

  bool has_bytes(std::string_view text) const {
    return !bytes_.empty() && std::all_of(text.begin(), text.end(), [&](char byte) {
      return bytes_[static_cast<unsigned char>(byte)] >= 0;
    });
  }

  std::optional<int32_t> unk_id_;
  bool single_precision_;
  std::vector<int32_t> bytes_;
  ByteTrie trie_;
  std::vector<End> ends_;  // by node: the token that ends there
  double unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<TokenModel> unigram_model(const UnigramOptions& options) {
  return std::make_unique<UnigramModel>(options);
}

}  // namespace smelt
