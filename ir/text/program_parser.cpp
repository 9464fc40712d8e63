#include <algorithm>
#include <limits>

#include "ir/program.h"
#include "ir/text/kernel_parser.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

class ProgramParser : KernelParser {
 public:
  ProgramParser(std::string_view text, std::string_view file) : KernelParser(text, file) {
    known_symbols = &program_.symbols;
  }

  Program parse() {
    while (lexer.peek().kind != Token::Kind::end) item();
    return std::move(program_);
  }

 private:
  void item() {
    if (lexer.accept_word("symbols"))
      symbols(program_.symbols);
    else if (lexer.accept_word("description"))
      program_.description = string("the description in quotes");
    else if (lexer.accept_word("state"))
      program_.states.push_back(state());
    else if (lexer.accept_word("buffer"))
      declare_buffer();
    else if (lexer.accept_word("kernel"))
      program_.kernels.push_back(kernel());
    else if (lexer.accept_word("entry"))
      entry();
    else
      lexer.expected("symbols, description, state, buffer, kernel or entry");
  }

  void declare_buffer() {
    const Token at = lexer.peek();
    const int64_t number = integer("the buffer's number");
    if (number != static_cast<int64_t>(program_.buffers.size()))
      lexer.fail_at(at.offset,
                    fmt::format("expected buffer {}: buffers are numbered from 0 in order, found {}",
                                program_.buffers.size(), number));
    program_.buffers.push_back(buffer(program_.states));
  }

  void entry() {
    PlanEntry entry;
    entry.name = graph_name();
    lexer.expect("{");
    if (lexer.peek().is_word("arena")) {
      fields([&](const Token& key) {
        if (key.text != "arena") unknown_field(key, "arena");
        entry.arena_bytes = integer();
      });
      lexer.expect("{");
    }
    while (!lexer.accept("}")) line(entry);
    program_.entries.push_back(std::move(entry));
  }

  void line(PlanEntry& entry) {
    if (lexer.accept_word("input")) return entry.inputs.push_back(port());
    if (lexer.accept_word("output")) return entry.outputs.push_back(port());
    if (lexer.accept_word("choice")) return entry.choices.push_back(choice());
    Step step;
    std::string keywords;
    const auto parse = [&](auto kind) {
      const std::string_view keyword = StepKind<decltype(kind)>::keyword;
      keywords += fmt::format(", {}", keyword);
      if (!lexer.accept_word(keyword)) return false;
      read(kind);
      step.what = std::move(kind);
      return true;
    };
    if (!any_step_kind(parse)) lexer.expected(fmt::format("input, output, choice{} or '}}'", keywords));
    if (lexer.accept("{")) step_fields(step);
    entry.steps.push_back(std::move(step));
  }

  Port port() {
    Port port;
    port.name = string("the name of an input or output in quotes");
    if (lexer.accept("{")) port_fields(port);
    lexer.expect(":");
    Type written = type();
    port.dtype = written.dtype;
    port.shape = std::move(written.shape);
    lexer.expect("=");
    lexer.expect("#");
    port.buffer = buffer_number();
    return port;
  }

  void port_fields(Port& port) {
    const Token at = lexer.peek();
    IdRange ids;
    fields([&](const Token& key) {
      if (key.text == "fill")
        port.optional = true, port.fill = number();
      else if (key.text == "below")
        ids.below = id_bound();
      else if (key.text == "ignored")
        ids.ignored = integer();
      else if (key.text == "least")
        ids.least = integer();
      else
        unknown_field(key, "fill, below, ignored, least");
    });
    if (ids.below > 0) port.ids = ids;
    if (ids.below == 0 && ids.ignored) lexer.fail_at(at.offset, "ignored: expected `below = ROWS` beside it");
  }

  int64_t id_bound() {
    const Token at = lexer.peek();
    const int64_t below = integer("the number of ids");
    if (below < 1) lexer.fail_at(at.offset, fmt::format("expected at least 1 id, found {}", below));
    return below;
  }

  void step_fields(Step& step) {
    fields([&](const Token& key) {
      if (key.text == "phase")
        step.phase = string();
      else if (key.text == "sources")
        step.sources = strings();
      else if (key.text == "reads")
        step.reads = buffers();
      else if (key.text == "writes")
        step.writes = buffers();
      else if (key.text == "may_alias")
        pairs(step);
      else if (key.text == "choice")
        choice(step);
      else
        unknown_field(key, "phase, sources, reads, writes, may_alias, choice");
    });
  }

  std::vector<int> buffers() {
    std::vector<int> result;
    lexer.expect("[");
    list("]", [&] { result.push_back(buffer_number()); });
    return result;
  }

  Choice choice() {
    Choice made{strings()};
    if (!lexer.accept("{")) return made;
    fields([&](const Token& key) {
      if (key.text != "last_where") unknown_field(key, "last_where");
      SizeRule& rule = made.last_where.emplace();
      rule.value = dim(), lexer.expect("<"), rule.below = integer();
    });
    return made;
  }

  /// Which of the choices above, and which of its alternatives.
  void choice(Step& step) {
    const std::vector<int64_t> numbers = integers();
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    const bool fits = numbers.size() == 2 && std::ranges::all_of(numbers, [](int64_t number) {
                        return number >= 0 && number <= kMost;
                      });
    if (!fits) lexer.expected("[choice, alternative] before this");
    step.choice = static_cast<int>(numbers[0]), step.alternative = static_cast<int>(numbers[1]);
  }

  void pairs(Step& step) {
    lexer.expect("[");
    list("]", [&] {
      const std::vector<int> pair = buffers();
      if (pair.size() != 2) lexer.expected("[written, read] before this");
      step.may_alias.push_back({pair[0], pair[1]});
    });
  }

  // ---- places

  int buffer_number() {
    const Token at = lexer.peek();
    const int64_t number = integer("the number of a buffer");
    if (number < 0 || number >= static_cast<int64_t>(program_.buffers.size()))
      lexer.fail_at(at.offset,
                    fmt::format("expected one of {} buffers, found {}", program_.buffers.size(), number));
    return static_cast<int>(number);
  }

  BufferRef place() {
    BufferRef ref;
    if (!lexer.accept("#")) lexer.expected("a place (#buffer[offset])");
    ref.buffer = buffer_number();
    if (!lexer.accept("[")) return ref;
    ref.offset = dim();
    lexer.expect("]");
    return ref;
  }

  std::vector<Dim> strides() {
    std::vector<Dim> result;
    lexer.expect("(");
    list(")", [&] { result.push_back(dim()); });
    return result;
  }

  // ---- steps

  void read(KernelStep& step) {
    step.kernel = kernel_reference();
    lexer.expect("(");
    list(")", [&] { step.arguments.push_back(place()); });
    if (!lexer.accept_word("ids")) return;
    for (int64_t id : integers()) {
      if (id < 0 || id > std::numeric_limits<uint32_t>::max())
        lexer.expected(fmt::format("random ids in [0, 2^32) (not {}) before this", id));
      step.random_ids.push_back(static_cast<uint32_t>(id));
    }
  }

  int kernel_reference() {
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

  GemmStep::Matrix matrix() {
    const Token at = lexer.peek();
    GemmStep::Matrix result{place(), {}, {}};
    const std::vector<Dim> both = strides();
    if (both.size() != 2) lexer.fail_at(at.offset, "expected the row and the column stride of a matrix");
    result.row_stride = both[0], result.column_stride = both[1];
    return result;
  }

  void read(GemmStep& step) {
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

  GemmStep::Batch batch() {
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

  void read(SortIndexStep& step) {
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

  void read(ScanStep& step) {
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

  /// A place, with the strides of lines and along them.
  std::tuple<BufferRef, Dim, Dim> lines() {
    const GemmStep::Matrix both = matrix();
    return {both.base, both.row_stride, both.column_stride};
  }

  void read(TopKStep& step) {
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

  /// A place, with the stride of rows.
  std::pair<BufferRef, Dim> rows() {
    const Token at = lexer.peek();
    const BufferRef base = place();
    const std::vector<Dim> stride = strides();
    if (stride.size() != 1) lexer.fail_at(at.offset, "expected the stride of rows");
    return {base, stride[0]};
  }

  void read(SampleStep& step) {
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

  void read(CopyStep& step) {
    Type box = type();
    step.dtype = box.dtype;
    step.extents = std::move(box.shape);
    step.to = place();
    step.to_strides = strides();
    lexer.expect("=");
    step.from = place();
    step.from_strides = strides();
  }

  void read(FillStep& step) {
    step.to = place();
    lexer.expect("=");
    step.value = number();
    word("of");
    step.elements = dim();
  }

  void word(std::string_view word) {
    if (!lexer.accept_word(word)) lexer.expected(fmt::format("'{}'", word));
  }

  Program program_;
};

}  // namespace

Program parse_program(std::string_view text, std::string_view file) {
  return ProgramParser(text, file).parse();
}

}  // namespace smelt
