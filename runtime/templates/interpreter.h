// Interpreter of templates: evaluates their syntax trees (syntax.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/templates/chat_template.h"
#include "runtime/templates/objects.h"
#include "runtime/templates/registry.h"
#include "runtime/templates/syntax.h"

namespace smelt::templates {

/// The variables of a scope at run time. The parser has computed a Frame (syntax.h) for each scope, which
/// gives it a level and the number of its slots. A slot has one variable, and is empty until the variable is
/// set.
struct Scope {
  int level;
  std::vector<std::optional<Value>> slots;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

/// One rendering of a template.
class Interpreter {
 public:
  /// Requires: the tree and the clock live as long as the interpreter; `variables` is a dict.
  Interpreter(const Tree& tree, Budget& budget, Value variables, const Clock& clock);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Renders the template. Throws TemplateError with the line.
  Rendered run();

  Budget& budget() { return budget_; }
  const Clock& clock() const { return clock_; }

  /// Creates a mutable object of type T, and keeps it until the rendering ends. At the end, Object::clear is
  /// called for all such objects, to break cycles of references between them.
  template <typename T, typename... Args>
  Value keep(Args&&... args) {
    budget_.spend(4);
    kept_.push_back(std::make_shared<T>(std::forward<Args>(args)...));
    return Value(kept_.back());
  }

  /// Return value.name and value[key], by the rules of Jinja's sandbox; an undefined value if there is no
  /// such attribute or item.
  Value attribute(const Value& value, std::string_view name);
  Value item(const Value& value, const Value& key);
  /// Calls a function, macro or other callable object. Throws TemplateError if `callee` is not callable.
  Value call(const Value& callee, Arguments& arguments);
  /// Apply the filter or test named `name` to `subject`. Throw TemplateError if it does not exist.
  Value filter(const Value& name, const Value& subject, Arguments& arguments);
  bool test(const Value& name, const Value& subject, Arguments& arguments);

 private:
  friend struct Macro;
  friend struct Loop;
  friend class LoopItems;
  /// Effect of a statement on the statements after it: none, or that of {% break %} or {% continue %}.
  enum class Signal { none, break_loop, continue_loop };

  // ---- Expressions (expressions.cpp)
  Value evaluate(const Expression& e, const ScopePtr& scope);
  Value evaluate_name(const Expression& e, const ScopePtr& scope);
  Value evaluate_dict(const Expression& e, const ScopePtr& scope);
  Value evaluate_logic(const Expression& e, const ScopePtr& scope);
  Value evaluate_compare(const Expression& e, const ScopePtr& scope);
  Value evaluate_concatenation(const Expression& e, const ScopePtr& scope);
  Value evaluate_item(const Expression& e, const ScopePtr& scope);
  Value evaluate_condition(const Expression& e, const ScopePtr& scope);
  Value evaluate_call(const Expression& e, const ScopePtr& scope, const Value* caller = nullptr);
  Value evaluate_filter(const Expression& e, const ScopePtr& scope);
  Value evaluate_test(const Expression& e, const ScopePtr& scope);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& parts, const ScopePtr& scope);
  Arguments evaluate_arguments(const Expression& e, const ScopePtr& scope);

  // ---- Statements (statements.cpp)
  Signal execute(const Body& body, const ScopePtr& scope, TextBuilder& out);
  Signal execute(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  Signal execute_condition(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  Signal execute_loop(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  Signal run_loop(const Statement& s, const ScopePtr& outer, const Value& items, int depth, TextBuilder& out);
  Signal execute_set_block(const Statement& s, const ScopePtr& scope);
  Signal execute_filter(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  Signal execute_with(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  void execute_set(const Statement& s, const ScopePtr& scope);
  void execute_generation(const Statement& s, const ScopePtr& scope, TextBuilder& out);
  void check_namespaces(const Expression& target, const ScopePtr& scope);
  void assign(const Expression& target, const Value& value, const ScopePtr& scope);
  Value make_macro(const Statement& s, const ScopePtr& scope);
  Value filtered(const Expression& filter, const std::string& text, const ScopePtr& scope);

  /// Creates a scope, and sets its slots to their initial values by load().
  ScopePtr enter(const Frame& frame, const ScopePtr& parent);
  /// Sets the slots of the scope to their initial values (Frame::loads).
  void load(const Frame& frame, Scope& scope);
  /// Returns the variable of the rendering, or else the global, of this name; nothing if there is none.
  std::optional<Value> variable(const std::string& name);
  /// Returns the slot to which `ref` refers, in `scope` or in a scope that encloses it.
  std::optional<Value>& slot(const Ref& ref, const ScopePtr& scope);

  const Tree& tree_;
  Budget& budget_;
  Value variables_;
  const Clock& clock_;
  std::vector<std::shared_ptr<Object>> kept_;  // results of keep()
  std::map<std::string, Value> globals_;       // globals that were looked up (find_global)
  const Value* block_text_ = nullptr;          // text of the {% filter %} block whose filter runs; else null
  TextBuilder* root_ = nullptr;                // the output of the template, outside of macros and blocks
  Rendered rendered_;                          // result of run()
  int line_ = 1;                               // line of the current statement, for messages
};

}  // namespace smelt::templates
