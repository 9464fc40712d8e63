// The result of encoding, and its truncation and padding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smelt {

/// A range of the text in code points, or in bytes if byte_offsets is set.
struct TextRange {
  uint32_t begin = 0, end = 0;
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

/// One entry a token in every list.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;             // which sequence of a pair, as the model counts them
  std::vector<TextRange> offsets;            // 0,0 for what is not in the text
  std::vector<uint8_t> special_tokens_mask;  // 1: added around the text, or padding
  std::vector<uint8_t> attention_mask;       // 0: padding

  size_t size() const { return ids.size(); }
  void append(const Encoding& other);
  /// Keeps a range of tokens.
  void keep(size_t begin, size_t end);
};

enum class Side { left, right };

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };
  size_t max_length = 512;  // with the special tokens
  Strategy strategy = Strategy::longest_first;
  Side side = Side::right;  // where tokens are dropped
};

struct Padding {
  std::optional<size_t> length;  // none: the longest of a batch
  size_t multiple_of = 1;
  Side side = Side::right;
  int32_t id = 0, type_id = 0;
};

/// Fills every encoding up to the same length; one that is longer stays as it is.
void pad(std::span<Encoding> encodings, const Padding& padding);

}  // namespace smelt
