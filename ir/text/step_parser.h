// Parser of the steps of a program. A step is one line, which begins with the keyword of the step's kind. The
// functions read() parse the rest of the line into `step`.
#pragma once

#include <string>
#include <vector>

#include "ir/program/program.h"
#include "ir/text/kernel_parser.h"
#include "runtime/plan/step_pattern.h"

namespace smelt {

class StepParser : protected KernelParser {
 protected:
  StepParser(std::string_view text, std::string_view file) : KernelParser(text, file) {}

  // ---- positions in buffers
  int buffer_number();
  BufferRef place();           // #3[offset]: buffer 3, from the element `offset`
  std::vector<Dim> strides();  // (2*T, 1), in elements
  // ---- steps
  void read(KernelStep& step);
  int kernel_reference();
  GemmStep::Matrix matrix();
  void read(GemmStep& step);
  /// Parses any other kind of step by its pattern (runtime/plan/step_pattern.h).
  template <typename Kind>
  void read(Kind& step) {
    read_pattern(StepKind<Kind>::text, step);
  }
  /// Parses the pieces of a pattern in order. A group (a piece in braces) is optional. A group that begins
  /// with a word or symbol is parsed if this is the next token of the text. A group that begins with a field
  /// is parsed if shows_group() is true for the fields that are parsed so far.
  template <typename Kind>
  void read_pattern(std::string_view pattern, Kind& step) {
    for (const PatternPiece& piece : pattern_pieces(pattern))
      if (piece.kind == PatternPiece::Kind::literal)
        literal(piece.text);
      else if (piece.kind == PatternPiece::Kind::field)
        visit_field(step, piece.text,
                    [&](auto& member, const auto& role) { read_value(piece.text, member, role); });
      else if (first_token(piece.text).empty() ? shows_group(step, piece.text) : begins(piece.text))
        read_pattern(piece.text, step);
  }
  /// Returns whether the next token is the first word or symbol of the pattern.
  bool begins(std::string_view pattern) const;
  /// Parses the words and symbols of `text`, which is a literal piece of a pattern.
  void literal(std::string_view text);

  // ---- fields of steps, by type and role
  // Each overload parses a field of one type. The `role` (runtime/plan/steps/fields.h) is given where
  // visit_fields declares the field. It has, for example, the text `expected` for the message "expected ...,
  // found ...".
  using Name = std::string_view;  // name of the field
  void read_value(Name, BufferRef& value, const auto&) { value = place(); }
  void read_value(Name, Dim& value, const auto&) { value = dim(); }
  void read_value(Name, double& value, const auto&) { value = number(); }
  void read_value(Name, DType& value, const auto&) { value = dtype(); }
  void read_value(Name, int& value, const auto& role) { value = small_integer(role.expected); }
  void read_value(Name, std::string& value, const auto& role) { value = name(role.expected); }
  void read_value(Name, CollectiveKind& value, const auto& role) {
    value = named(parse_collective_kind, role.expected);
  }
  void read_value(Name, CollectiveSum& value, const auto& role) {
    value = named(parse_collective_sum, role.expected);
  }
  void read_value(Name flag, bool& value, const auto&) { value = lexer.accept_word(flag); }
  void read_value(Name, Shape& value, const role::Extent&) { read_extents(value); }
  void read_value(Name, std::vector<Dim>& value, const role::Stride&) { value = strides(); }
  void read_value(Name, std::optional<BufferRef>& value, const auto&) { value = place(); }
  template <typename Workspace>
  void read_value(Name, std::optional<Workspace>& value, const auto&) {
    read_workspace(value.emplace().base, value->elements);
  }
  void read_extents(Shape& extents);
  void read_workspace(BufferRef& base, Dim& elements);
  /// Parses the value of a field in braces.
  void read_field(bool& value) { value = boolean(); }
  void read_field(std::optional<BufferRef>& value) { value = place(); }
  void read_field(auto& value) { read_value({}, value, role::scalar); }
  /// Parses a word that `parse` converts to an enumerator. Throws Error with `what` if it returns nothing.
  template <typename Enum>
  Enum named(std::optional<Enum> (*parse)(std::string_view), std::string_view what) {
    const Token at = lexer.peek();
    const auto known = parse(lexer.expect(Token::Kind::identifier, what).text);
    if (!known) lexer.fail_at(at.offset, fmt::format("expected {}, found '{}'", what, at.text));
    return *known;
  }
  /// Consumes the next token. Throws Error if it is not `word`.
  void word(std::string_view word);

  Program program_;
};

}  // namespace smelt
