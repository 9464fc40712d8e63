// Tokens that are found in the text itself, before the model sees it.
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

struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no word character is next to it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and after it
  bool normalized = true;    // is looked for, normalized, in the normalized text
  bool special = false;      // may be left out when decoding
};

class AddedTokens {
 public:
  /// A token of the model keeps its id, others are numbered from the model's size on. A later token of the
  /// same content takes the place of an earlier one.
  AddedTokens() = default;
  AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& model, const Normalizer* normalizer);

  /// A part of the text that begins with >>xx<<, whatever the code, begins with a token: Marian's languages.
  /// A code that `model` does not have is its `unknown`.
  void keep_language_codes(const Vocabulary& model, int32_t unknown);

  /// Divides the text into tokens and normalized parts between them; special tokens are found where
  /// `special`.
  PieceList find(std::string_view text, const Normalizer* normalizer, bool special) const;

  std::optional<int32_t> id(std::string_view content) const;
  /// Returns the text of the token for a decoder: the normalized content.
  std::optional<std::string_view> text(int32_t id) const;
  bool is_special(std::string_view text) const { return special_.contains(text); }
  bool is_special_id(int32_t id) const;
  /// Returns the number of tokens that are not the model's own.
  size_t new_tokens() const { return new_tokens_; }

 private:
  struct Entry {
    AddedToken token;
    std::string normalized;
  };
  /// Contents to be found, and whose they are.
  struct Matcher {
    ByteTrie trie;
    std::vector<int32_t> ids{-1};  // by node
    bool begins[256] = {};
    bool empty = true;
    void add(const std::string& content, int32_t id);
    /// Returns the longest content that begins at `at`.
    Piece longest(std::string_view text, uint32_t at) const;
  };
  std::vector<Piece> find_in(std::string_view text, const Matcher& matcher, bool special) const;
  /// Returns the language code with which the text begins, as its length and token.
  Piece language_code(std::string_view text) const;
  bool accepts(const AddedToken& token, std::string_view text, Span match) const;

  std::map<int32_t, Entry> entries_;
  std::map<std::string, int32_t, std::less<>> ids_;
  std::set<std::string, std::less<>> special_;
  Matcher plain_, normalized_;
  size_t new_tokens_ = 0;
  std::map<std::string, int32_t, std::less<>> language_codes_;
  int32_t unknown_language_ = -1;  // -1: codes are text
};

}  // namespace smelt
