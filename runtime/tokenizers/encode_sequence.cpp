// Text to tokens with offsets: added tokens, normalizer, pre-tokenizer, model.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/tokenizers/byte_alphabet.h"
#include "runtime/tokenizers/tokenizer_parts.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

/// Byte offsets as offsets of code points.
class CodePointOffsets {
 public:
  explicit CodePointOffsets(std::string_view text) : size_(text.size()) {
    if (is_ascii(text)) return;
    number_.reserve(text.size());
    uint32_t count = 0;
    for (const char byte : text) {
      count += begins_code_point(byte) ? 1 : 0;
      number_.push_back(count - 1);
    }
  }

  /// Converts a range. An end within a code point becomes the begin of that code point, as in Hugging Face's
  /// tokenizers. A range that begins after the text keeps its bytes.
  TextRange convert(Span range) const {
    if (number_.empty() || range.begin >= size_) return {range.begin, range.end};
    const uint32_t begin = number_[range.begin];
    if (range.end < size_) return {begin, number_[range.end]};
    return {begin, number_.back() + 1};
  }

 private:
  size_t size_;
  std::vector<uint32_t> number_;  // of each byte; empty: the text is ASCII
};

bool is_blank(char32_t c) { return c == letter_of_byte(' ') || is(c, kWhitespace); }

Blanks blanks_of(std::string_view text) {
  Blanks blanks;
  for (size_t at = 0; at < text.size() && is_blank(code_point_at(text, at).value); ++blanks.leading)
    at += code_point_at(text, at).bytes;
  for (size_t end = text.size(); end > 0 && is_blank(code_point_before(text, end).value); ++blanks.trailing)
    end -= code_point_before(text, end).bytes;
  return blanks;
}

/// Collects the tokens of one text.
class Collector {
 public:
  Collector(const TokenizerParts& parts, std::string_view text, bool byte_offsets)
      : parts_(parts),
        offsets_(byte_offsets ? "" : text),
        byte_offsets_(byte_offsets),
        trims_(parts.post_processor && parts.post_processor->trims()) {}

  void add(const PieceList& list, const Piece& piece) {
    const std::string_view view = list.view(piece);
    if (piece.token >= 0)
      return add(list, piece, {piece.token, {0, static_cast<uint32_t>(view.size())}}, view);
    tokens_.clear();
    parts_.model->encode(view, tokens_);
    for (const ModelToken& token : tokens_)
      add(list, piece, token, trims_ ? parts_.model->text_of(token, view) : std::string_view());
  }

  EncodedPart take() {
    Encoding& encoding = result_.encoding;
    encoding.type_ids.assign(encoding.size(), 0);
    encoding.special_tokens_mask.assign(encoding.size(), 0);
    encoding.attention_mask.assign(encoding.size(), 1);
    return std::move(result_);
  }

 private:
  void add(const PieceList& list, const Piece& piece, const ModelToken& token, std::string_view text) {
    result_.encoding.ids.push_back(token.id);
    const Span origin = origin_of(list, piece, token.range);
    result_.encoding.offsets.push_back(byte_offsets_ ? TextRange{origin.begin, origin.end}
                                                     : offsets_.convert(origin));
    if (trims_) result_.blanks.push_back(blanks_of(text));
  }

  /// Tokens that are longer than their piece, as bytes of a suffix are, have no place in the text.
  static Span origin_of(const PieceList& list, const Piece& piece, Span range) {
    if (range.begin >= range.end || piece.range.begin + range.end > piece.range.end) return range;
    return {list.text.source[piece.range.begin + range.begin].begin,
            list.text.source[piece.range.begin + range.end - 1].end};
  }

  const TokenizerParts& parts_;
  CodePointOffsets offsets_;
  bool byte_offsets_, trims_;
  std::vector<ModelToken> tokens_;
  EncodedPart result_;
};

}  // namespace

EncodedPart encode_sequence(const TokenizerParts& parts, std::string_view text, bool find_special_tokens,
                            bool byte_offsets) {
  PieceList list = parts.added_tokens.find(text, parts.normalizer.get(), find_special_tokens);
  if (parts.pre_tokenizer) parts.pre_tokenizer->divide(list);
  Collector collector(parts, text, byte_offsets);
  for (const Piece& piece : list.pieces) collector.add(list, piece);
  return collector.take();
}

}  // namespace smelt
