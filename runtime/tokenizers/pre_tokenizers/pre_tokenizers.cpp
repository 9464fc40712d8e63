#include "runtime/tokenizers/pre_tokenizers/pre_tokenizer.h"

#include <algorithm>

#include "runtime/tokenizers/byte_alphabet.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void divide(PieceList& list) const override { split_pieces(list, *pattern_, behavior_, invert_); }

 private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// Writes all pieces anew: write(piece, text) appends the new text of a piece that is no token.
template <typename Write>
void rewrite_pieces(PieceList& list, Write write) {
  AlignedText text;
  text.bytes.reserve(list.text.bytes.size() + list.pieces.size());
  text.source.reserve(list.text.source.size() + list.pieces.size());
  for (Piece& piece : list.pieces) {
    const auto begin = static_cast<uint32_t>(text.bytes.size());
    if (piece.token >= 0)
      text.append(list.text, piece.range);
    else
      write(piece, text);
    piece.range = {begin, static_cast<uint32_t>(text.bytes.size())};
  }
  list.text = std::move(text);
}

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  ByteLevelPreTokenizer(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), pattern_(use_regex ? gpt2_pattern() : nullptr) {}

  void divide(PieceList& list) const override {
    if (add_prefix_space_) {
      rewrite_pieces(list, [&](const Piece& piece, AlignedText& text) {
        if (!list.view(piece).starts_with(' ')) text.append(" ", list.text.source[piece.range.begin]);
        text.append(list.text, piece.range);
      });
    }
    if (pattern_) split_pieces(list, *pattern_, SplitBehavior::isolated);
    rewrite_pieces(list, [&](const Piece& piece, AlignedText& text) {
      append_byte_level(list.text, piece.range, text);
    });
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<Pattern> pattern_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  MetaspacePreTokenizer(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        pattern_(split ? literal_pattern(replacement_) : nullptr) {}

  void divide(PieceList& list) const override {
    rewrite_pieces(list, [&](const Piece& piece, AlignedText& text) { write(list, piece, text); });
    if (pattern_) split_pieces(list, *pattern_, SplitBehavior::merged_with_next);
  }

 private:
  void write(const PieceList& list, const Piece& piece, AlignedText& text) const {
    const std::string_view view = list.view(piece);
    if (view.empty()) return;
    const Span first = list.text.source[piece.range.begin];
    const bool marked = view.starts_with(' ') || view.starts_with(replacement_);
    const bool wanted =
        scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && first.begin == 0);
    if (wanted && !marked) text.append(replacement_, first);
    for (uint32_t at = piece.range.begin; at < piece.range.end;) {
      const auto space =
          static_cast<uint32_t>(std::min<size_t>(list.text.bytes.find(' ', at), piece.range.end));
      text.append(list.text, {at, space});
      if (space < piece.range.end) text.append(replacement_, list.text.source[space]);
      at = space + 1;
    }
  }

  std::string replacement_;
  PrependScheme scheme_;
  std::unique_ptr<Pattern> pattern_;
};

class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(uint32_t code_points) : code_points_(code_points) {}

  void divide(PieceList& list) const override {
    std::vector<Piece> pieces;
    for (const Piece& piece : list.pieces) {
      if (piece.token >= 0) {
        pieces.push_back(piece);
        continue;
      }
      for (uint32_t at = piece.range.begin; at < piece.range.end;) {
        const uint32_t begin = at;
        for (uint32_t i = 0; i < code_points_ && at < piece.range.end; ++i)
          at += code_point_at(list.text.bytes, at).bytes;
        pieces.push_back({{begin, at}});
      }
    }
    list.pieces = std::move(pieces);
  }

 private:
  uint32_t code_points_;
};

class SequencePreTokenizer : public PreTokenizer {
 public:
  explicit SequencePreTokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}
  void divide(PieceList& list) const override {
    for (const auto& part : parts_) part->divide(list);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

}  // namespace

std::unique_ptr<PreTokenizer> split_pre_tokenizer(std::unique_ptr<Pattern> pattern, SplitBehavior behavior,
                                                  bool invert) {
  return std::make_unique<SplitPreTokenizer>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevelPreTokenizer>(add_prefix_space, use_regex);
}
std::unique_ptr<PreTokenizer> metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme,
                                                      bool split) {
  return std::make_unique<MetaspacePreTokenizer>(std::move(replacement), scheme, split);
}
std::unique_ptr<PreTokenizer> fixed_length_pre_tokenizer(uint32_t code_points) {
  return std::make_unique<FixedLengthPreTokenizer>(code_points);
}
std::unique_ptr<PreTokenizer> sequence_pre_tokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts) {
  return std::make_unique<SequencePreTokenizer>(std::move(parts));
}

}  // namespace smelt
