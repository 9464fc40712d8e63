// The parser of kernels: parameters, axes and places in memory.
#include <algorithm>
#include <charconv>

#include "ir/text/kernel_parser.h"

namespace smelt {
namespace {

/// Stand-ins of axes and of computed indices inside a size: no symbol begins so.
constexpr char kAxisMark = '\1', kValueMark = '\2';

int marked_number(const std::string& name) { return std::stoi(name.substr(1)); }
bool is_marked(const std::string& name) { return name[0] == kAxisMark || name[0] == kValueMark; }

/// The term without one of its atoms.
Dim without(const Dim::Term& term, const Atom* left_out) {
  Dim result = term.coefficient;
  for (const Atom& atom : term.atoms)
    if (&atom != left_out)
      result *= atom.inner ? ceil_div(*atom.inner, atom.divisor) : Dim::symbol(atom.name);
  return result;
}

bool mentions_marks(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return std::any_of(names.begin(), names.end(), is_marked);
}

}  // namespace

Access KernelParser::place() {
  const int param = param_reference();
  const Token at = lexer.expect("[");
  Access access = index_sum(at);
  access.param = param;
  lexer.expect("]");
  return access;
}

/// A sum of axes and at most one computed index, each times a size, and an offset.
Access KernelParser::index_sum(const Token& at) {
  stand_in = [this](const Token& token) { return index_atom(token); };
  const Dim sum = dim();
  stand_in = nullptr;
  Access access;
  access.strides.assign(kernel_.axes.size(), Dim(0));
  for (const Dim::Term& term : sum.terms()) add_term(at, term, access);
  return access;
}

void KernelParser::add_term(const Token& at, const Dim::Term& term, Access& access) {
  const auto marked = std::find_if(term.atoms.begin(), term.atoms.end(),
                                   [](const Atom& atom) { return !atom.inner && is_marked(atom.name); });
  const Atom* atom = marked == term.atoms.end() ? nullptr : &*marked;
  const Dim stride = dim(at, [&] { return without(term, atom); });
  if (mentions_marks(stride))
    lexer.fail_at(at.offset, "expected a sum of axes times sizes that name no axis");
  if (!atom) {
    access.offset += stride;
  } else if (atom->name[0] == kAxisMark) {
    access.strides[static_cast<size_t>(marked_number(atom->name))] += stride;
  } else {
    const int number = marked_number(atom->name);
    if (access.computed >= 0 && access.computed != number)
      lexer.fail_at(at.offset, "an index has at most one computed part");
    access.computed = number;
    access.computed_stride += stride;
  }
}

std::optional<Dim> KernelParser::index_atom(const Token& token) {
  if (token.kind == Token::Kind::value) {
    const int number = number_of(token);
    if (!defined_.count(number)) lexer.fail_at(token.offset, fmt::format("%{} is not defined above", number));
    return Dim::symbol(kValueMark + std::to_string(number));
  }
  const auto axis = find_axis(token);
  if (!axis) return std::nullopt;
  if (token.is("$")) lexer.next();  // the caller steps over one token
  return Dim::symbol(kAxisMark + std::to_string(*axis));
}

/// A name (that was not declared in quotes), or $number.
std::optional<int> KernelParser::find_axis(const Token& token) const {
  const int count = static_cast<int>(kernel_.axes.size());
  if (token.is("$")) {
    const std::string_view digits = lexer.peek(1).text;
    int number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 0 || number >= count)
      lexer.fail_at(token.offset, fmt::format("expected '$' and the number of one of {} axes", count));
    return number;
  }
  if (token.kind != Token::Kind::identifier) return std::nullopt;
  for (int i = 0; i < count; ++i)
    if (named_axes_[i] && kernel_.axes[i].name == token.text) return i;
  return std::nullopt;
}

int KernelParser::axis_reference() {
  const Token token = lexer.peek();
  const auto axis = find_axis(token);
  if (!axis) lexer.expected("one of the kernel's axes");
  lexer.next();
  if (token.is("$")) lexer.next();
  return *axis;
}

int KernelParser::param_reference() {
  const Token token = lexer.expect(Token::Kind::value, "a parameter (%name)");
  for (int i = 0; i < static_cast<int>(kernel_.params.size()); ++i)
    if (kernel_.params[i].name == token.text || token.text == "_" + std::to_string(i)) return i;
  lexer.fail_at(token.offset, fmt::format("the kernel has no parameter %{}", token.text));
}

}  // namespace smelt
