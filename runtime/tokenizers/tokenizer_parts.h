// The parts of a tokenizer, and encoding with them.
#pragma once

#include <memory>
#include <optional>

#include "runtime/tokenizers/added_tokens.h"
#include "runtime/tokenizers/decoders/decoder.h"
#include "runtime/tokenizers/models/model.h"
#include "runtime/tokenizers/normalizers/normalizer.h"
#include "runtime/tokenizers/post_processor.h"
#include "runtime/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace smelt {

/// The parts of a tokenizer. Encoding uses them in this order: added_tokens, which finds added tokens and
/// calls `normalizer` for the text around them; pre_tokenizer; `model`; post_processor. Decoding uses
/// `decoder`. Any pointer except `model` may be null.
struct TokenizerParts {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<TokenDecoder> decoder;
  AddedTokens added_tokens;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
};

/// Encodes a text, without the post-processor, truncation and padding. The last two parameters are those of
/// EncodeOptions (tokenizer.h). Requires: the text is valid UTF-8.
EncodedPart encode_sequence(const TokenizerParts& parts, std::string_view text, bool find_special_tokens,
                            bool byte_offsets);

}  // namespace smelt
