// Objects that belong to statements: macros and the variable `loop`.
#pragma once

#include "runtime/templates/interpreter.h"

namespace smelt::templates {

/// A macro, or the function `caller` of a call block, with the scope where it was defined.
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
  void set_parameters(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const;
  void set_specials(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const;
};

/// The elements of a loop, which come one by one because the filter of the loop may depend on its body.
class LoopItems {
 public:
  LoopItems(Interpreter& interpreter, const Statement& statement, ScopePtr test_scope,
            std::vector<Value> items)
      : interpreter_(&interpreter),
        statement_(&statement),
        scope_(std::move(test_scope)),
        items_(std::move(items)) {}
  bool next(Value& out);
  bool filtered() const { return scope_ != nullptr; }
  size_t size() const { return items_.size(); }

 private:
  Interpreter* interpreter_;
  const Statement* statement_;
  ScopePtr scope_;  // of the filter, if any
  std::vector<Value> items_;
  size_t at_ = 0;
};

/// The variable `loop`.
struct Loop : Object {
  LoopItems items;
  const Statement* statement;
  ScopePtr outer;
  int depth0;
  int64_t index0 = -1;
  Value current, before;
  std::vector<Value> ahead;  // elements that were read in advance, the next one last
  bool exhausted = false;
  int64_t length = -1;
  std::vector<Value> changing;  // arguments of the last call of changed
  bool has_changed = false;

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
  bool peek();
  int64_t count();
};

}  // namespace smelt::templates
