#include "runtime/plan/step_pattern.h"

#include <algorithm>
#include <cctype>

namespace smelt {
namespace {

size_t end_of_name(std::string_view text, size_t begin) {
  const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  const auto end = std::find_if_not(text.begin() + begin, text.end(), in_name);
  return static_cast<size_t>(end - text.begin());
}

}  // namespace

std::vector<PatternPiece> pattern_pieces(std::string_view pattern) {
  using Kind = PatternPiece::Kind;
  std::vector<PatternPiece> pieces;
  for (size_t at = 0; at < pattern.size();) {
    const char first = pattern[at];
    const size_t begin = at + (first == '$' || first == '{' ? 1 : 0);
    const size_t end = first == '$'   ? end_of_name(pattern, begin)
                       : first == '{' ? pattern.find('}', begin)
                                      : std::min(pattern.find_first_of("${", begin), pattern.size());
    pieces.push_back({first == '$'   ? Kind::field
                      : first == '{' ? Kind::group
                                     : Kind::literal,
                      pattern.substr(begin, end - begin)});
    at = end + (first == '{' ? 1 : 0);
  }
  return pieces;
}

std::string_view first_token(std::string_view pattern) {
  pattern.remove_prefix(std::min(pattern.find_first_not_of(' '), pattern.size()));
  if (pattern.empty() || pattern.front() == '$') return {};
  if (pattern.starts_with("->")) return pattern.substr(0, 2);
  return pattern.substr(0, std::max<size_t>(1, end_of_name(pattern, 0)));
}

std::string_view first_field(std::string_view pattern) {
  const std::vector<PatternPiece> pieces = pattern_pieces(pattern);
  return std::ranges::find(pieces, PatternPiece::Kind::field, &PatternPiece::kind)->text;
}

}  // namespace smelt
