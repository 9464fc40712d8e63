// Added tokens: tokens such as "</s>" that are found in a text before it is divided and given to the model of
// the tokenizer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/tokenizers/aligned_text.h"
#include "runtime/tokenizers/models/byte_trie.h"
#include "runtime/tokenizers/models/vocabulary.h"
#include "runtime/tokenizers/normalizers/normalizer.h"

namespace smelt {

/// An element of added_tokens in a tokenizer.json.
struct AddedToken {
  std::string content;
  bool single_word = false;  // matches only if no word character precedes or follows it
  bool lstrip = false;       // the match includes preceding white space
  bool rstrip = false;       // the match includes following white space
  bool normalized = true;    // the normalized content is searched for in the normalized text; false: the
                             // content in the original text
  bool special = false;      // may be omitted by a decoder
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// Assigns ids: a token that is in the vocabulary `model` keeps its id, and other tokens are numbered from
  /// model.size() on. If several tokens have the same content, the last one is used. `normalizer` may be
  /// null.
  AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& model, const Normalizer* normalizer);

  /// Makes find() recognize the language codes of Marian: if the text between two other tokens begins with
  /// ">>xx<<" (for any xx), ">>xx<<" is a token. Its id is the id of ">>xx<<" in `model`, or `unknown` if
  /// `model` does not have it.
  void keep_language_codes(const Vocabulary& model, int32_t unknown);

  /// Divides the text into added tokens and the normalized parts between them. Special tokens are found only
  /// if `special` is true. `normalizer` may be null.
  PieceList find(std::string_view text, const Normalizer* normalizer, bool special) const;

  /// Returns the id of the added token with this content; nothing if there is none.
  std::optional<int32_t> id(std::string_view content) const;
  /// Returns the normalized content of the added token with this id. Decoders use it as the text of the
  /// token. Returns nothing if no added token has this id.
  std::optional<std::string_view> text(int32_t id) const;
  /// Returns whether a special token has this content.
  bool is_special(std::string_view text) const { return special_.contains(text); }
  bool is_special_id(int32_t id) const;
  /// Returns the number of added tokens that are not in the vocabulary of the model.
  size_t new_tokens() const { return new_tokens_; }

 private:
  struct Entry {
    AddedToken token;
    std::string normalized;
  };
  /// The set of contents of added tokens to search for, and the ids of these tokens.
  struct Matcher {
    ByteTrie trie;
    std::vector<int32_t> ids{-1};  // by node of the trie; -1: no content ends there
    bool begins[256] = {};         // by byte: a content begins with it
    bool empty = true;
    void add(const std::string& content, int32_t id);
    /// Returns the longest content that the text has at `at`; token -1 if there is none.
    Piece longest(std::string_view text, uint32_t at) const;
  };
  /// Divides the text into the tokens that the matcher finds and the parts between them.
  std::vector<Piece> find_in(std::string_view text, const Matcher& matcher, bool special) const;
  /// Returns the range and the token of the language code at the beginning of the text; token -1 if there is
  /// none.
  Piece language_code(std::string_view text) const;
  /// Returns whether `match` satisfies AddedToken::single_word of the token.
  bool accepts(const AddedToken& token, std::string_view text, Span match) const;

  std::map<int32_t, Entry> entries_;
  std::map<std::string, int32_t, std::less<>> ids_;
  std::set<std::string, std::less<>> special_;
  Matcher plain_, normalized_;  // for the original and for the normalized text
  size_t new_tokens_ = 0;
  std::map<std::string, int32_t, std::less<>> language_codes_;
  int32_t unknown_language_ = -1;  // id of an unknown language code; -1: language codes are not found
};

}  // namespace smelt
