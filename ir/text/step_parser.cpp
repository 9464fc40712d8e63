#include "ir/text/step_parser.h"

#include <limits>

#include "ir/text/gemm_step_fields.h"

namespace smelt {

int StepParser::buffer_number() {
  const Token at = lexer.peek();
  const int64_t number = integer("the number of a buffer");
  if (number < 0 || number >= static_cast<int64_t>(program_.buffers.size()))
    lexer.fail_at(at.offset,
                  fmt::format("expected one of {} buffers, found {}", program_.buffers.size(), number));
  return static_cast<int>(number);
}

BufferRef StepParser::place() {
  BufferRef ref;
  if (!lexer.accept("#")) lexer.expected("a place (#buffer[offset])");
  ref.buffer = buffer_number();
  if (!lexer.accept("[")) return ref;
  ref.offset = dim();
  lexer.expect("]");
  return ref;
}

std::vector<Dim> StepParser::strides() {
  std::vector<Dim> result;
  lexer.expect("(");
  list(")", [&] { result.push_back(dim()); });
  return result;
}

void StepParser::read(KernelStep& step) {
  step.kernel = kernel_reference();
  lexer.expect("(");
  list(")", [&] { step.arguments.push_back(place()); });
  if (!lexer.accept_word("ids")) return;
  for (int64_t id : integers()) {
    if (id < 0 || id > std::numeric_limits<uint32_t>::max())
      lexer.expected(fmt::format("random ids in [0, 2^32) (not {}) before this", id));
    step.random_ids.push_back(static_cast<uint32_t>(id));
  }
  while (lexer.accept_word("part")) {
    RandomPart& of = step.random_parts.emplace_back();
    of.part = dim();
    word("of");
    of.parts = dim();
  }
}

int StepParser::kernel_reference() {
  const Token at = lexer.peek();
  const int count = static_cast<int>(program_.kernels.size());
  if (!at.is("@")) {
    const int64_t number = integer("a kernel (@name or its number)");
    if (number < 0 || number >= count)
      lexer.fail_at(at.offset, fmt::format("expected one of {} kernels, found {}", count, number));
    return static_cast<int>(number);
  }
  const std::string name = graph_name();
  for (int i = 0; i < count; ++i)
    if (program_.kernels[i].name == name) return i;
  lexer.fail_at(at.offset, fmt::format("there is no kernel @{} above", name));
}

GemmStep::Matrix StepParser::matrix() {
  const Token at = lexer.peek();
  GemmStep::Matrix result{place(), {}, {}};
  const std::vector<Dim> both = strides();
  if (both.size() != 2) lexer.fail_at(at.offset, "expected the row and the column stride of a matrix");
  result.row_stride = both[0], result.column_stride = both[1];
  return result;
}

void StepParser::read(GemmStep& step) {
  step.dtype = step.result_dtype = dtype();
  step.c = matrix();
  lexer.expect("=");
  step.a = matrix();
  lexer.expect("*");
  step.b = matrix();
  const auto read_one = [this](auto& value) { read_field(value); };
  read_fields(step, [](const auto& visit) { visit_gemm_step_fields(visit); }, read_one);
  while (lexer.accept_word("batch"))
    read_fields(
        step.batch.emplace_back(), [](const auto& visit) { visit_gemm_batch_fields(visit); }, read_one);
}

bool StepParser::begins(std::string_view pattern) const {
  const std::string_view token = first_token(pattern);
  return lexer.peek().is(token) || lexer.peek().is_word(token);
}

void StepParser::literal(std::string_view text) {
  for (std::string_view token; !(token = first_token(text)).empty();) {
    text.remove_prefix(static_cast<size_t>(token.data() + token.size() - text.data()));
    if (!begins(token)) lexer.expected(fmt::format("'{}'", token));
    lexer.next();
  }
}

void StepParser::read_extents(Shape& extents) {
  const Token at = lexer.peek();
  extents = shape();
  check_size(at, {DType::f32, extents});
}

void StepParser::read_workspace(BufferRef& base, Dim& elements) {
  base = place();
  word("of");
  elements = dim();
}

void StepParser::word(std::string_view word) {
  if (!lexer.accept_word(word)) lexer.expected(fmt::format("'{}'", word));
}

}  // namespace smelt
