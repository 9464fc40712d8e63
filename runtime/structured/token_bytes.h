// Bytes that the tokens of a vocabulary add to a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizers/tokenizer.h"

namespace smelt::structured {

struct TokenBytes {
  /// The index is the token's id. The bytes are those that the token adds inside a text. They may be a part
  /// of a character. Special tokens, and ids without a token, have no bytes, so they are never chosen for a
  /// text.
  std::vector<std::string> bytes;
  /// Ids of tokens that have other bytes at the beginning of a decoded text, in ascending order. For example,
  /// SentencePiece drops a space there.
  std::vector<uint32_t> other_at_start;
};

/// Returns the bytes of the ids 0 to `count` - 1, where `count` is the number of logits of a model. Throws
/// Error (invalid_argument) with the name of the decoder if the bytes of a token depend on the tokens next to
/// it, as with WordPiece.
TokenBytes token_bytes(const Tokenizer& tokenizer, size_t count);

/// Returns the bytes for a model without a tokenizer. The ids 0 to 255 of such a model are bytes; other ids
/// have no bytes.
TokenBytes byte_token_bytes(size_t count);

}  // namespace smelt::structured
