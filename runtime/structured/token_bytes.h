// Bytes that the tokens of a vocabulary add to a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizers/tokenizer.h"

namespace smelt::structured {

struct TokenBytes {
  /// By id, within a text. Special tokens and ids without a token have no bytes, so they are never chosen for
  /// a text. The bytes may be a part of a character.
  std::vector<std::string> bytes;
  /// Ids of tokens that have other bytes at the beginning of a decoded text, in ascending order. For example,
  /// SentencePiece drops a space there.
  std::vector<uint32_t> other_at_start;
};

/// Returns the bytes of the ids 0 to `count` - 1, where `count` is the number of logits of a model. Throws
/// Error (invalid_argument) with the name of the decoder if the bytes of a token depend on the tokens next to
/// it, as with WordPiece.
TokenBytes token_bytes(const Tokenizer& tokenizer, size_t count);

/// Returns the bytes of a model without a tokenizer, whose ids 0 to 255 are bytes.
TokenBytes byte_token_bytes(size_t count);

}  // namespace smelt::structured
