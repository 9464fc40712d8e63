// Parser of templates: recursive descent with a limit of depth, in the order of precedence that Jinja has.
#include <algorithm>
#include <initializer_list>
#include <span>

#include "runtime/templates/characters.h"
#include "runtime/templates/lexer.h"
#include "runtime/templates/registry.h"
#include "runtime/templates/syntax.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

constexpr int kMaxHeight = 200;          // of expressions, and of statements inside statements
constexpr size_t kMaxSource = 1u << 20;  // bytes

using Words = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::string_view source)
      : tokens_(tokenize(source)), budget_(RenderLimits{.bytes = kMaxSource}) {}

  Body run() { return parse_body({}, "the template"); }

 private:
  // ---- Tokens
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_sign(std::string_view text) const { return is(TokenKind::sign) && current().text == text; }
  bool is_word(std::string_view text) const { return is(TokenKind::name) && current().text == text; }
  bool skip_sign(std::string_view text) { return is_sign(text) && (next(), true); }
  bool skip_word(std::string_view text) { return is_word(text) && (next(), true); }

  template <typename... Args>
  [[noreturn]] void fail_at(int line, fmt::format_string<Args...> format, Args&&... args) {
    throw TemplateError(Fault::syntax, fmt::format(format, std::forward<Args>(args)...), line);
  }
  [[noreturn]] void fail_expected(std::string_view what) {
    fail_at(current().line, "expected {}, got {}", what, describe(current()));
  }
  void expect_sign(std::string_view text) {
    if (!skip_sign(text)) fail_expected(fmt::format("'{}'", text));
  }
  void expect_word(std::string_view text) {
    if (!skip_word(text)) fail_expected(fmt::format("'{}'", text));
  }
  void expect(TokenKind kind) {
    if (!is(kind)) fail_expected(describe({kind, 0, {}}));
    next();
  }
  std::string expect_name() {
    if (!is(TokenKind::name)) fail_expected("a name");
    return next().text;
  }

  /// Counts a level of recursion of the parser.
  struct Level {
    explicit Level(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kMaxHeight) {
        --parser.depth_;
        throw TemplateError(Fault::limit, fmt::format("nesting is deeper than {} levels", kMaxHeight),
                            parser.current().line);
      }
    }
    ~Level() { --parser.depth_; }
    Parser& parser;
  };

  // ---- Expressions
  ExpressionPtr make(Op op, int line, std::vector<ExpressionPtr> parts = {}) {
    auto e = std::make_unique<Expression>(op, line);
    for (const auto& part : parts) e->height = std::max(e->height, part ? part->height + 1 : 1);
    if (e->height > kMaxHeight) {
      throw TemplateError(Fault::limit, fmt::format("an expression is deeper than {} levels", kMaxHeight),
                          line);
    }
    e->parts = std::move(parts);
    return e;
  }
  template <typename... Parts>
  ExpressionPtr node(Op op, int line, Parts... parts) {
    std::vector<ExpressionPtr> list;
    (list.push_back(std::move(parts)), ...);
    return make(op, line, std::move(list));
  }
  ExpressionPtr constant(int line, Value value) {
    auto e = node(Op::constant, line);
    e->constant = std::move(value);
    return e;
  }
  ExpressionPtr named(Op op, int line, std::string name, ExpressionPtr subject = nullptr) {
    auto e = subject ? node(op, line, std::move(subject)) : node(op, line);
    e->name = std::move(name);
    return e;
  }

  ExpressionPtr parse_expression(bool conditions = true) {
    Level level(*this);
    return conditions ? parse_condition() : parse_or();
  }

  ExpressionPtr parse_condition() {
    int line = current().line;
    auto value = parse_or();
    while (is_word("if")) {
      next();
      auto test = parse_or();
      auto other = skip_word("else") ? parse_expression() : nullptr;
      value = node(Op::condition, line, std::move(value), std::move(test), std::move(other));
      line = current().line;
    }
    return value;
  }

  ExpressionPtr parse_or() {
    const int line = current().line;
    auto left = parse_and();
    while (skip_word("or")) left = node(Op::logical_or, line, std::move(left), parse_and());
    return left;
  }
  ExpressionPtr parse_and() {
    const int line = current().line;
    auto left = parse_not();
    while (skip_word("and")) left = node(Op::logical_and, line, std::move(left), parse_not());
    return left;
  }
  ExpressionPtr parse_not() {
    Level level(*this);
    const int line = current().line;
    if (skip_word("not")) return node(Op::logical_not, line, parse_not());
    return parse_compare();
  }

  /// The comparison at the current token, or "".
  std::string comparison() {
    static constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
    if (is(TokenKind::sign) && std::ranges::find(kSigns, current().text) != std::end(kSigns))
      return next().text;
    if (skip_word("in")) return "in";
    if (!is_word("not") || look().kind != TokenKind::name || look().text != "in") return "";
    next();
    next();
    return "not in";
  }

  ExpressionPtr parse_compare() {
    const int line = current().line;
    std::vector<ExpressionPtr> operands;
    std::vector<std::string> signs;
    operands.push_back(parse_sum());
    for (std::string sign; !(sign = comparison()).empty();) {
      signs.push_back(std::move(sign));
      operands.push_back(parse_sum());
    }
    if (signs.empty()) return std::move(operands[0]);
    auto e = make(Op::compare, line, std::move(operands));
    e->signs = std::move(signs);
    return e;
  }

  ExpressionPtr parse_sum() {
    const int line = current().line;
    auto left = parse_concatenation();
    while (is_sign("+") || is_sign("-")) {
      const Op op = next().text == "+" ? Op::add : Op::subtract;
      left = node(op, line, std::move(left), parse_concatenation());
    }
    return left;
  }

  ExpressionPtr parse_concatenation() {
    const int line = current().line;
    std::vector<ExpressionPtr> parts;
    parts.push_back(parse_product());
    while (skip_sign("~")) parts.push_back(parse_product());
    return parts.size() == 1 ? std::move(parts[0]) : make(Op::concatenate, line, std::move(parts));
  }

  ExpressionPtr parse_product() {
    const int line = current().line;
    auto left = parse_power();
    while (is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%")) {
      const std::string sign = next().text;
      const Op op = sign == "*"   ? Op::multiply
                    : sign == "/" ? Op::divide
                    : sign == "%" ? Op::modulo
                                  : Op::floor_divide;
      left = node(op, line, std::move(left), parse_power());
    }
    return left;
  }

  ExpressionPtr parse_power() {
    const int line = current().line;
    auto left = parse_unary(true);
    while (skip_sign("**")) left = node(Op::power, line, std::move(left), parse_unary(true));
    return left;
  }

  ExpressionPtr parse_unary(bool filters) {
    Level level(*this);
    const int line = current().line;
    ExpressionPtr e;
    if (skip_sign("-")) {
      e = node(Op::negative, line, parse_unary(false));
    } else if (skip_sign("+")) {
      e = node(Op::positive, line, parse_unary(false));
    } else {
      e = parse_primary(false);
    }
    e = parse_postfix(std::move(e));
    return filters ? parse_filters_and_tests(std::move(e)) : std::move(e);
  }

  ExpressionPtr parse_primary(bool namespaces) {
    const Token token = current();
    if (is(TokenKind::name)) return parse_name(namespaces);
    if (is(TokenKind::text)) return parse_texts();
    if (is(TokenKind::integer) || is(TokenKind::real)) {
      next();
      return constant(token.line, token.kind == TokenKind::real ? Value(token.real) : Value(token.integer));
    }
    if (skip_sign("(")) {
      auto e = parse_tuple(true, true);
      expect_sign(")");
      return e;
    }
    if (is_sign("[")) return parse_list();
    if (is_sign("{")) return parse_dict();
    fail_at(token.line, "expected an expression, got {}", describe(token));
  }

  ExpressionPtr parse_name(bool namespaces) {
    const Token token = next();
    const std::string& name = token.text;
    if (name == "true" || name == "True") return constant(token.line, Value(true));
    if (name == "false" || name == "False") return constant(token.line, Value(false));
    if (name == "none" || name == "None") return constant(token.line, Value(None{}));
    if (!namespaces || !skip_sign(".")) return named(Op::name, token.line, name);
    return named(Op::namespace_attribute, token.line, expect_name(), named(Op::name, token.line, name));
  }

  ExpressionPtr parse_texts() {
    const int line = current().line;
    std::string text;
    while (is(TokenKind::text)) text += next().text;
    return constant(line, make_text(budget_, std::move(text)));
  }

  /// The elements of a tuple may stop before one of `ends`.
  bool tuple_ends(Words ends) const {
    return is(TokenKind::print_end) || is(TokenKind::block_end) || is_sign(")") ||
           std::ranges::any_of(ends, [&](std::string_view word) { return is_word(word); });
  }

  template <typename Parse>
  ExpressionPtr parse_elements(bool parentheses, Words ends, Parse parse) {
    int line = current().line;
    std::vector<ExpressionPtr> items;
    bool tuple = false;
    while (true) {
      if (!items.empty()) expect_sign(",");
      if (tuple_ends(ends)) break;
      items.push_back(parse());
      if (!is_sign(",")) break;
      tuple = true;
      line = current().line;
    }
    if (!tuple && !items.empty()) return std::move(items[0]);
    if (!tuple && !parentheses) fail_expected("an expression");
    return make(Op::tuple, line, std::move(items));
  }

  ExpressionPtr parse_tuple(bool parentheses = false, bool conditions = true, Words ends = {}) {
    Level level(*this);
    return parse_elements(parentheses, ends, [&] { return parse_expression(conditions); });
  }

  ExpressionPtr parse_list() {
    const int line = next().line;
    std::vector<ExpressionPtr> items;
    while (!is_sign("]")) {
      if (!items.empty()) expect_sign(",");
      if (is_sign("]")) break;
      items.push_back(parse_expression());
    }
    expect_sign("]");
    return make(Op::list, line, std::move(items));
  }

  ExpressionPtr parse_dict() {
    const int line = next().line;
    std::vector<ExpressionPtr> items;
    while (!is_sign("}")) {
      if (!items.empty()) expect_sign(",");
      if (is_sign("}")) break;
      items.push_back(parse_expression());
      expect_sign(":");
      items.push_back(parse_expression());
    }
    expect_sign("}");
    return make(Op::dict, line, std::move(items));
  }

  ExpressionPtr parse_postfix(ExpressionPtr e) {
    while (true) {
      if (is_sign(".")) {
        e = parse_attribute(std::move(e));
      } else if (is_sign("[")) {
        e = parse_subscript(std::move(e));
      } else if (is_sign("(")) {
        e = parse_call(std::move(e));
      } else {
        return e;
      }
    }
  }

  ExpressionPtr parse_attribute(ExpressionPtr subject) {
    const int line = next().line;
    const Token token = next();
    if (token.kind == TokenKind::name) return named(Op::attribute, line, token.text, std::move(subject));
    if (token.kind != TokenKind::integer)
      fail_at(token.line, "expected a name or number, got {}", describe(token));
    return node(Op::item, line, std::move(subject), constant(token.line, Value(token.integer)));
  }

  ExpressionPtr parse_subscript(ExpressionPtr subject) {
    const int line = next().line;
    std::vector<ExpressionPtr> keys;
    while (!is_sign("]")) {
      if (!keys.empty()) expect_sign(",");
      keys.push_back(parse_key());
    }
    expect_sign("]");
    auto key = keys.size() == 1 ? std::move(keys[0]) : make(Op::tuple, line, std::move(keys));
    return node(Op::item, line, std::move(subject), std::move(key));
  }

  bool key_ends() const { return is_sign(":") || is_sign("]") || is_sign(","); }

  ExpressionPtr parse_key() {
    const int line = current().line;
    ExpressionPtr start = is_sign(":") ? nullptr : parse_expression(), stop, step;
    if (!skip_sign(":")) return start;
    if (!key_ends()) stop = parse_expression();
    if (skip_sign(":") && !key_ends()) step = parse_expression();
    return node(Op::slice, line, std::move(start), std::move(stop), std::move(step));
  }

  /// Parses arguments in parentheses and appends them to the parts of `call`.
  void parse_arguments(Expression& call) {
    const int line = current().line;
    expect_sign("(");
    ExpressionPtr star, double_star;
    const auto require = [&](bool held) {
      if (!held) fail_at(line, "the arguments of a call are in the wrong order");
    };
    for (bool comma = false; !is_sign(")"); comma = true) {
      if (comma) expect_sign(",");
      if (comma && is_sign(")")) break;
      if (skip_sign("*")) {
        require(!star && !double_star);
        star = parse_expression();
      } else if (skip_sign("**")) {
        require(!double_star);
        double_star = parse_expression();
      } else if (is(TokenKind::name) && look().kind == TokenKind::sign && look().text == "=") {
        require(!double_star);
        call.keywords.push_back(next().text);
        next();
        call.parts.push_back(parse_expression());
      } else {
        require(!star && !double_star && call.keywords.empty());
        call.parts.push_back(parse_expression());
        ++call.positional;
      }
    }
    expect_sign(")");
    call.star = star != nullptr;
    call.double_star = double_star != nullptr;
    if (star) call.parts.push_back(std::move(star));
    if (double_star) call.parts.push_back(std::move(double_star));
    for (const auto& part : call.parts) call.height = std::max(call.height, part ? part->height + 1 : 1);
    require(call.height <= kMaxHeight);
    for (size_t i = 0; i < call.keywords.size(); ++i) {
      const auto same = std::find(call.keywords.begin(), call.keywords.begin() + i, call.keywords[i]);
      if (same != call.keywords.begin() + i)
        fail_at(line, "keyword argument '{}' is repeated", call.keywords[i]);
    }
  }

  ExpressionPtr parse_call(ExpressionPtr subject) {
    auto call = node(Op::call, current().line, std::move(subject));
    parse_arguments(*call);
    return call;
  }

  ExpressionPtr parse_filters_and_tests(ExpressionPtr e) {
    while (true) {
      if (is_sign("|")) {
        next();
        e = parse_filter(std::move(e));
      } else if (is_word("is")) {
        e = parse_test(std::move(e));
      } else if (is_sign("(")) {
        e = parse_call(std::move(e));
      } else {
        return e;
      }
    }
  }

  std::string dotted_name() {
    std::string name = expect_name();
    while (skip_sign(".")) name += "." + expect_name();
    return name;
  }

  ExpressionPtr parse_filter(ExpressionPtr subject) {
    const int line = current().line;
    const std::string name = dotted_name();
    auto e = node(Op::filter, line, std::move(subject));
    e->name = name;
    e->filter = find_filter(name);
    if (omitted_filter(name)) {
      throw TemplateError(Fault::unsupported, fmt::format("the filter '{}' of Jinja is not supported", name),
                          line);
    }
    if (is_sign("(")) parse_arguments(*e);
    return e;
  }

  /// Whether the current token begins the argument of a test that has no parentheses.
  bool begins_operand() const {
    if (is(TokenKind::name)) return !is_word("else") && !is_word("or") && !is_word("and");
    return is(TokenKind::text) || is(TokenKind::integer) || is(TokenKind::real) || is_sign("[") ||
           is_sign("{");
  }

  ExpressionPtr parse_test(ExpressionPtr subject) {
    const int line = next().line;
    const bool negated = skip_word("not");
    auto e = named(Op::test, line, dotted_name(), std::move(subject));
    e->test = find_test(e->name);
    if (is_sign("(")) {
      parse_arguments(*e);
    } else if (begins_operand()) {
      if (is_word("is")) fail_at(current().line, "tests cannot be chained with 'is'");
      e->parts.push_back(parse_postfix(parse_primary(false)));
      e->positional = 1;
      e->height = std::max(e->height, e->parts.back()->height + 1);
      if (e->height > kMaxHeight) fail_at(line, "an expression is deeper than {} levels", kMaxHeight);
    }
    return negated ? node(Op::logical_not, line, std::move(e)) : std::move(e);
  }

  // ---- Targets of assignments
  void check_target(const Expression& e) {
    if (e.op == Op::tuple) {
      for (const auto& part : e.parts) check_target(*part);
    } else if (e.op != Op::name && e.op != Op::namespace_attribute) {
      fail_at(e.line, "expected a name to assign to");
    }
  }

  ExpressionPtr parse_target(bool namespaces, Words ends = {}) {
    Level level(*this);
    auto e = parse_elements(false, ends, [&] { return parse_primary(namespaces); });
    check_target(*e);
    return e;
  }

  void forbid_loop(const Expression& target) {
    for (const auto& part : target.parts) forbid_loop(*part);
    if (target.op == Op::name && target.name == "loop" && loops_ > 0) {
      fail_at(target.line, "the variable 'loop' cannot be set in a loop");
    }
  }

  ExpressionPtr parse_name_target() {
    const int line = current().line;
    auto e = named(Op::name, line, expect_name());
    static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::ranges::find(kConstants, e->name) != std::end(kConstants))
      fail_at(line, "'{}' cannot be set", e->name);
    check_target(*e);
    return e;
  }

  // ---- Statements
  bool at_end_word(Words ends) const {
    return std::ranges::any_of(ends, [&](std::string_view word) { return is_word(word); });
  }

  static Statement statement(StatementKind kind, int line) { return Statement(kind, line); }

  /// Parses statements up to a tag whose name is one of `ends`; that name is then the current token.
  Body parse_body(Words ends, std::string_view of) {
    Level level(*this);
    Body body;
    while (!is(TokenKind::end)) {
      if (is(TokenKind::block_begin)) {
        next();
        if (at_end_word(ends)) return body;
        body.push_back(parse_statement(of, ends));
        expect(TokenKind::block_end);
      } else {
        parse_output(body);
      }
    }
    if (ends.size() > 0)
      fail_at(current().line, "{} has no end: expected '{}'", of, fmt::join(ends, "' or '"));
    return body;
  }

  void parse_output(Body& body) {
    const int line = current().line;
    if (body.empty() || body.back().kind != StatementKind::output)
      body.push_back(statement(StatementKind::output, line));
    auto& out = body.back().expressions;
    if (is(TokenKind::data)) {
      out.push_back(constant(line, make_text(budget_, next().text)));
      return;
    }
    expect(TokenKind::print_begin);
    out.push_back(parse_tuple());
    expect(TokenKind::print_end);
  }

  /// Parses the rest of the opening tag and the statements up to an end tag.
  Body parse_block(Words ends, std::string_view of) {
    skip_sign(":");
    expect(TokenKind::block_end);
    return parse_body(ends, of);
  }

  Statement parse_statement(std::string_view of, Words ends) {
    if (!is(TokenKind::name)) fail_expected("the name of a tag");
    const Token tag = next();
    const std::string& name = tag.text;
    const int line = tag.line;
    if (name == "if") return parse_if(line);
    if (name == "for") return parse_for(line);
    if (name == "set") return parse_set(line);
    if (name == "macro") return parse_macro(line);
    if (name == "call") return parse_call_block(line);
    if (name == "filter") return parse_filter_block(line);
    if (name == "with") return parse_with(line);
    if (name == "generation") return parse_generation(line);
    if (name == "print") return parse_print(line);
    if (name == "autoescape") return parse_autoescape(line);
    if (name == "break" || name == "continue") return parse_break(name, line);
    static constexpr std::string_view kOmitted[] = {"block", "extends", "include", "import", "from"};
    if (std::ranges::find(kOmitted, name) != std::end(kOmitted)) {
      throw TemplateError(Fault::unsupported,
                          fmt::format("the tag '{}' needs other templates: it is not supported", name), line);
    }
    if (ends.size() == 0) fail_at(line, "unknown tag '{}'", name);
    fail_at(line, "unknown tag '{}' in {}: expected '{}'", name, of, fmt::join(ends, "' or '"));
  }

  Statement parse_if(int line) {
    Statement s = statement(StatementKind::condition, line);
    while (true) {
      s.expressions.push_back(parse_tuple(false, false));
      s.bodies.push_back(parse_block({"elif", "else", "endif"}, "the tag 'if'"));
      if (skip_word("elif")) continue;
      if (skip_word("else")) {
        s.bodies.push_back(parse_block({"endif"}, "the tag 'if'"));
      }
      expect_word("endif");
      break;
    }
    return s;
  }

  Statement parse_for(int line) {
    Statement s = statement(StatementKind::loop, line);
    ++loops_;
    const size_t begin = at_;
    s.targets.push_back(parse_target(false, {"in"}));
    forbid_loop(*s.targets[0]);
    const size_t end = at_;
    expect_word("in");
    s.expressions.push_back(parse_tuple(false, false, {"recursive"}));
    if (skip_word("if")) {
      s.expressions.push_back(parse_expression());
      const size_t back = std::exchange(at_, begin);
      s.test_target = parse_target(false, {"in"});
      if (at_ != end) fail_expected("'in'");
      at_ = back;
    }
    s.recursive = skip_word("recursive");
    ++breakable_;
    s.body = parse_block({"endfor", "else"}, "the tag 'for'");
    --breakable_;
    s.has_else = skip_word("else");
    if (s.has_else) s.other = parse_block({"endfor"}, "the tag 'for'");
    expect_word("endfor");
    --loops_;
    return s;
  }

  Statement parse_set(int line) {
    auto target = parse_target(true);
    if (target->op != Op::namespace_attribute) forbid_loop(*target);
    Statement s = statement(StatementKind::set, line);
    s.targets.push_back(std::move(target));
    if (skip_sign("=")) {
      s.expressions.push_back(parse_tuple());
      return s;
    }
    s.kind = StatementKind::set_block;
    ExpressionPtr filter;
    while (skip_sign("|")) filter = parse_filter(std::move(filter));
    if (filter) s.expressions.push_back(std::move(filter));
    s.body = parse_block({"endset"}, "the tag 'set'");
    expect_word("endset");
    return s;
  }

  void parse_parameters(MacroBody& macro) {
    expect_sign("(");
    while (!is_sign(")")) {
      if (!macro.parameters.empty()) expect_sign(",");
      macro.parameters.push_back(parse_name_target());
      const std::string& name = macro.parameters.back()->name;
      for (size_t i = 0; i + 1 < macro.parameters.size(); ++i) {
        if (macro.parameters[i]->name == name) fail_at(current().line, "parameter '{}' is repeated", name);
      }
      if (skip_sign("=")) {
        macro.defaults.push_back(parse_expression());
      } else if (!macro.defaults.empty()) {
        fail_at(current().line, "a parameter without default follows one with a default");
      }
    }
    expect_sign(")");
  }

  /// Parses the body of a function, in which an enclosing loop cannot be left.
  void parse_function_body(MacroBody& macro, std::string_view end, std::string_view of) {
    const int outer = std::exchange(breakable_, 0);
    macro.body = std::make_unique<Body>(parse_block({end}, of));
    breakable_ = outer;
    expect_word(end);
  }

  Statement parse_macro(int line) {
    Statement s = statement(StatementKind::macro, line);
    s.function = std::make_shared<MacroBody>();
    s.targets.push_back(parse_name_target());
    s.function->name = s.targets[0]->name;
    parse_parameters(*s.function);
    parse_function_body(*s.function, "endmacro", "the tag 'macro'");
    return s;
  }

  Statement parse_call_block(int line) {
    Statement s = statement(StatementKind::call, line);
    s.function = std::make_shared<MacroBody>();
    if (is_sign("(")) parse_parameters(*s.function);
    s.expressions.push_back(parse_expression());
    if (s.expressions[0]->op != Op::call) fail_at(line, "expected a call in the tag 'call'");
    parse_function_body(*s.function, "endcall", "the tag 'call'");
    return s;
  }

  Statement parse_generation(int line) {
    Statement s = statement(StatementKind::generation, line);
    s.function = std::make_shared<MacroBody>();
    parse_function_body(*s.function, "endgeneration", "the tag 'generation'");
    return s;
  }

  Statement parse_filter_block(int line) {
    Statement s = statement(StatementKind::filter, line);
    auto filter = parse_filter(nullptr);
    while (skip_sign("|")) filter = parse_filter(std::move(filter));
    s.expressions.push_back(std::move(filter));
    s.body = parse_block({"endfilter"}, "the tag 'filter'");
    expect_word("endfilter");
    return s;
  }

  Statement parse_with(int line) {
    Statement s = statement(StatementKind::with, line);
    while (!is(TokenKind::block_end)) {
      if (!s.targets.empty()) expect_sign(",");
      s.targets.push_back(parse_target(false));
      expect_sign("=");
      s.expressions.push_back(parse_expression());
    }
    s.body = parse_block({"endwith"}, "the tag 'with'");
    expect_word("endwith");
    return s;
  }

  Statement parse_print(int line) {
    Statement s = statement(StatementKind::output, line);
    while (!is(TokenKind::block_end)) {
      if (!s.expressions.empty()) expect_sign(",");
      s.expressions.push_back(parse_expression());
    }
    return s;
  }

  Statement parse_autoescape(int line) {
    Statement s = statement(StatementKind::scope, line);
    if (!skip_word("false") && !skip_word("False")) {
      throw TemplateError(Fault::unsupported, "only {% autoescape false %} is supported", line);
    }
    s.body = parse_block({"endautoescape"}, "the tag 'autoescape'");
    expect_word("endautoescape");
    return s;
  }

  Statement parse_break(const std::string& name, int line) {
    if (breakable_ == 0) fail_at(line, "the tag '{}' is outside a loop", name);
    return statement(name == "break" ? StatementKind::break_loop : StatementKind::continue_loop, line);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;      // enclosing loops, whose variable `loop` cannot be set
  int breakable_ = 0;  // enclosing loops in the same function
  Budget budget_;
};

void require_text(std::string_view source) {
  if (source.size() > kMaxSource) fault(Fault::limit, "the template has more than {} bytes", kMaxSource);
  if (!is_utf8(source)) fault(Fault::syntax, "the template is not UTF-8");
}

}  // namespace

std::unique_ptr<Tree> parse_template(std::string_view source) {
  require_text(source);
  auto tree = std::make_unique<Tree>();
  tree->body = Parser(source).run();
  resolve_names(*tree);
  return tree;
}

}  // namespace smelt::templates
