// AlignedText: a normalized text, in which each byte has its origin in the original text. PieceList: such a
// text, divided into pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// A range of bytes.
struct Span {
  uint32_t begin = 0, end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// UTF-8 text. Each byte has an origin: the range of the original text from which its code point was made.
struct AlignedText {
  std::string bytes;
  std::vector<Span> source;  // one range of the original text per byte

  /// Returns an unchanged text, in which the origin of each code point is the code point itself.
  static AlignedText of(std::string_view text);
  /// Returns the bytes of a range, with their origins.
  AlignedText slice(Span range) const;
  /// Appends a range of bytes of `from`, with their origins.
  void append(const AlignedText& from, Span range);
  /// Appends text, all of whose bytes have the same origin.
  void append(std::string_view text, Span origin);
  void append(char32_t c, Span origin);
};

/// A range of an AlignedText: an added token, or text that the model converts to tokens.
struct Piece {
  Span range;
  int32_t token = -1;  // id of the added token (added_tokens.h); -1: text for the model
};

/// A text, and its division into pieces in order.
struct PieceList {
  AlignedText text;
  std::vector<Piece> pieces;

  /// Returns the bytes of a piece.
  std::string_view view(const Piece& piece) const {
    return std::string_view(text.bytes).substr(piece.range.begin, piece.range.end - piece.range.begin);
  }
};

/// Builder of a new version of a text, code point by code point from the beginning.
class TextEdit {
 public:
  explicit TextEdit(AlignedText& text);
  /// Appends the code point `c` to the new version. `change` specifies the code points of the old text that
  /// `c` replaces. 0: the next one. -n: the next one and the n after it. 1: none; `c` is inserted, and gets
  /// the origin of the last code point that was replaced.
  void put(char32_t c, int change);
  /// Replaces the old text by the new version.
  void finish();

 private:
  uint32_t code_point_end(uint32_t at) const;

  AlignedText& text_;
  AlignedText next_;
  uint32_t at_ = 0;
};

}  // namespace smelt
