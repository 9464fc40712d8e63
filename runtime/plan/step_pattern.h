// Patterns for the text of a step (StepKind::text and StepKind::description). "$count" is replaced by the
// text of the step's field `count`. A group in braces, such as "{ until $waited_at}", is left out if
// StepKind::shows returns false for the step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/step.h"

namespace smelt {

/// A piece of a pattern.
struct PatternPiece {
  enum class Kind : uint8_t { literal, field, group } kind;
  std::string_view text;  // the literal text, the name of the field, or the pattern inside the braces
};
/// Splits a pattern into its pieces. The results of this function and the next two point into `pattern`.
std::vector<PatternPiece> pattern_pieces(std::string_view pattern);

/// Returns the word or symbol that a pattern begins with, after blanks; empty if it begins with a field.
std::string_view first_token(std::string_view pattern);

/// Returns the name of the first field of a pattern. Requires: the pattern has a field.
std::string_view first_field(std::string_view pattern);

/// Calls `visit` with the member and the role (steps/fields.h) of the step's field of this name; does not
/// call it if there is none.
template <typename Kind, typename Visit>
void visit_field(Kind& step, std::string_view wanted, const Visit& visit) {
  const auto field = [&](std::string_view name, auto& member, const auto& role) {
    if (name == wanted) visit(member, role);
  };
  visit_fields(field, step);
}

/// Returns whether the group with the pattern `group` is printed for this step: the result of StepKind::shows
/// for the first field of the group, or true if the kind of step has no such function.
template <typename Kind>
bool shows_group(const Kind& step, std::string_view group) {
  if constexpr (requires { StepKind<Kind>::shows(step, group); })
    return StepKind<Kind>::shows(step, first_field(group));
  return true;
}

/// Returns the text of a step that the pattern specifies. `print(name, member, role)` returns the text of a
/// field. Fields whose types `print` does not accept are left out.
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
