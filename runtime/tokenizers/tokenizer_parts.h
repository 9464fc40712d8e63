// Parts of a tokenizer; any part but the model may be missing.
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

/// Returns the tokens of a text in valid UTF-8, before the post-processor adds tokens around them.
EncodedPart encode_sequence(const TokenizerParts& parts, std::string_view text, bool find_special_tokens,
                            bool byte_offsets);

}  // namespace smelt
