// Patterns of StepKind: the text of a step as a line with its fields. "$count" stands for a field, "{ until
// $waited_at}" for a group that some steps leave out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/step.h"

namespace smelt {

struct PatternPiece {
  enum class Kind : uint8_t { literal, field, group } kind;
  std::string_view text;  // of a field its name, of a group its pattern
};
std::vector<PatternPiece> pattern_pieces(std::string_view pattern);

/// The word or symbol that a pattern begins with; nothing if that is a field.
std::string_view first_token(std::string_view pattern);

/// Returns the first field of a pattern, which decides whether it is printed as a group.
std::string_view first_field(std::string_view pattern);

/// Calls `visit` with the member and the role of the field of this name.
template <typename Kind, typename Visit>
void visit_field(Kind& step, std::string_view wanted, const Visit& visit) {
  const auto field = [&](std::string_view name, auto& member, const auto& role) {
    if (name == wanted) visit(member, role);
  };
  visit_fields(field, step);
}

/// Returns whether a group is printed.
template <typename Kind>
bool shows_group(const Kind& step, std::string_view group) {
  if constexpr (requires { StepKind<Kind>::shows(step, group); })
    return StepKind<Kind>::shows(step, first_field(group));
  return true;
}

/// Returns the text of a step; `print` returns that of a member with its role.
template <typename Kind, typename Print>
std::string print_pattern(std::string_view pattern, const Kind& step, const Print& print) {
  std::string text;
  for (const PatternPiece& piece : pattern_pieces(pattern)) {
    if (piece.kind == PatternPiece::Kind::literal)
      text += piece.text;
    else if (piece.kind == PatternPiece::Kind::group)
      text += shows_group(step, piece.text) ? print_pattern(piece.text, step, print) : "";
    else
      visit_field(step, piece.text, [&](const auto& member, const auto& role) {
        if constexpr (requires { print(piece.text, member, role); }) text += print(piece.text, member, role);
      });
  }
  return text;
}

}  // namespace smelt
