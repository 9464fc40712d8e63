#include "runtime/templates/control.h"

#include <algorithm>

#include "runtime/templates/arguments.h"

namespace smelt::templates {

bool Macro::attribute(Interpreter& interpreter, std::string_view name, Value& out) {
  if (name == "name") {
    out = body->name.empty() ? Value(None{}) : make_text(interpreter.budget(), body->name);
  } else if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& e : body->parameters) names.push_back(make_text(interpreter.budget(), e->name));
    out = make_tuple(interpreter.budget(), std::move(names));
  } else if (name == "catch_kwargs" || name == "catch_varargs" || name == "caller") {
    out = Value(name == "caller"         ? body->uses_caller
                : name == "catch_kwargs" ? body->uses_kwargs
                                         : body->uses_varargs);
  } else {
    return false;
  }
  return true;
}

void Macro::represent(TextBuilder& out) const {
  out.append("<Macro ");
  if (body->name.empty()) {
    out.append("anonymous");
  } else {
    append_quoted(out, body->name);
  }
  out.append(">");
}

/// Assigns the arguments to the parameters; those without get their defaults, in order.
void Macro::set_parameters(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const {
  const size_t count = body->parameters.size();
  for (size_t i = 0; i < count; ++i) {
    auto& place = interpreter.slot(body->parameters[i]->ref, inner);
    if (i < arguments.positional.size()) {
      place = arguments.positional[i];
      continue;
    }
    const auto named =
        std::ranges::find(arguments.named, body->parameters[i]->name, [](auto& a) { return a.first; });
    if (named == arguments.named.end()) continue;
    place = std::move(named->second);
    arguments.named.erase(named);
  }
}

void Macro::set_specials(Interpreter& interpreter, Arguments& arguments, const ScopePtr& inner) const {
  Budget& budget = interpreter.budget();
  const size_t count = body->parameters.size();
  if (body->uses_caller) {
    const auto named = std::ranges::find(arguments.named, "caller", [](auto& a) { return a.first; });
    auto& place = interpreter.slot(body->caller, inner);
    place = named == arguments.named.end() ? make_undefined("No caller defined") : std::move(named->second);
    if (named != arguments.named.end()) arguments.named.erase(named);
  }
  if (body->uses_kwargs) {
    std::vector<std::pair<Value, Value>> items;
    for (auto& [name, value] : arguments.named) items.emplace_back(make_text(budget, name), std::move(value));
    interpreter.slot(body->kwargs, inner) = make_dict(budget, std::move(items));
  } else if (!arguments.named.empty()) {
    refuse("macro '{}' takes no keyword argument '{}'", body->name, arguments.named[0].first);
  }
  if (body->uses_varargs) {
    auto& all = arguments.positional;
    std::vector<Value> rest(all.begin() + std::min(count, all.size()), all.end());
    interpreter.slot(body->varargs, inner) = make_tuple(budget, std::move(rest));
  } else if (arguments.positional.size() > count) {
    refuse("macro '{}' takes not more than {} argument(s)", body->name, count);
  }
}

Value Macro::call(Interpreter& interpreter, Arguments& arguments) {
  Nesting nesting(interpreter.budget());
  if (!scope) refuse("a macro is called after the rendering");
  const ScopePtr inner = interpreter.enter(body->frame, scope);
  set_parameters(interpreter, arguments, inner);
  set_specials(interpreter, arguments, inner);
  const size_t count = body->parameters.size(), first = count - body->defaults.size();
  for (size_t i = 0; i < count; ++i) {
    auto& place = interpreter.slot(body->parameters[i]->ref, inner);
    if (place) continue;
    Value value =
        i < first ? make_undefined(fmt::format("parameter '{}' was not provided", body->parameters[i]->name))
                  : interpreter.evaluate(*body->defaults[i - first], inner);
    interpreter.slot(body->parameters[i]->ref, inner) = std::move(value);
  }
  TextBuilder out(interpreter.budget());
  interpreter.execute(*body->body, inner, out);
  return make_text(interpreter.budget(), out.take());
}

bool LoopItems::next(Value& out) {
  while (at_ < items_.size()) {
    interpreter_->budget().spend(1);
    out = items_[at_++];
    if (!scope_) return true;
    interpreter_->assign(*statement_->test_target, out, scope_);
    if (interpreter_->evaluate(*statement_->expressions[1], scope_).truth()) return true;
  }
  return false;
}

bool Loop::peek() {
  if (!ahead.empty()) return true;
  Value value;
  if (exhausted || !items.next(value)) {
    exhausted = true;
    return false;
  }
  ahead.push_back(std::move(value));
  return true;
}

bool Loop::advance() {
  if (!peek()) return false;
  ++index0;
  before = std::exchange(current, std::move(ahead.back()));
  ahead.pop_back();
  return true;
}

/// Reads all elements in advance if there is a filter, because only then the length is known.
int64_t Loop::count() {
  if (length >= 0) return length;
  if (!items.filtered()) return length = static_cast<int64_t>(items.size());
  std::ranges::reverse(ahead);
  for (Value value; items.next(value);) ahead.push_back(std::move(value));
  length = index0 + 1 + static_cast<int64_t>(ahead.size());
  std::ranges::reverse(ahead);
  return length;
}

namespace {

Value cycle(Interpreter&, const Value& self, Arguments& arguments) {
  const auto& items = arguments.positional;
  if (items.empty()) refuse("no items for cycling given");
  return items[self.object_of<Loop>()->index0 % static_cast<int64_t>(items.size())];
}

Value changed(Interpreter& interpreter, const Value& self, Arguments& arguments) {
  Loop& loop = *self.object_of<Loop>();
  Budget& budget = interpreter.budget();
  const bool same =
      loop.has_changed && loop.changing.size() == arguments.positional.size() &&
      std::ranges::equal(loop.changing, arguments.positional, [&](const Value& a, const Value& b) {
        return identical(a, b) || equal(budget, a, b);
      });
  if (!same) loop.changing = arguments.positional;
  loop.has_changed = true;
  return Value(!same);
}

}  // namespace

bool Loop::attribute(Interpreter& interpreter, std::string_view name, Value& out) {
  if (name == "index")
    out = Value(index0 + 1);
  else if (name == "index0")
    out = Value(index0);
  else if (name == "first")
    out = Value(index0 == 0);
  else if (name == "last")
    out = Value(!peek());
  else if (name == "length")
    out = Value(count());
  else if (name == "revindex")
    out = Value(count() - index0);
  else if (name == "revindex0")
    out = Value(count() - index0 - 1);
  else if (name == "depth")
    out = Value(int64_t{depth0} + 1);
  else if (name == "depth0")
    out = Value(int64_t{depth0});
  else if (name == "previtem")
    out = index0 == 0 ? make_undefined("there is no previous item") : before;
  else if (name == "nextitem")
    out = peek() ? ahead.back() : make_undefined("there is no next item");
  else if (name == "cycle" || name == "changed") {
    out = bound_method(interpreter.budget(), name == "cycle" ? cycle : changed, *this);
  } else {
    return false;
  }
  return true;
}

Value Loop::call(Interpreter& interpreter, Arguments& arguments) {
  Parameters p("loop", arguments, {"iterable"}, 1);
  if (!statement->recursive) refuse("the loop must have the 'recursive' marker to be called recursively");
  TextBuilder out(interpreter.budget());
  interpreter.run_loop(*statement, outer, *p[0], depth0 + 1, out);
  return make_text(interpreter.budget(), out.take());
}

void Loop::represent(TextBuilder& out) const {
  auto& self = const_cast<Loop&>(*this);
  out.append(fmt::format("<LoopContext {}/{}>", index0 + 1, self.count()));
}

void Loop::clear() {
  outer.reset();
  current = before = Value();
  ahead.clear();
  changing.clear();
}

}  // namespace smelt::templates
