// The parser of a program's steps: what follows the word that begins the line of each kind.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "ir/text/kernel_parser.h"

namespace smelt {

class StepParser : protected KernelParser {
 protected:
  StepParser(std::string_view text, std::string_view file) : KernelParser(text, file) {}

  // ---- places
  int buffer_number();
  BufferRef place();
  std::vector<Dim> strides();
  // ---- steps
  void read(KernelStep& step);
  int kernel_reference();
  GemmStep::Matrix matrix();
  void read(GemmStep& step);
  GemmStep::Batch batch();
  void read(SortIndexStep& step);
  void read(ScanStep& step);
  /// A place, with the strides of lines and along them.
  std::tuple<BufferRef, Dim, Dim> lines();
  void read(TopKStep& step);
  /// A place, with the stride of rows.
  std::pair<BufferRef, Dim> rows();
  std::pair<BufferRef, Dim> perhaps_rows();
  Dim row_stride();
  void read(SampleStep& step);
  void read(CopyStep& step);
  void read(FillStep& step);
  void read(CollectiveStep& step);
  /// A word that `parse` knows.
  template <typename Enum>
  Enum named(std::optional<Enum> (*parse)(std::string_view), std::string_view what) {
    const Token at = lexer.peek();
    const auto known = parse(lexer.expect(Token::Kind::identifier, what).text);
    if (!known) lexer.fail_at(at.offset, fmt::format("expected {}, found '{}'", what, at.text));
    return *known;
  }
  void word(std::string_view word);

  Program program_;
};

}  // namespace smelt
