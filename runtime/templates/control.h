// Objects that statements of a template create: macros ({% macro %}, {% call %}) and the variable `loop` of
// {% for %}.
#pragma once

#include "runtime/templates/interpreter.h"

namespace smelt::templates {

/// A macro, or the function `caller` of a {% call %} block, together with the scope in which it was defined.
struct Macro : Object {
  const MacroBody* body;
  ScopePtr scope;
  Macro(const MacroBody* code, ScopePtr closure) : body(code), scope(std::move(closure)) {}
  std::string_view type() const override { return "Macro"; }
  bool attribute(Interpreter& interpreter, std::string_view name, Value& out) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments& arguments) override;
  void represent(TextBuilder& out) const override;
  void clear() override { scope.reset(); }

 private:
  /// Sets one variable in the macro's scope `inner` for each parameter that has an argument.
  void set_parameters(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const;
  /// Sets the variables `caller`, `kwargs` and `varargs` in `inner` if the macro uses them. Throws
  /// TemplateError if there are arguments without a parameter.
  void set_specials(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const;
};

/// The elements of a {% for %} loop that pass its filter ({% for x in items if condition %}). The filter is
/// evaluated for one element at a time, because the body of the loop may change values that the filter reads.
class LoopItems {
 public:
  LoopItems(Interpreter& interpreter, const Statement& statement, ScopePtr test_scope,
            std::vector<Value> items)
      : interpreter_(&interpreter),
        statement_(&statement),
        scope_(std::move(test_scope)),
        items_(std::move(items)) {}
  /// Stores the next element that passes the filter in `out`. Returns whether there is one.
  bool next(Value& out);
  bool filtered() const { return scope_ != nullptr; }
  /// Returns the number of elements before filtering.
  size_t size() const { return items_.size(); }

 private:
  Interpreter* interpreter_;
  const Statement* statement_;
  ScopePtr scope_;  // the scope in which the filter is evaluated; null: no filter
  std::vector<Value> items_;
  size_t at_ = 0;
};

/// The variable `loop` of one run of a {% for %} statement. It also reads the elements for the run.
struct Loop : Object {
  LoopItems items;
  const Statement* statement;
  ScopePtr outer;               // the scope that contains the loop
  int depth0;                   // depth of the recursion (loop(...)), from 0 on
  int64_t index0 = -1;          // index of the current element, from 0 on; -1: before the first advance()
  Value current, before;        // the current element and the one before it
  std::vector<Value> ahead;     // elements that were read in advance, the next one last
  bool exhausted = false;       // all elements have been read
  int64_t length = -1;          // result of count(); -1: not computed yet
  std::vector<Value> changing;  // arguments of the last call of loop.changed() that returned true
  bool has_changed = false;     // loop.changed() has been called

  Loop(LoopItems source, const Statement* code, ScopePtr scope, int level)
      : items(std::move(source)), statement(code), outer(std::move(scope)), depth0(level) {}
  std::string_view type() const override { return "LoopContext"; }
  bool attribute(Interpreter& interpreter, std::string_view name, Value& out) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments& arguments) override;
  void represent(TextBuilder& out) const override;
  void clear() override;

  /// Moves to the next element, and returns whether there is one.
  bool advance();
  /// Reads one element in advance, and returns whether there is one.
  bool peek();
  /// Returns the number of elements that pass the filter.
  int64_t count();
};

}  // namespace smelt::templates
