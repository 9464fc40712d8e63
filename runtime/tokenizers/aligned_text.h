// Text that remembers, byte by byte, from where in the original text it came, and its division into pieces.
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

struct AlignedText {
  std::string bytes;
  std::vector<Span> source;  // of each byte: the range of the original text that it stands for

  /// Text that is its own original.
  static AlignedText of(std::string_view text);
  AlignedText slice(Span range) const;
  void append(const AlignedText& from, Span range);
  void append(std::string_view text, Span origin);
  void append(char32_t c, Span origin);
};

/// A part of an AlignedText on its way to the model, or a token that was found in the text.
struct Piece {
  Span range;
  int32_t token = -1;  // an added token's id; -1: the model decides
};

struct PieceList {
  AlignedText text;
  std::vector<Piece> pieces;

  std::string_view view(const Piece& piece) const {
    return std::string_view(text.bytes).substr(piece.range.begin, piece.range.end - piece.range.begin);
  }
};

/// Makes the successor of a text from its code points, in order. `change` is the relation of each to the text
/// before: 0 replaces the next code point, 1 is new, -n replaces the next and n more after it. A new code
/// point has the origin of the one that was replaced last.
class TextEdit {
 public:
  explicit TextEdit(AlignedText& text);
  void put(char32_t c, int change);
  /// Replaces the text.
  void finish();

 private:
  uint32_t code_point_end(uint32_t at) const;

  AlignedText& text_;
  AlignedText next_;
  uint32_t at_ = 0;
};

}  // namespace smelt
