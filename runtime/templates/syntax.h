// Syntax trees of templates. Each variable is resolved at parse time to a slot of a scope: an index into the
// scope's list of variables (Scope::slots).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/templates/value.h"

namespace smelt::templates {

/// Reference to a variable: slot `slot` of the enclosing scope at `level`. The template's scope has level 0,
/// and an inner scope has the level of its parent plus 1. Level -1: no variable.
struct Ref {
  int level = -1;
  uint32_t slot = 0;
};

/// The initial value of one slot when a scope is entered. `nothing`: no value. `parameter`: a value that the
/// statement sets, such as an argument of a macro or the element of a loop. `variables`: a variable of the
/// rendering, or a global. `outer`: the value of a variable of an enclosing scope.
struct Load {
  enum class From { nothing, parameter, variables, outer };
  uint32_t slot = 0;
  From from = From::nothing;
  std::string name;  // of the variable
  Ref outer;         // for From::outer: the variable of the enclosing scope
};

/// Layout of a scope: its level, its number of slots, and their initial values.
struct Frame {
  int level = 0;
  uint32_t slots = 0;
  std::vector<Load> loads;
};

struct Filter;  // this and Test are rows of the tables of filters and tests: registry.h
struct Test;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

/// Operation of an expression.
enum class Op {
  constant,
  name,
  namespace_attribute,  // namespace.attribute as the target of {% set %}
  tuple,
  list,
  dict,
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  logical_and,
  logical_or,
  logical_not,
  negative,
  positive,
  concatenate,  // the operator ~
  compare,
  attribute,
  item,
  slice,
  filter,
  test,
  condition,  // a if b else c
  call
};

/// A node of the syntax tree of an expression: an operation and its operands.
struct Expression {
  Expression(Op operation, int place) : op(operation), line(place) {}
  Op op;
  int line;
  int height = 1;    // of the tree below this node, for the limit of depth
  Value constant;    // for Op::constant
  std::string name;  // of the variable, attribute, filter or test
  Ref ref;           // for Op::name: the variable
  /// Operands. For compare, the operands of the chain of comparisons, one more than `signs`. For dict, keys
  /// and values in turn. For slice, start, stop and step, any of which may be null. For condition (a if b
  /// else c), the operands a, b and c (null: no else). For filter, test and call, the first operand is the
  /// value to which the filter or test is applied (null: the text of a {% filter %} block), or the function
  /// that is called. The arguments follow: `positional` positional arguments, one argument for each name in
  /// `keywords`, and the arguments after * and ** if there are any.
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> signs;     // for compare: "<", "==", "in", ...
  std::vector<std::string> keywords;  // names of keyword arguments
  size_t positional = 0;
  bool star = false, double_star = false;  // there is an argument *x, **x
  const Filter* filter = nullptr;          // for Op::filter; set by resolve_names
  const Test* test = nullptr;              // for Op::test; set by resolve_names
};

struct Statement;
using Body = std::vector<Statement>;

/// The code of a macro, or of the block of {% call %} or {% generation %}, which Jinja also treats as
/// functions.
struct MacroBody {
  std::string name;
  std::vector<ExpressionPtr> parameters;  // Op::name expressions
  std::vector<ExpressionPtr> defaults;    // default values of the last defaults.size() parameters
  std::unique_ptr<Body> body;
  Frame frame;
  /// The body uses the variables `caller`, `kwargs`, `varargs`, which are stored in the Refs below.
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  Ref caller, kwargs, varargs;
};

/// Kind of a statement; most have the name of their tag.
enum class StatementKind {
  output,     // text, or {{ ... }}
  condition,  // {% if %}
  loop,       // {% for %}
  set,        // {% set x = value %}
  set_block,  // {% set x %}...{% endset %}
  macro,
  call,
  filter,
  with,
  scope,  // {% autoescape false %}
  generation,
  break_loop,
  continue_loop
};

/// A node of the syntax tree of a template: a tag with the statements inside it, or text.
struct Statement {
  Statement(StatementKind which, int place) : kind(which), line(place) {}
  StatementKind kind;
  int line;
  /// By kind. output: the values to print. condition: the condition of each branch. loop: the iterable, and
  /// then the filter ({% for x in y if filter %}) if there is one. set: the value. with: one value per
  /// target. call: the call. filter: the filters, as one expression. set_block: the filters, as one
  /// expression; empty if there are none.
  std::vector<ExpressionPtr> expressions;
  /// set, set_block, loop and with: the variables that are assigned. macro: its name.
  std::vector<ExpressionPtr> targets;
  std::vector<Body> bodies;  // for a condition: one per branch, and then that of else if there is one
  Body body, other;          // `other`: the else part of a loop
  Frame frame, other_frame, test_frame;  // scopes of `body`, of `other` and of a loop's filter
  ExpressionPtr test_target;             // for a loop with a filter: targets[0] in the scope of the filter
  /// For a loop: it has an else part, it has the keyword `recursive`, it must set the variable `loop`.
  bool has_else = false, recursive = false, has_loop = false;
  Ref loop;                             // the variable `loop`, if has_loop
  std::shared_ptr<MacroBody> function;  // for macro, call and generation
};

/// The syntax tree of a whole template.
struct Tree {
  Body body;
  Frame frame;
  bool uses_self = false;
  Ref self;  // the variable `self`, if uses_self; it has no attributes, because Smelt has no {% block %}
};

/// Parses a template and resolves its names. Throws TemplateError with the line.
std::unique_ptr<Tree> parse_template(std::string_view source);

/// Resolves the names of variables, filters and tests in a tree that was parsed, by Jinja's rules of scopes
/// (scopes.cpp).
void resolve_names(Tree& tree);

}  // namespace smelt::templates
