#include "ir/text/kernel_parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ir/kernel/schedule_fields.h"
#include "ir/text/names.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

}  // namespace

Kernel KernelParser::parse() {
  if (!lexer.accept_word("kernel")) lexer.expected("'kernel'");
  Kernel result = kernel();
  if (lexer.peek().kind != Token::Kind::end) lexer.expected("the end of the text after the kernel");
  return result;
}

Kernel KernelParser::kernel() {
  *static_cast<KernelParts*>(this) = {};
  kernel_.name = graph_name();
  lexer.expect("(");
  list(")", [&] { param(); });
  list("{", [&] { kernel_axis(); });
  while (!lexer.accept("}")) {
    if (lexer.accept_word("schedule"))
      schedule();
    else if (lexer.accept_word("attention"))
      attention();
    else if (lexer.accept_word("gemm"))
      gemm();
    else if (lexer.accept_word("random_slots"))
      kernel_.random_slots = small_integer("how many random ids the kernel takes");
    else if (lexer.accept_word("waits"))
      kernel_.waits = true;
    else if (lexer.accept_word("in_order"))
      kernel_.in_order = true;
    else if (lexer.accept_word("copies"))
      kernel_.copies = small_integer("how many sets of arguments the kernel takes");
    else if (lexer.accept_word("before"))
      kernel_.before.push_back(inner());
    else if (lexer.accept_word("beside"))
      kernel_.beside.push_back(inner());
    else if (lexer.accept_word("tail"))
      kernel_.tail.push_back(inner());
    else if (lexer.accept_word("where"))
      kernel_.row_predicate = forward_value();
    else
      block();
  }
  finish();
  return std::move(kernel_);
}

/// A kernel inside the one that is being parsed, whose parts are set aside meanwhile.
Kernel KernelParser::inner() {
  KernelParts outer = std::move(*static_cast<KernelParts*>(this));
  Kernel kernel_inside = kernel();
  *static_cast<KernelParts*>(this) = std::move(outer);
  return kernel_inside;
}

// ---- header

void KernelParser::param() {
  KernelParam p;
  if (lexer.accept_word("out"))
    p.output = true, p.input = false;
  else if (lexer.accept_word("inout"))
    p.output = true;
  else if (lexer.accept_word("unused"))
    p.input = false;
  p.partial = lexer.accept_word("partial");
  const Token at = lexer.expect(Token::Kind::value, "a parameter ([out | inout] %name: type) or ')'");
  if (!is_identifier(at.text)) lexer.fail_at(at.offset, "a parameter's name begins with a letter or '_'");
  p.name = lexer.peek().kind == Token::Kind::string ? string() : std::string(at.text);
  lexer.expect(":");
  p.dtype = dtype();
  if (lexer.accept("[")) {
    p.partial_elements = dim();
    lexer.expect("]");
  }
  if (lexer.accept_word("table")) p.table_elements = dim();
  if (lexer.accept_word("indices")) p.indices = indices();
  if (lexer.accept_word("align")) p.alignment = integer();
  kernel_.params.push_back(std::move(p));
}

IndexBounds KernelParser::indices() {
  IndexBounds bounds;
  bounds.least = integer();
  if (!lexer.accept_word("to")) lexer.expected("'to' and what the indices are below");
  bounds.below = dim();
  if (lexer.accept_word("or")) bounds.ignored = integer();
  return bounds;
}

void KernelParser::kernel_axis() {
  KernelAxis axis;
  const Token kind = lexer.expect(Token::Kind::identifier, "an axis (parallel, column or reduced) or '{'");
  const auto word = std::find(std::begin(kAxisWords), std::end(kAxisWords), kind.text);
  if (word == std::end(kAxisWords)) lexer.fail_at(kind.offset, "expected parallel, column or reduced");
  axis.kind = static_cast<AxisKind>(word - std::begin(kAxisWords));
  named_axes_.push_back(lexer.peek().kind != Token::Kind::string);
  axis.name = name("the axis's name");
  lexer.expect("=");
  axis.extent = dim();
  if (lexer.accept_word("from")) {
    axis.begin = forward_value();
    if (!lexer.accept_word("to")) lexer.expected("'to' and the end of the segment");
    axis.end = forward_value();
  }
  kernel_.axes.push_back(std::move(axis));
}

void KernelParser::read(std::vector<int>& numbers) {
  lexer.expect("[");
  list("]", [&] { numbers.push_back(forward_value()); });
}

void KernelParser::schedule() {
  read_fields(kernel_.schedule, [](const auto& visit) { visit_schedule_fields(visit); });
}

// ---- blocks

void KernelParser::block() {
  const Token at = lexer.expect(Token::Kind::identifier, "a block (row, column or reduced) or '}'");
  Block block;
  const auto word = std::find(std::begin(kScopeWords), std::end(kScopeWords), at.text);
  if (word != std::end(kScopeWords))
    block.scope = static_cast<KernelBlock::Scope>(word - std::begin(kScopeWords));
  else if (at.text != "unplaced")
    lexer.fail_at(at.offset,
                  "expected schedule, attention, gemm, random_slots, waits, in_order, copies, where, row, "
                  "column, reduced, unplaced, before, beside or tail");
  block.after_barrier = lexer.accept_word("after_barrier");
  block.loads_first = lexer.accept_word("loads_first");
  lexer.expect("{");
  while (!lexer.accept("}"))
    if (!lexer.accept(";")) line(block);
  blocks_.push_back(std::move(block));
}

void KernelParser::line(Block& block) {
  if (lexer.accept_word("repeat")) return block.lines.push_back(defined_.at(value()));
  Line line;
  const Token at = lexer.peek();
  if (at.kind == Token::Kind::value) {
    lexer.next();
    line.number = number_of(at);
    lexer.expect("=");
  }
  instruction(line.instruction);
  lexer.expect(":");
  line.instruction.dtype = dtype();
  const Kind kind = line.instruction.kind;
  if (!line.number && kind != Kind::store && kind != Kind::accumulate)
    lexer.fail_at(at.offset, "only a store or an accumulate goes without a name (%number = ...)");
  if (line.number && !defined_.emplace(*line.number, lines_.size()).second)
    lexer.fail_at(at.offset, fmt::format("%{} is defined twice", *line.number));
  block.lines.push_back(lines_.size());
  lines_.push_back(std::move(line));
}

/// Splits a token at '.': the word before it, and the form after it.
std::pair<std::string_view, Form> KernelParser::split_form(const Token& token) {
  const size_t dot = token.text.find('.');
  if (dot == std::string_view::npos) return {token.text, Form::plain};
  const auto word = std::find(std::begin(kFormWords), std::end(kFormWords), token.text.substr(dot + 1));
  if (word == std::end(kFormWords))
    lexer.fail_at(token.offset, fmt::format("there is no form '{}': expected one of {}",
                                            token.text.substr(dot + 1), fmt::join(kFormWords, ", ")));
  return {token.text.substr(0, dot), static_cast<Form>(word - std::begin(kFormWords))};
}

void KernelParser::instruction(Instruction& i) {
  const Token op = lexer.expect(Token::Kind::identifier, "an instruction");
  const auto [word, form] = split_form(op);
  i.form = form;
  if (word == "reduce" && form == Form::plain)
    reduce(i);
  else
    action(op, word, i);
  if (!has_form(i, i.form))
    lexer.fail_at(op.offset,
                  fmt::format("{} has no form '{}'", word, kFormWords[static_cast<size_t>(i.form)]));
}

void KernelParser::operands(Instruction& i) {
  do i.operands.push_back(value());
  while (lexer.accept(","));
}

void KernelParser::action(const Token& op, std::string_view word, Instruction& i) {
  if (word == "constant") {
    i.number = number();
  } else if (word == "index") {
    i.kind = Kind::index, i.axis = axis_reference();
  } else if (word == "convert") {
    i.kind = Kind::convert, operands(i);
  } else if (word == "random") {
    random(i);
  } else if (word == "load" || word == "store" || word == "accumulate") {
    i.kind = word == "load" ? Kind::load : word == "store" ? Kind::store : Kind::accumulate;
    memory(i);
  } else if (word == "result") {
    i.kind = Kind::result, i.slot = small_integer();
    if (!lexer.accept_word("of")) lexer.expected("'of' and a reduction's value");
    operands(i);
  } else if (word == "handed") {
    i.kind = Kind::handed, i.slot = small_integer();
  } else if (const auto scalar = parse_scalar_op(word)) {
    i.kind = Kind::scalar, i.scalar_op = *scalar, operands(i);
    if (static_cast<int>(i.operands.size()) != info(*scalar).arity)
      lexer.fail_at(op.offset, fmt::format("{} takes {} operands, {} are given", word, info(*scalar).arity,
                                           i.operands.size()));
  } else {
    lexer.fail_at(op.offset, fmt::format("there is no instruction {}", describe(op)));
  }
}

/// reduce OP[.FORM] value [if condition] [round NUMBER] [columns NUMBER]
void KernelParser::reduce(Instruction& i) {
  const Token kind = lexer.expect(Token::Kind::identifier, "a reduction (add, max, ...)");
  const auto [word, form] = split_form(kind);
  const auto reduce = parse_reduce_op(word);
  if (!reduce) lexer.fail_at(kind.offset, fmt::format("there is no reduction {}", describe(kind)));
  i.kind = Kind::reduce, i.reduce_op = *reduce, i.form = form;
  operands(i);
  const Token condition = lexer.peek();
  if (lexer.accept_word("if")) {
    if (i.reduce_op != ReduceOp::add)
      lexer.fail_at(condition.offset, "only a sum leaves elements out: reduce add %value if %condition");
    i.predicate = value();
  }
  exchange(i);
}

void KernelParser::exchange(Instruction& i) {
  if (lexer.accept_word("round")) i.exchange_round = small_integer("the number of an exchange");
  if (lexer.accept_word("columns")) i.exchange_columns = small_integer("how many columns are exchanged");
}

void KernelParser::memory(Instruction& i) {
  i.access = place();
  if (i.kind != Kind::load) {
    lexer.expect(i.kind == Kind::store ? "=" : "+=");
    i.operands.push_back(value());
  }
  if (lexer.accept_word("if")) i.predicate = value();
  if (i.kind == Kind::accumulate) exchange(i);
}

/// random SLOT[row, column]
void KernelParser::random(Instruction& i) {
  i.kind = Kind::random;
  i.slot = small_integer("the number of a random id");
  const Token at = lexer.expect("[");
  Access row = index_sum(at);
  if (row.computed >= 0)
    lexer.fail_at(at.offset, "the row of a random number is a sum of sizes and axes times sizes");
  i.random_offset = std::move(row.offset);
  i.random_strides = std::move(row.strides);
  lexer.expect(",");
  if (!lexer.accept_word("none")) random_column(i);
  lexer.expect("]");
}

void KernelParser::random_column(Instruction& i) {
  const Token at = lexer.peek();
  Access column = index_sum(at);
  i.random_begin = std::move(column.offset);
  for (size_t axis = 0; axis < column.strides.size(); ++axis) {
    if (column.strides[axis].is_zero()) continue;
    if (!column.strides[axis].is_one() || i.random_axis >= 0)
      lexer.fail_at(at.offset, "the column of a random number is an axis, a size, or an axis and a size");
    i.random_axis = static_cast<int>(axis);
  }
  if (column.computed >= 0) lexer.fail_at(at.offset, "the column of a random number is not computed");
}

// ---- values

int KernelParser::number_of(const Token& token) {
  int number = -1;
  const auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
  if (error != std::errc() || end != token.text.data() + token.text.size() || number < 0)
    lexer.fail_at(token.offset,
                  fmt::format("expected the number of an instruction (%12), found {}", describe(token)));
  return number;
}

int KernelParser::forward_value() {
  const Token token = lexer.expect(Token::Kind::value, "an instruction (%number)");
  forward_.push_back({token, number_of(token)});
  return forward_.back().number;
}

int KernelParser::value() {
  const Token token = lexer.expect(Token::Kind::value, "a value (%number)");
  const int number = number_of(token);
  if (!defined_.count(number)) lexer.fail_at(token.offset, fmt::format("%{} is not defined above", number));
  return number;
}

/// Gives the unnamed instructions their numbers and fills in the kernel.
void KernelParser::finish() {
  for (const Reference& reference : forward_)
    if (!defined_.count(reference.number))
      lexer.fail_at(reference.at.offset, fmt::format("%{} is not defined in the kernel", reference.number));
  const int count = static_cast<int>(lines_.size());
  if (!defined_.empty() && defined_.rbegin()->first >= count)
    lexer.expected(
        fmt::format("numbers below {}, as the kernel before this has so many instructions (it names %{})",
                    count, defined_.rbegin()->first));
  int free = 0;
  for (Line& line : lines_) {
    if (line.number) continue;
    while (defined_.count(free)) ++free;
    line.number = free++;
  }
  kernel_.instructions.resize(lines_.size());
  for (Line& line : lines_) kernel_.instructions[*line.number] = std::move(line.instruction);
  for (const Block& block : blocks_) {
    if (!block.scope) continue;
    kernel_.blocks.push_back({*block.scope, {}, block.after_barrier, block.loads_first});
    for (size_t line : block.lines) kernel_.blocks.back().instructions.push_back(*lines_[line].number);
  }
}

Kernel parse_kernel(std::string_view text, std::string_view file) { return KernelParser(text, file).parse(); }

}  // namespace smelt
