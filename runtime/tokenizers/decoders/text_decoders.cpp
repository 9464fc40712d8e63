// Decoders of tokens that represent text.
#include <array>
#include <utility>

#include "runtime/tokenizers/decoders/decoder.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

void replace_in(std::string& text, std::string_view from, std::string_view to) {
  if (!from.empty() && text.find(from) != std::string::npos) text = replace_all(text, from, to);
}

/// Replacements of spaces before punctuation and in English contractions, in this order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCleanups = {{{" .", "."},
                                                                                      {" ?", "?"},
                                                                                      {" !", "!"},
                                                                                      {" ,", ","},
                                                                                      {" ' ", "'"},
                                                                                      {" n't", "n't"},
                                                                                      {" 'm", "'m"},
                                                                                      {" do not", " don't"},
                                                                                      {" 's", "'s"},
                                                                                      {" 've", "'ve"},
                                                                                      {" 're", "'re"}}};

void clean_up(std::string& text) {
  for (const auto& [from, to] : kCleanups) replace_in(text, from, to);
}

class FuseDecoder : public TokenDecoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string text;
    for (const std::string& token : tokens) text += token;
    tokens = {std::move(text)};
  }
  void decode_one(TokenText& token) const override { token.is_fused = true; }
};

class StripDecoder : public TokenDecoder {
 public:
  StripDecoder(char32_t content, uint64_t start, uint64_t stop) : start_(start), stop_(stop) {
    append_utf8(content_, content);
  }
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) strip(token, true);
  }
  /// A joined text loses its beginning only where it begins, which is in its first token.
  void decode_one(TokenText& token) const override {
    if (token.is_fused && (stop_ > 0 || start_ > 1)) refuse_single_tokens("Strip of a whole text");
    strip(token.bytes, !token.is_fused || token.is_first);
  }

 private:
  void strip(std::string& token, bool strips_start) const {
    std::string_view text = token;
    for (uint64_t i = 0; strips_start && i < start_ && text.starts_with(content_); ++i)
      text.remove_prefix(content_.size());
    for (uint64_t i = 0; i < stop_ && text.ends_with(content_); ++i) text.remove_suffix(content_.size());
    if (text.size() < token.size()) token = std::string(text);
  }

  std::string content_;
  uint64_t start_, stop_;
};

class ReplaceDecoder : public TokenDecoder {
 public:
  ReplaceDecoder(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) replace_matches(token);
  }
  void decode_one(TokenText& token) const override {
    if (token.is_fused) refuse_single_tokens("Replace in a whole text");
    replace_matches(token.bytes);
  }

 private:
  void replace_matches(std::string& token) const {
    if (token.empty()) return;
    std::string text;
    uint32_t at = 0;
    pattern_->each_match(token, [&](Span match) {
      text.append(token, at, match.begin - at).append(content_);
      at = match.end;
    });
    token = text.append(token, at);
  }

  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class MetaspaceDecoder : public TokenDecoder {
 public:
  MetaspaceDecoder(std::string replacement, bool drops_first)
      : replacement_(std::move(replacement)), drops_first_(drops_first) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_in(tokens[i], replacement_, i == 0 && drops_first_ ? "" : " ");
  }
  void decode_one(TokenText& token) const override {
    if (token.is_fused) refuse_single_tokens("Metaspace after another decoder");
    replace_in(token.bytes, replacement_, token.is_first && drops_first_ ? "" : " ");
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class WordPieceDecoder : public TokenDecoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup) : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) {
        if (tokens[i].starts_with(prefix_))
          tokens[i].erase(0, prefix_.size());
        else
          tokens[i].insert(tokens[i].begin(), ' ');
      }
      if (cleanup_) clean_up(tokens[i]);
    }
  }
  void decode_one(TokenText&) const override { refuse_single_tokens("WordPiece"); }

 private:
  std::string prefix_;
  bool cleanup_;
};

class BpeDecoder : public TokenDecoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_in(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }
  void decode_one(TokenText&) const override { refuse_single_tokens("BPEDecoder"); }

 private:
  std::string suffix_;
};

class CtcDecoder : public TokenDecoder {
 public:
  CtcDecoder(std::string pad_token, std::string word_delimiter, bool cleanup)
      : pad_token_(std::move(pad_token)), word_delimiter_(std::move(word_delimiter)), cleanup_(cleanup) {}
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i] == tokens[i - 1]) continue;
      std::string text = tokens[i];
      replace_in(text, pad_token_, "");
      if (cleanup_) {
        clean_up(text);
        replace_in(text, word_delimiter_, " ");
      }
      if (!text.empty()) result.push_back(std::move(text));
    }
    tokens = std::move(result);
  }
  void decode_one(TokenText&) const override { refuse_single_tokens("CTC"); }

 private:
  std::string pad_token_, word_delimiter_;
  bool cleanup_;
};

class SequenceDecoder : public TokenDecoder {
 public:
  explicit SequenceDecoder(std::vector<std::unique_ptr<TokenDecoder>> parts) : parts_(std::move(parts)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (const auto& part : parts_) part->decode(tokens);
  }
  void decode_one(TokenText& token) const override {
    for (const auto& part : parts_) part->decode_one(token);
  }

 private:
  std::vector<std::unique_ptr<TokenDecoder>> parts_;
};

}  // namespace

std::unique_ptr<TokenDecoder> fuse_decoder() { return std::make_unique<FuseDecoder>(); }
std::unique_ptr<TokenDecoder> strip_decoder(char32_t content, uint64_t start, uint64_t stop) {
  return std::make_unique<StripDecoder>(content, start, stop);
}
std::unique_ptr<TokenDecoder> replace_decoder(std::unique_ptr<Pattern> pattern, std::string content) {
  return std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content));
}
std::unique_ptr<TokenDecoder> metaspace_decoder(std::string replacement, bool drops_first) {
  return std::make_unique<MetaspaceDecoder>(std::move(replacement), drops_first);
}
std::unique_ptr<TokenDecoder> word_piece_decoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}
std::unique_ptr<TokenDecoder> bpe_decoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}
std::unique_ptr<TokenDecoder> ctc_decoder(std::string pad_token, std::string word_delimiter, bool cleanup) {
  return std::make_unique<CtcDecoder>(std::move(pad_token), std::move(word_delimiter), cleanup);
}
std::unique_ptr<TokenDecoder> sequence_decoder(std::vector<std::unique_ptr<TokenDecoder>> parts) {
  return std::make_unique<SequenceDecoder>(std::move(parts));
}

}  // namespace smelt
