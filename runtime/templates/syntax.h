// Syntax trees of templates, with names resolved to slots of scopes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/templates/value.h"

namespace smelt::templates {

/// A variable: the scope at `level` (0 is the template, an inner scope has the next level), and its slot.
struct Ref {
  int level = -1;
  uint32_t slot = 0;
};

/// The initial value of a slot when a scope is entered.
struct Load {
  enum class From { nothing, parameter, variables, outer };
  uint32_t slot = 0;
  From from = From::nothing;
  std::string name;  // among the variables of the rendering and the globals
  Ref outer;         // the variable of an enclosing scope
};

/// Layout of a scope.
struct Frame {
  int level = 0;
  uint32_t slots = 0;
  std::vector<Load> loads;
};

struct Filter;  // rows of the tables of filters and tests: registry.h
struct Test;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class Op {
  constant,
  name,
  namespace_attribute,
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
  concatenate,
  compare,
  attribute,
  item,
  slice,
  filter,
  test,
  condition,
  call
};

struct Expression {
  Expression(Op operation, int place) : op(operation), line(place) {}
  Op op;
  int line;
  int height = 1;
  Value constant;
  std::string name;  // variable, attribute, filter, test
  Ref ref;
  /// Operands. For compare, the operands of `signs`. For dict, keys and values in turn. For slice, start,
  /// stop and step, any of which may be null. For condition, the value, the condition and the other value or
  /// null. For filter, test and call, the subject (null: the text of a filter block) and then the arguments:
  /// `positional` ones, one for each of `keywords`, and then those of * and **.
  std::vector<ExpressionPtr> parts;
  std::vector<std::string> signs;
  std::vector<std::string> keywords;
  size_t positional = 0;
  bool star = false, double_star = false;
  const Filter* filter = nullptr;
  const Test* test = nullptr;
};

struct Statement;
using Body = std::vector<Statement>;

/// A macro, the body of a call block or of a generation block.
struct MacroBody {
  std::string name;
  std::vector<ExpressionPtr> parameters;  // names
  std::vector<ExpressionPtr> defaults;    // of the last parameters
  std::unique_ptr<Body> body;
  Frame frame;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  Ref caller, kwargs, varargs;
};

enum class StatementKind {
  output,
  condition,
  loop,
  set,
  set_block,
  macro,
  call,
  filter,
  with,
  scope,
  generation,
  break_loop,
  continue_loop
};

struct Statement {
  Statement(StatementKind which, int place) : kind(which), line(place) {}
  StatementKind kind;
  int line;
  /// output: what is printed. condition: the conditions of the branches. loop: what is iterated, and then the
  /// filter, if any. set: the value. with: the values. call, filter and set_block: the call or filter, if
  /// any.
  std::vector<ExpressionPtr> expressions;
  std::vector<ExpressionPtr> targets;  // of set, set_block, loop, with, and the name of a macro
  std::vector<Body> bodies;            // condition: of the branches, and of else
  Body body, other;                    // other: the else part of a loop
  Frame frame, other_frame, test_frame;
  ExpressionPtr test_target;  // of a loop with a filter: the target in the scope of the filter
  bool has_else = false, recursive = false, has_loop = false;
  Ref loop;  // the variable `loop`
  std::shared_ptr<MacroBody> function;
};

struct Tree {
  Body body;
  Frame frame;
  bool uses_self = false;
  Ref self;  // the variable `self`: the blocks of the template, of which chat templates have none
};

/// Parses a template and resolves its names. Throws TemplateError with the line.
std::unique_ptr<Tree> parse_template(std::string_view source);

/// Resolves the names of a tree that was parsed, by Jinja's rules of scopes (scopes.cpp).
void resolve_names(Tree& tree);

}  // namespace smelt::templates
