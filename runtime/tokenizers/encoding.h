// Encoding: the result of a tokenizer, and the options of its truncation and padding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smelt {

/// A range of the text, in code points, or in bytes if EncodeOptions::byte_offsets is set.
struct TextRange {
  uint32_t begin = 0, end = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// The tokens of a text or of a pair. Every list has one element per token.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;             // token type (segment) ids that the model expects
  std::vector<TextRange> offsets;            // 0,0 for a token that is not in the text
  std::vector<uint8_t> special_tokens_mask;  // 1: special token added around the text, or padding
  std::vector<uint8_t> attention_mask;       // 0: padding

  size_t size() const { return ids.size(); }
  void append(const Encoding& other);
  /// Removes all tokens except those with index begin to end - 1.
  void keep(size_t begin, size_t end);
};

/// A side of a sequence of tokens.
enum class Side { left, right };

/// Options of truncation: the largest number of tokens, and the side and the sequence from which tokens are
/// removed.
struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };  // which sequence of a pair is truncated
  size_t max_length = 512;                                         // including special tokens
  Strategy strategy = Strategy::longest_first;
  Side side = Side::right;  // tokens are removed on this side
};

/// Options of padding: the length to which an encoding is padded, and the tokens that are added.
struct Padding {
  std::optional<size_t> length;  // in tokens; nothing: the length of the longest encoding of a batch
  size_t multiple_of = 1;        // the length is rounded up to a multiple of it
  Side side = Side::right;       // padding is added on this side
  int32_t id = 0, type_id = 0;   // token id and type id of a padding token
};

/// Pads all encodings to the length that `padding` specifies. A longer encoding is not changed.
void pad(std::span<Encoding> encodings, const Padding& padding);

}  // namespace smelt
