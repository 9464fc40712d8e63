// Decoders of tokens that represent bytes.
#include <charconv>

#include "runtime/base/error.h"
#include "runtime/tokenizers/byte_alphabet.h"
#include "runtime/tokenizers/decoders/decoder.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

class ByteLevelDecoder : public TokenDecoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) append_bytes(token, bytes);
    tokens = {repair_utf8(bytes)};
  }
  void decode_one(TokenText& token) const override {
    if (token.is_fused) refuse_single_tokens("ByteLevel after another decoder");
    std::string bytes;
    append_bytes(token.bytes, bytes);
    token = {std::move(bytes), token.is_first, true};
  }

 private:
  /// Appends the bytes that the token's letters represent; the token itself if it has other letters.
  static void append_bytes(const std::string& token, std::string& bytes) {
    const size_t before = bytes.size();
    for (size_t at = 0; at < token.size();) {
      const CodePoint c = code_point_at(token, at);
      const auto byte = byte_of_letter(c.value);
      if (!byte) {
        bytes.resize(before);
        bytes += token;
        return;
      }
      bytes.push_back(static_cast<char>(*byte));
      at += c.bytes;
    }
  }
};

/// <0x61> is the byte 'a'. A run of bytes that is no UTF-8 becomes U+FFFD, one for each.
class ByteFallbackDecoder : public TokenDecoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    std::string run;
    const auto flush = [&] {
      if (run.empty()) return;
      if (is_utf8(run))
        result.push_back(run);
      else
        result.insert(result.end(), run.size(), "\uFFFD");
      run.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byte_of(token); byte >= 0) {
        run.push_back(static_cast<char>(byte));
        continue;
      }
      flush();
      result.push_back(std::move(token));
    }
    flush();
    tokens = std::move(result);
  }
  void decode_one(TokenText& token) const override {
    if (token.is_fused) refuse_single_tokens("ByteFallback after another decoder");
    if (const int byte = byte_of(token.bytes); byte >= 0) token.bytes.assign(1, static_cast<char>(byte));
  }

 private:
  /// -1 for a token of another form. Hugging Face's reads a sign, too.
  static int byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
    std::string_view digits = token.substr(3, 2);
    if (digits[0] == '+') digits.remove_prefix(1);
    unsigned byte = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    return read.ec == std::errc() && read.ptr == digits.data() + digits.size() ? static_cast<int>(byte) : -1;
  }
};

}  // namespace

void refuse_single_tokens(const char* decoder) {
  fail("tokenizer: the bytes of a token depend on the tokens next to it, because its decoder is {}", decoder);
}

std::unique_ptr<TokenDecoder> byte_level_decoder() { return std::make_unique<ByteLevelDecoder>(); }
std::unique_ptr<TokenDecoder> byte_fallback_decoder() { return std::make_unique<ByteFallbackDecoder>(); }

}  // namespace smelt
