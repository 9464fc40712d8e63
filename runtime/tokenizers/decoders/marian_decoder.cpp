#include "runtime/tokenizers/decoders/decoder.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr std::string_view kMeta = "▁";

/// As Python's str.strip sees it.
bool is_blank(char32_t c) { return is(c, kWhitespace) || (c >= 0x1C && c <= 0x1F); }

std::string strip(std::string_view text) {
  while (!text.empty() && is_blank(code_point_at(text, 0).value))
    text.remove_prefix(code_point_at(text, 0).bytes);
  while (!text.empty() && is_blank(code_point_before(text, text.size()).value))
    text.remove_suffix(code_point_before(text, text.size()).bytes);
  return std::string(text);
}

/// SentencePiece drops the mark of a space where a part of the text begins, of its own pieces alone.
class MarianDecoder : public TokenDecoder {
 public:
  MarianDecoder(std::set<std::string> special, std::set<std::string> pieces)
      : special_(std::move(special)), pieces_(std::move(pieces)) {}

  void decode(std::vector<std::string>& tokens) const override {
    std::string text, part;
    for (const std::string& token : tokens) {
      if (special_.contains(token)) {
        text += part + token + " ";
        part.clear();
      } else {
        const bool drops = part.empty() && token.starts_with(kMeta) && pieces_.contains(token);
        part += drops ? token.substr(kMeta.size()) : token;
      }
    }
    text += part;
    tokens = {strip(replace_all(text, kMeta, " "))};
  }
  void decode_one(TokenText&) const override { refuse_single_tokens("Marian"); }

 private:
  std::set<std::string> special_, pieces_;
};

}  // namespace

std::unique_ptr<TokenDecoder> marian_decoder(std::set<std::string> special, std::set<std::string> pieces) {
  return std::make_unique<MarianDecoder>(std::move(special), std::move(pieces));
}

}  // namespace smelt
