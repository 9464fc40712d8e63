#include <algorithm>
#include <limits>

#include "ir/program/program.h"
#include "ir/text/step_parser.h"
#include "runtime/plan/plan_fields.h"

namespace smelt {
namespace {

class ProgramParser : StepParser {
 public:
  ProgramParser(std::string_view text, std::string_view file) : StepParser(text, file) {
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
    else if (lexer.accept_word("mesh"))
      mesh();
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
      lexer.expected("symbols, mesh, description, state, buffer, kernel or entry");
  }

  void mesh() {
    const Token at = lexer.expect("{");
    fields([&](const Token& key) { program_.mesh.axes.push_back({std::string(key.text), integer()}); });
    lexer.at(at, [&] { check_mesh(program_.mesh); });
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
      else if (key.text == "recomputed")
        step.recomputed = boolean();
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
        unknown_field(key, "phase, recomputed, sources, reads, writes, may_alias, choice");
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
};

}  // namespace

Program parse_program(std::string_view text, std::string_view file) {
  return ProgramParser(text, file).parse();
}

}  // namespace smelt
