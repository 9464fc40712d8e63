// Execution of statements.
#include "runtime/templates/control.h"
#include "runtime/templates/interpreter.h"

namespace smelt::templates {
namespace {

/// The variable `self`, which has no attributes without blocks.
struct Blocks : Object {
  std::string_view type() const override { return "TemplateReference"; }
  void represent(TextBuilder& out) const override { out.append("<TemplateReference None>"); }
};

/// Appends the result of a call block or filter block, which Jinja does not convert into text.
void append_block(TextBuilder& out, const Value& value) {
  if (!value.text()) refuse("the result of a call block or filter block is a text, not '{}'", value.type());
  out.append(value.text()->bytes);
}

}  // namespace

Interpreter::Interpreter(const Tree& tree, Budget& budget, Value variables, const Clock& clock)
    : tree_(tree), budget_(budget), variables_(std::move(variables)), clock_(clock) {}

Interpreter::~Interpreter() {
  for (const auto& object : kept_) object->clear();
}

Rendered Interpreter::run() {
  TextBuilder out(budget_);
  root_ = &out;
  try {
    const ScopePtr scope = enter(tree_.frame, nullptr);
    if (tree_.uses_self) slot(tree_.self, scope) = make_object<Blocks>(budget_);
    execute(tree_.body, scope, out);
  } catch (const TemplateError& error) {
    throw TemplateError(error.fault(), error.what(), error.line() ? error.line() : line_);
  }
  rendered_.text = out.take();
  return std::move(rendered_);
}

// ---- Scopes

std::optional<Value> Interpreter::variable(const std::string& name) {
  if (const Value* value = variables_.dict()->find(name)) return *value;
  const auto known = globals_.find(name);
  if (known != globals_.end()) return known->second;
  Value value;
  if (!find_global(budget_, name, value)) return std::nullopt;
  globals_.emplace(name, value);
  return value;
}

std::optional<Value>& Interpreter::slot(const Ref& ref, const ScopePtr& scope) {
  Scope* at = scope.get();
  while (at->level != ref.level) at = at->parent.get();
  return at->slots[ref.slot];
}

void Interpreter::load(const Frame& frame, Scope& scope) {
  budget_.spend(frame.loads.size());
  for (const Load& load : frame.loads) {
    auto& place = scope.slots[load.slot];
    if (load.from == Load::From::nothing) place.reset();
    if (load.from == Load::From::variables) place = variable(load.name);
    if (load.from == Load::From::outer) place = slot(load.outer, scope.parent);
  }
}

ScopePtr Interpreter::enter(const Frame& frame, const ScopePtr& parent) {
  budget_.spend(1 + frame.slots);
  auto scope =
      std::make_shared<Scope>(Scope{frame.level, std::vector<std::optional<Value>>(frame.slots), parent});
  load(frame, *scope);
  return scope;
}

// ---- Statements

Interpreter::Signal Interpreter::execute(const Body& body, const ScopePtr& scope, TextBuilder& out) {
  Nesting nesting(budget_);
  for (const Statement& s : body) {
    if (const Signal signal = execute(s, scope, out); signal != Signal::none) return signal;
  }
  return Signal::none;
}

Interpreter::Signal Interpreter::execute(const Statement& s, const ScopePtr& scope, TextBuilder& out) {
  budget_.spend(1);
  line_ = s.line;
  switch (s.kind) {
    case StatementKind::output:
      for (const auto& e : s.expressions) append_str(out, evaluate(*e, scope));
      return Signal::none;
    case StatementKind::condition:
      return execute_condition(s, scope, out);
    case StatementKind::loop:
      return execute_loop(s, scope, out);
    case StatementKind::set:
      execute_set(s, scope);
      return Signal::none;
    case StatementKind::set_block:
      return execute_set_block(s, scope);
    case StatementKind::macro:
      assign(*s.targets[0], make_macro(s, scope), scope);
      return Signal::none;
    case StatementKind::call: {
      const Value caller = make_macro(s, scope);
      append_block(out, evaluate_call(*s.expressions[0], scope, &caller));
      return Signal::none;
    }
    case StatementKind::filter:
      return execute_filter(s, scope, out);
    case StatementKind::with:
      return execute_with(s, scope, out);
    case StatementKind::scope:
      return execute(s.body, enter(s.frame, scope), out);
    case StatementKind::generation:
      execute_generation(s, scope, out);
      return Signal::none;
    case StatementKind::break_loop:
      return Signal::break_loop;
    default:
      return Signal::continue_loop;
  }
}

Interpreter::Signal Interpreter::execute_condition(const Statement& s, const ScopePtr& scope,
                                                   TextBuilder& out) {
  for (size_t i = 0; i < s.expressions.size(); ++i) {
    if (evaluate(*s.expressions[i], scope).truth()) return execute(s.bodies[i], scope, out);
  }
  return s.bodies.size() > s.expressions.size() ? execute(s.bodies.back(), scope, out) : Signal::none;
}

Interpreter::Signal Interpreter::execute_loop(const Statement& s, const ScopePtr& scope, TextBuilder& out) {
  const Value items = evaluate(*s.expressions[0], scope);
  const Signal signal = run_loop(s, scope, items, 0, out);
  return s.recursive ? Signal::none : signal;
}

/// Runs a loop over `items`. `outer` is the scope of the statement.
Interpreter::Signal Interpreter::run_loop(const Statement& s, const ScopePtr& outer, const Value& items,
                                          int depth, TextBuilder& out) {
  Nesting nesting(budget_);
  const ScopePtr test = s.expressions.size() > 1 ? enter(s.test_frame, outer) : nullptr;
  const Value object = keep<Loop>(LoopItems(*this, s, test, elements(budget_, items)), &s, outer, depth);
  Loop& loop = *object.object_of<Loop>();
  const auto scope =
      std::make_shared<Scope>(Scope{s.frame.level, std::vector<std::optional<Value>>(s.frame.slots), outer});
  if (s.has_loop) slot(s.loop, scope) = object;
  bool empty = true;
  while (loop.advance()) {
    assign(*s.targets[0], loop.current, scope);
    load(s.frame, *scope);
    const Signal signal = execute(s.body, scope, out);
    if (signal == Signal::break_loop) {
      if (!empty || !s.has_else) return Signal::none;
      break;
    }
    if (signal == Signal::none) empty = false;
  }
  return empty && s.has_else ? execute(s.other, enter(s.other_frame, outer), out) : Signal::none;
}

void Interpreter::check_namespaces(const Expression& target, const ScopePtr& scope) {
  if (target.op == Op::namespace_attribute) {
    const auto& held = slot(target.parts[0]->ref, scope);
    if (!held || !held->object_of<Namespace>()) refuse("cannot assign attribute on non-namespace object");
  } else {
    for (const auto& part : target.parts) check_namespaces(*part, scope);
  }
}

void Interpreter::execute_set(const Statement& s, const ScopePtr& scope) {
  check_namespaces(*s.targets[0], scope);
  assign(*s.targets[0], evaluate(*s.expressions[0], scope), scope);
}

void Interpreter::assign(const Expression& target, const Value& value, const ScopePtr& scope) {
  if (target.op == Op::name) {
    slot(target.ref, scope) = value;
    return;
  }
  if (target.op == Op::namespace_attribute) {
    const auto& held = slot(target.parts[0]->ref, scope);
    auto* space = held ? held->object_of<Namespace>() : nullptr;
    if (!space) refuse("cannot assign attribute on non-namespace object");
    return space->set(budget_, target.name, value);
  }
  const std::vector<Value> items = elements(budget_, value);
  if (items.size() != target.parts.size()) {
    refuse("expected {} values to unpack, got {}", target.parts.size(), items.size());
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i], scope);
}

Value Interpreter::filtered(const Expression& filter, const std::string& text, const ScopePtr& scope) {
  const Value block = make_text(budget_, text);
  const Value* outer = std::exchange(block_text_, &block);
  try {
    Value out = evaluate(filter, scope);
    block_text_ = outer;
    return out;
  } catch (...) {
    block_text_ = outer;
    throw;
  }
}

Interpreter::Signal Interpreter::execute_set_block(const Statement& s, const ScopePtr& scope) {
  const ScopePtr inner = enter(s.frame, scope);
  TextBuilder text(budget_);
  if (const Signal signal = execute(s.body, inner, text); signal != Signal::none) return signal;
  const Value value = s.expressions.empty() ? make_text(budget_, text.take())
                                            : filtered(*s.expressions[0], text.text(), inner);
  check_namespaces(*s.targets[0], scope);
  assign(*s.targets[0], value, scope);
  return Signal::none;
}

Interpreter::Signal Interpreter::execute_filter(const Statement& s, const ScopePtr& scope, TextBuilder& out) {
  const ScopePtr inner = enter(s.frame, scope);
  TextBuilder text(budget_);
  if (const Signal signal = execute(s.body, inner, text); signal != Signal::none) return signal;
  append_block(out, filtered(*s.expressions[0], text.text(), inner));
  return Signal::none;
}

Interpreter::Signal Interpreter::execute_with(const Statement& s, const ScopePtr& scope, TextBuilder& out) {
  const ScopePtr inner = enter(s.frame, scope);
  for (size_t i = 0; i < s.targets.size(); ++i)
    assign(*s.targets[i], evaluate(*s.expressions[i], scope), inner);
  return execute(s.body, inner, out);
}

Value Interpreter::make_macro(const Statement& s, const ScopePtr& scope) {
  return keep<Macro>(s.function.get(), scope);
}

void Interpreter::execute_generation(const Statement& s, const ScopePtr& scope, TextBuilder& out) {
  const Value macro = make_macro(s, scope);
  Arguments none;
  const Value text = macro.object()->call(*this, none);
  const size_t begin = root_->size();
  if (&out == root_) rendered_.assistant.emplace_back(begin, begin + text.text()->bytes.size());
  append_str(out, text);
}

}  // namespace smelt::templates
