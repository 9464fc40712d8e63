// Decoders: the parts of a tokenizer that convert the texts of tokens to readable text. They behave like the
// decoders of the same names in Hugging Face's tokenizers library.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/tokenizers/patterns/pattern.h"

namespace smelt {

/// The text of one token on its way through decoders.
struct TokenText {
  std::string bytes;
  bool is_first;          // no token precedes it
  bool is_fused = false;  // an earlier decoder, such as Fuse, joins all tokens to one text
};

class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  /// Changes the list of token texts, and may change its length. The decoded text is the concatenation of the
  /// new list.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
  /// Changes the text of one token as decode() changes it in any list of tokens. Bytes that are not UTF-8 are
  /// kept. Throws Error (invalid_argument) with the name of the decoder if the result depends on other
  /// tokens.
  virtual void decode_one(TokenText& token) const = 0;
};

/// Throws the error of decode_one().
[[noreturn]] void refuse_single_tokens(const char* decoder);

// The functions below create the decoders. Their parameters are the options of tokenizer.json.

std::unique_ptr<TokenDecoder> byte_level_decoder();
std::unique_ptr<TokenDecoder> byte_fallback_decoder();
std::unique_ptr<TokenDecoder> fuse_decoder();
/// Removes up to `start` code points `content` from the beginning of each token, and up to `stop` from its
/// end.
std::unique_ptr<TokenDecoder> strip_decoder(char32_t content, uint64_t start, uint64_t stop);
std::unique_ptr<TokenDecoder> replace_decoder(std::unique_ptr<Pattern> pattern, std::string content);
/// Replaces `replacement` by a space; removes it in the first token if `drops_first`.
std::unique_ptr<TokenDecoder> metaspace_decoder(std::string replacement, bool drops_first);
std::unique_ptr<TokenDecoder> word_piece_decoder(std::string prefix, bool cleanup);
std::unique_ptr<TokenDecoder> bpe_decoder(std::string suffix);
std::unique_ptr<TokenDecoder> ctc_decoder(std::string pad_token, std::string word_delimiter, bool cleanup);
std::unique_ptr<TokenDecoder> sequence_decoder(std::vector<std::unique_ptr<TokenDecoder>> parts);
/// Creates the decoder of Marian. A token in `special` is followed by a space. The texts of the tokens
/// between special tokens are joined, and U+2581, which marks a space, becomes a space. A U+2581 at the
/// beginning of the text or after a special token is dropped if its token is in `pieces`, the texts of the
/// normal and user-defined pieces of the SentencePiece model.
std::unique_ptr<TokenDecoder> marian_decoder(std::set<std::string> special, std::set<std::string> pieces);

}  // namespace smelt
