#include "compiler/cli/shared/prompt_text.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::cli {
namespace {

/// Bytes as they come, but whole characters: the beginning of one waits for its end.
class BytesAsText {
 public:
  std::string operator()(std::optional<int32_t> token) {
    if (!token) return std::exchange(held_, "");
    held_ += decode_bytes({&*token, 1});
    return is_open() ? std::string() : std::exchange(held_, "");
  }

 private:
  bool is_open() const {
    std::string_view rest = held_;
    for (;;) {
      const Utf8Prefix prefix = valid_utf8_prefix(rest);
      if (prefix.valid == rest.size()) return false;
      if (prefix.incomplete) return true;
      rest.remove_prefix(prefix.valid + prefix.wrong);
    }
  }

  std::string held_;
};

}  // namespace

PromptText::PromptText(const Model& model, int64_t vocabulary, bool add_special_tokens)
    : vocabulary_(vocabulary),
      bytes_(model.reads_bytes() && vocabulary == 256),
      add_special_tokens_(add_special_tokens) {
  if (Tokenizer::files_in(model.path).empty()) return;
  tokenizer_ = Tokenizer::load(model.path);
  tokenizer_->set_truncation(std::nullopt), tokenizer_->set_padding(std::nullopt);
}

structured::TokenBytes PromptText::token_bytes() const {
  const auto count = static_cast<size_t>(vocabulary_);
  if (tokenizer_) return structured::token_bytes(*tokenizer_, count);
  if (!bytes_) fail("the model has no tokenizer, so texts cannot be specified");
  return structured::byte_token_bytes(count);
}

Generator::Tokens PromptText::encode(const std::string& text) const {
  return encode(text, add_special_tokens_);
}

Generator::Tokens PromptText::encode(const std::string& text, bool add_special_tokens) const {
  return tokenizer_ ? encode_by(*tokenizer_, text, add_special_tokens) : encode_bytes(text, vocabulary_);
}

Generator::Tokens PromptText::encode_end(const std::string& text, bool add_special_tokens,
                                         size_t most) const {
  if (!tokenizer_) {
    const Generator::Tokens all = encode_bytes(text, vocabulary_);
    return {all.end() - std::min(std::ssize(all), static_cast<ptrdiff_t>(most)), all.end()};
  }
  Tokenizer tokenizer = *tokenizer_;
  tokenizer.set_truncation(Truncation{.max_length = most, .side = Side::left});
  return encode_by(tokenizer, text, add_special_tokens);
}

Generator::Tokens PromptText::encode_by(const Tokenizer& tokenizer, const std::string& text,
                                        bool add_special_tokens) const {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  const Generator::Tokens tokens = tokenizer.encode(text, options).ids;
  for (const int32_t token : tokens)
    if (token >= vocabulary_)
      fail("the tokenizer gives token {}, and the model knows {} tokens: it is another model's", token,
           vocabulary_);
  return tokens;
}

std::string PromptText::decode(const Generator::Tokens& tokens, bool skips_special) const {
  return tokenizer_ ? tokenizer_->decode(tokens, skips_special) : decode_bytes(tokens);
}

std::string PromptText::name_of(int32_t token) const {
  return tokenizer_ ? tokenizer_->id_to_token(token).value_or("") : decode_one(token);
}

std::string PromptText::decode_one(int32_t token) const {
  return tokenizer_ ? tokenizer_->decode({&token, 1}, false) : decode_bytes({&token, 1});
}

std::function<std::string(std::optional<int32_t>)> PromptText::stream(const std::vector<std::string>& kept,
                                                                      bool skips_special) const {
  if (!tokenizer_) return BytesAsText();
  std::vector<int32_t> ids;
  for (const std::string& token : kept)
    if (const auto id = tokenizer_->token_to_id(token)) ids.push_back(*id);
  const bool keeps_some = skips_special && !ids.empty();
  auto decoder = std::make_shared<StreamingDecoder>(
      keeps_some ? StreamingDecoder(*tokenizer_, ids) : StreamingDecoder(*tokenizer_, skips_special));
  return [decoder = std::move(decoder)](std::optional<int32_t> token) {
    return token ? decoder->push(*token) : decoder->finish();
  };
}

}  // namespace smelt::cli
