// Evaluation of syntax trees.
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

/// The variables of a scope; those without value are not set yet.
struct Scope {
  int level;
  std::vector<std::optional<Value>> slots;
  std::shared_ptr<Scope> parent;
};
using ScopePtr = std::shared_ptr<Scope>;

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

  /// Makes an object that may change, and keeps it until the rendering ends.
  template <typename T, typename... Args>
  Value keep(Args&&... args) {
    budget_.spend(4);
    kept_.push_back(std::make_shared<T>(std::forward<Args>(args)...));
    return Value(kept_.back());
  }

  /// value.name and value[key], by the rules of Jinja's sandbox: the result may be undefined.
  Value attribute(const Value& value, std::string_view name);
  Value item(const Value& value, const Value& key);
  Value call(const Value& callee, Arguments& arguments);
  /// Applies a filter or test by name. Throws TemplateError if it does not exist.
  Value filter(const Value& name, const Value& subject, Arguments& arguments);
  bool test(const Value& name, const Value& subject, Arguments& arguments);

 private:
  friend struct Macro;
  friend struct Loop;
  friend class LoopItems;
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

  ScopePtr enter(const Frame& frame, const ScopePtr& parent);
  void load(const Frame& frame, Scope& scope);
  std::optional<Value> variable(const std::string& name);
  std::optional<Value>& slot(const Ref& ref, const ScopePtr& scope);

  const Tree& tree_;
  Budget& budget_;
  Value variables_;
  const Clock& clock_;
  std::vector<std::shared_ptr<Object>> kept_;
  std::map<std::string, Value> globals_;
  const Value* block_text_ = nullptr;  // of the filter block whose filter is evaluated
  TextBuilder* root_ = nullptr;
  Rendered rendered_;
  int line_ = 1;
};

}  // namespace smelt::templates
