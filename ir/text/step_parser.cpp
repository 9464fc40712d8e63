#include "ir/text/step_parser.h"

#include <limits>

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
  lexer.expect("{");
  fields([&](const Token& key) {
    if (key.text == "m")
      step.m = dim();
    else if (key.text == "n")
      step.n = dim();
    else if (key.text == "k")
      step.k = dim();
    else if (key.text == "alpha")
      step.alpha = number();
    else if (key.text == "beta")
      step.beta = number();
    else if (key.text == "bias")
      step.bias = place();
    else if (key.text == "tf32")
      step.tf32 = boolean();
    else if (key.text == "result")
      step.result_dtype = dtype();
    else if (key.text == "a_i8")
      step.a_i8 = boolean();
    else if (key.text == "b_i8")
      step.b_i8 = boolean();
    else
      unknown_field(key, "m, n, k, alpha, beta, bias, tf32, result, a_i8, b_i8");
  });
  while (lexer.accept_word("batch")) step.batch.push_back(batch());
}

GemmStep::Batch StepParser::batch() {
  GemmStep::Batch batch{};
  lexer.expect("{");
  fields([&](const Token& key) {
    if (key.text == "extent")
      batch.extent = dim();
    else if (key.text == "a")
      batch.a_stride = dim();
    else if (key.text == "b")
      batch.b_stride = dim();
    else if (key.text == "c")
      batch.c_stride = dim();
    else if (key.text == "reduced")
      batch.reduced = boolean();
    else
      unknown_field(key, "extent, a, b, c, reduced");
  });
  return batch;
}

void StepParser::read(SortIndexStep& step) {
  step.indices = place();
  lexer.expect("->");
  step.permutation = place();
  lexer.expect(",");
  step.begins = place();
  word("of");
  step.count = dim();
  word("below");
  step.rows = dim();
  if (!lexer.accept_word("by")) return;
  step.workspace.emplace().base = place();
  word("of");
  step.workspace->elements = dim();
}

void StepParser::read(ScanStep& step) {
  step.kind = lexer.expect(Token::Kind::identifier, "add, max or mul").text;
  step.exclusive = lexer.accept_word("exclusive");
  step.dtype = dtype();
  std::tie(step.y, step.y_outer_stride, step.y_stride) = lines();
  lexer.expect("=");
  std::tie(step.x, step.x_outer_stride, step.x_stride) = lines();
  word("of");
  step.outer = dim();
  word("x");
  step.count = dim();
  word("x");
  step.inner = dim();
}

std::tuple<BufferRef, Dim, Dim> StepParser::lines() {
  const GemmStep::Matrix both = matrix();
  return {both.base, both.row_stride, both.column_stride};
}

void StepParser::read(TopKStep& step) {
  std::tie(step.x, step.row_stride) = rows();
  lexer.expect("->");
  step.values = place();
  lexer.expect(",");
  step.indices = place();
  word("of");
  step.rows = dim();
  word("x");
  step.count = dim();
  word("by");
  step.k = dim();
}

std::pair<BufferRef, Dim> StepParser::rows() {
  const BufferRef base = place();
  return {base, row_stride()};
}

Dim StepParser::row_stride() {
  const Token at = lexer.peek();
  const std::vector<Dim> stride = strides();
  if (stride.size() != 1) lexer.fail_at(at.offset, "expected the stride of rows");
  return stride[0];
}

/// A place alone is that of one row.
std::pair<BufferRef, Dim> StepParser::perhaps_rows() {
  const BufferRef base = place();
  return {base, lexer.peek().is("(") ? row_stride() : 0};
}

void StepParser::read(SampleStep& step) {
  std::tie(step.scores, step.row_stride) = rows();
  lexer.expect(",");
  std::tie(step.numbers, step.numbers_stride) = rows();
  lexer.expect(",");
  std::tie(step.integers, step.integers_stride) = rows();
  lexer.expect("->");
  step.tokens = place();
  lexer.expect(",");
  step.log_probabilities = place();
  word("of");
  step.rows = dim();
  word("x");
  step.count = dim();
}

void StepParser::read(CopyStep& step) {
  Type box = type();
  step.dtype = box.dtype;
  step.extents = std::move(box.shape);
  step.to = place();
  step.to_strides = strides();
  lexer.expect("=");
  step.from = place();
  step.from_strides = strides();
  if (lexer.accept_word("until")) step.waited_at = small_integer("the number of a step");
}

void StepParser::read(FillStep& step) {
  step.to = place();
  lexer.expect("=");
  step.value = number();
  word("of");
  step.elements = dim();
}

void StepParser::read(CollectiveStep& step) {
  step.kind = named(parse_collective_kind, "all_reduce, reduce_scatter, all_gather or all_to_all");
  if (is_sum(step.kind)) step.sum = named(parse_collective_sum, "add or max");
  step.dtype = dtype();
  std::tie(step.to, step.to_stride) = perhaps_rows();
  lexer.expect("=");
  std::tie(step.from, step.from_stride) = perhaps_rows();
  word("of");
  step.elements = dim();
  word("over");
  step.axis = name("an axis of the mesh");
  word("x");
  step.ranks = dim();
  if (lexer.accept_word("rows")) step.rows = dim();
  if (lexer.accept_word("until")) step.waited_at = small_integer("the number of a step");
}

void StepParser::word(std::string_view word) {
  if (!lexer.accept_word(word)) lexer.expected(fmt::format("'{}'", word));
}

}  // namespace smelt
