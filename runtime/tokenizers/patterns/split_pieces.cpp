#include <algorithm>

#include "runtime/tokenizers/patterns/pattern.h"

namespace smelt {
namespace {

/// A part of a piece, and whether it is a match.
struct Part {
  Span range;
  bool match;
};

/// Divides the whole text into matches and the parts between them.
void divide(std::string_view text, const Pattern& pattern, bool invert, std::vector<Part>& parts) {
  parts.clear();
  uint32_t at = 0;
  const auto size = static_cast<uint32_t>(text.size());
  pattern.each_match(text, [&](Span match) {
    if (at != match.begin) parts.push_back({{at, match.begin}, invert});
    parts.push_back({match, !invert});
    at = match.end;
  });
  if (at != size) parts.push_back({{at, size}, invert});
}

/// Joins a part to the one before it if `joins` (the part, whether the one before was a match) returns true.
template <typename Joins>
void join_parts(std::vector<Part>& parts, Joins joins) {
  std::vector<Part> joined;
  bool before = false;
  for (const Part& part : parts) {
    if (!joined.empty() && joins(part.match, before))
      joined.back().range = {std::min(joined.back().range.begin, part.range.begin),
                             std::max(joined.back().range.end, part.range.end)};
    else
      joined.push_back(part);
    before = part.match;
  }
  parts = std::move(joined);
}

void apply(SplitBehavior behavior, std::vector<Part>& parts) {
  const auto first_match = [](bool match, bool before) { return match && !before; };
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(parts, [](const Part& part) { return part.match; });
      break;
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::contiguous:
      join_parts(parts, [](bool match, bool before) { return match == before; });
      break;
    case SplitBehavior::merged_with_previous:
      join_parts(parts, first_match);
      break;
    case SplitBehavior::merged_with_next:
      std::reverse(parts.begin(), parts.end());
      join_parts(parts, first_match);
      std::reverse(parts.begin(), parts.end());
      break;
  }
}

}  // namespace

void split_pieces(PieceList& list, const Pattern& pattern, SplitBehavior behavior, bool invert) {
  std::vector<Piece> pieces;
  pieces.reserve(list.pieces.size());
  std::vector<Part> parts;
  for (const Piece& piece : list.pieces) {
    if (piece.token >= 0) {
      pieces.push_back(piece);
      continue;
    }
    divide(list.view(piece), pattern, invert, parts);
    apply(behavior, parts);
    for (const Part& part : parts)
      if (part.range.begin < part.range.end)
        pieces.push_back({{piece.range.begin + part.range.begin, piece.range.begin + part.range.end}});
  }
  list.pieces = std::move(pieces);
}

}  // namespace smelt
