// Evaluation of expressions, attributes and subscripts.
#include <algorithm>

#include "runtime/templates/control.h"
#include "runtime/templates/interpreter.h"
#include "runtime/templates/operators.h"

namespace smelt::templates {
namespace {

bool holds(Budget& budget, std::string_view sign, const Value& a, const Value& b) {
  if (sign == "==") return equal(budget, a, b);
  if (sign == "!=") return !equal(budget, a, b);
  if (sign == "in") return contains(budget, b, a);
  if (sign == "not in") return !contains(budget, b, a);
  if (sign == "<") return less(budget, a, b, sign);
  if (sign == "<=") return less_or_equal(budget, a, b, sign);
  if (sign == ">") return less(budget, b, a, sign);
  return less_or_equal(budget, b, a, sign);
}

/// The methods of a value. The sandbox hides those that change it.
Function::Body find_method(const Value& value, std::string_view name) {
  if (value.text()) return find_text_method(name);
  if (value.dict()) return find_dict_method(name);
  if (value.sequence()) return value.list() || name != "copy" ? find_sequence_method(name) : nullptr;
  if (value.integer() || value.real() || value.boolean()) return find_number_method(value, name);
  return nullptr;
}

bool changes(const Value& value, std::string_view name) {
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  return value.dict() && std::ranges::find(kDict, name) != std::end(kDict);
}

/// Returns whether a group of the filter groupby has the attribute, and stores it in `out`.
bool group_attribute(const Value& value, std::string_view name, Value& out) {
  const Tuple* tuple = value.tuple();
  if (!tuple || !tuple->group || (name != "grouper" && name != "list")) return false;
  out = tuple->items[name == "list"];
  return true;
}

bool number_attribute(const Value& value, std::string_view name, Value& out) {
  int64_t whole = 0;
  const bool is_whole = value.whole(whole);
  if (!is_whole && !value.real()) return false;
  if (name == "real")
    out = is_whole ? Value(whole) : value;
  else if (name == "imag")
    out = is_whole ? Value(int64_t{0}) : Value(0.0);
  else if (is_whole && name == "numerator")
    out = Value(whole);
  else if (is_whole && name == "denominator")
    out = Value(int64_t{1});
  else
    return false;
  return true;
}

Value nothing(const Value& value, std::string_view name) {
  return make_undefined(fmt::format("'{} object' has no attribute '{}'", value.type(), name));
}

Value text_element(Budget& budget, const Text& text, int64_t index) {
  const Value from(index), to(index + 1);
  return slice(budget, make_text(budget, text.bytes, text.safe), &from, index == -1 ? nullptr : &to, nullptr);
}

}  // namespace

Value Interpreter::attribute(const Value& value, std::string_view name) {
  // Undefined values have the attributes of all Python objects, which the sandbox hides.
  static constexpr std::string_view kHidden[] = {"__class__", "__doc__", "__init__", "__module__"};
  if (value.undefined() && std::ranges::find(kHidden, name) != std::end(kHidden)) return nothing(value, name);
  require_defined(value);
  Value out;
  if (!name.starts_with('_')) {
    if (changes(value, name)) {
      return make_undefined(
          fmt::format("access to attribute '{}' of '{}' object is unsafe", name, value.type()));
    }
    if (const auto method = find_method(value, name)) {
      return make_object<Function>(budget_, "method", method, value);
    }
    if (group_attribute(value, name, out) || number_attribute(value, name, out)) return out;
    if (value.object() && value.object()->attribute(*this, name, out)) return out;
  }
  if (value.dict()) {
    if (const Value* found = value.dict()->find(name)) return *found;
  }
  return nothing(value, name);
}

Value Interpreter::item(const Value& value, const Value& key) {
  require_defined(value);
  int64_t index = 0;
  if (value.dict() && !key.list() && !key.dict() && !(key.tuple() && !key.tuple()->hashable)) {
    if (const Value* found = value.dict()->find(budget_, key)) return *found;
  } else if (key.whole(index)) {
    const int64_t length =
        value.text() || value.sequence() || value.object_of<Range>() ? length_or_none(budget_, value) : 0;
    if (index < -length || index >= length) {
      return make_undefined(fmt::format("'{} object' has no element {}", value.type(), index));
    }
    if (value.text()) return text_element(budget_, *value.text(), index);
    if (index < 0) index += length;
    if (value.sequence()) return (*value.sequence())[index];
    const auto& range = *value.object_of<Range>();
    return Value(range.start + index * range.step);
  }
  if (!key.text())
    return make_undefined(fmt::format("'{} object' has no element {}", value.type(), repr(budget_, key)));
  if (value.dict() && !find_dict_method(key.text()->bytes)) return nothing(value, key.text()->bytes);
  return attribute(value, key.text()->bytes);
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  budget_.spend(1);
  require_defined(callee);
  if (!callee.object()) refuse("'{}' object is not callable", callee.type());
  return callee.object()->call(*this, arguments);
}

Value Interpreter::filter(const Value& name, const Value& subject, Arguments& arguments) {
  require_defined(name);
  const Filter* found = name.text() ? find_filter(name.text()->bytes) : nullptr;
  if (name.text() && omitted_filter(name.text()->bytes)) {
    unsupported("the filter '{}' of Jinja is not supported", name.text()->bytes);
  }
  if (!found) refuse("there is no filter named {}", repr(budget_, name));
  return found->body(*this, subject, arguments);
}

bool Interpreter::test(const Value& name, const Value& subject, Arguments& arguments) {
  require_defined(name);
  const Test* found = name.text() ? find_test(name.text()->bytes) : nullptr;
  if (!found) refuse("there is no test named {}", repr(budget_, name));
  return found->body(*this, subject, arguments);
}

Value Interpreter::evaluate(const Expression& e, const ScopePtr& scope) {
  Nesting nesting(budget_);
  budget_.spend(1);
  line_ = e.line;
  switch (e.op) {
    case Op::constant:
      return e.constant;
    case Op::name:
      return evaluate_name(e, scope);
    case Op::tuple:
      return make_tuple(budget_, evaluate_all(e.parts, scope));
    case Op::list:
      return make_list(budget_, evaluate_all(e.parts, scope));
    case Op::dict:
      return evaluate_dict(e, scope);
    case Op::logical_and:
    case Op::logical_or:
      return evaluate_logic(e, scope);
    case Op::logical_not:
      return Value(!evaluate(*e.parts[0], scope).truth());
    case Op::negative:
      return negative(evaluate(*e.parts[0], scope));
    case Op::positive:
      return positive(evaluate(*e.parts[0], scope));
    case Op::concatenate:
      return evaluate_concatenation(e, scope);
    case Op::compare:
      return evaluate_compare(e, scope);
    case Op::attribute:
      return attribute(evaluate(*e.parts[0], scope), e.name);
    case Op::item:
      return evaluate_item(e, scope);
    case Op::slice:
      unsupported("a slice is only supported alone in brackets: value[start:stop:step]");
    case Op::filter:
      return evaluate_filter(e, scope);
    case Op::test:
      return evaluate_test(e, scope);
    case Op::condition:
      return evaluate_condition(e, scope);
    case Op::call:
      return evaluate_call(e, scope);
    case Op::namespace_attribute:
      refuse("an attribute of a namespace is set where a value is expected");
    default: {
      const Value left = evaluate(*e.parts[0], scope);
      return arithmetic(budget_, e.op, left, evaluate(*e.parts[1], scope));
    }
  }
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& parts, const ScopePtr& scope) {
  std::vector<Value> out;
  out.reserve(parts.size());
  for (const auto& part : parts) out.push_back(evaluate(*part, scope));
  return out;
}

Value Interpreter::evaluate_name(const Expression& e, const ScopePtr& scope) {
  const auto& value = slot(e.ref, scope);
  return value ? *value : make_undefined(fmt::format("'{}' is undefined", e.name));
}

Value Interpreter::evaluate_dict(const Expression& e, const ScopePtr& scope) {
  std::vector<std::pair<Value, Value>> items;
  for (size_t i = 0; i < e.parts.size(); i += 2) {
    Value key = evaluate(*e.parts[i], scope);
    items.emplace_back(std::move(key), evaluate(*e.parts[i + 1], scope));
  }
  return make_dict(budget_, std::move(items));
}

Value Interpreter::evaluate_logic(const Expression& e, const ScopePtr& scope) {
  Value left = evaluate(*e.parts[0], scope);
  return left.truth() == (e.op == Op::logical_or) ? left : evaluate(*e.parts[1], scope);
}

Value Interpreter::evaluate_compare(const Expression& e, const ScopePtr& scope) {
  Value left = evaluate(*e.parts[0], scope);
  for (size_t i = 0; i < e.signs.size(); ++i) {
    Value right = evaluate(*e.parts[i + 1], scope);
    if (!holds(budget_, e.signs[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_concatenation(const Expression& e, const ScopePtr& scope) {
  TextBuilder out(budget_);
  for (const Value& value : evaluate_all(e.parts, scope)) append_str(out, value);
  return make_text(budget_, out.take());
}

Value Interpreter::evaluate_item(const Expression& e, const ScopePtr& scope) {
  const Value subject = evaluate(*e.parts[0], scope);
  const Expression& key = *e.parts[1];
  if (key.op != Op::slice) return item(subject, evaluate(key, scope));
  Value bounds[3];
  for (int i = 0; i < 3; ++i) {
    if (key.parts[i]) bounds[i] = evaluate(*key.parts[i], scope);
  }
  return slice(budget_, subject, &bounds[0], &bounds[1], &bounds[2]);
}

Value Interpreter::evaluate_condition(const Expression& e, const ScopePtr& scope) {
  if (evaluate(*e.parts[1], scope).truth()) return evaluate(*e.parts[0], scope);
  if (e.parts[2]) return evaluate(*e.parts[2], scope);
  return make_undefined(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined.", e.line));
}

Arguments Interpreter::evaluate_arguments(const Expression& e, const ScopePtr& scope) {
  Arguments out;
  size_t part = 1;
  for (size_t i = 0; i < e.positional; ++i) out.positional.push_back(evaluate(*e.parts[part++], scope));
  for (const std::string& name : e.keywords) out.named.emplace_back(name, evaluate(*e.parts[part++], scope));
  if (e.star) {
    for (Value& value : elements(budget_, evaluate(*e.parts[part++], scope)))
      out.positional.push_back(std::move(value));
  }
  if (!e.double_star) return out;
  const Value more = evaluate(*e.parts[part], scope);
  if (!more.dict()) refuse("argument after ** must be a mapping, not {}", more.type());
  for (const auto& [name, value] : more.dict()->items) {
    if (!name.text()) refuse("keywords must be strings");
    const auto same = [&](const auto& other) { return other.first == name.text()->bytes; };
    if (std::ranges::any_of(out.named, same))
      refuse("got multiple values for keyword argument '{}'", name.text()->bytes);
    budget_.spend(1 + out.named.size());
    out.named.emplace_back(name.text()->bytes, value);
  }
  return out;
}

Value Interpreter::evaluate_call(const Expression& e, const ScopePtr& scope, const Value* caller) {
  const Value callee = evaluate(*e.parts[0], scope);
  Arguments arguments = evaluate_arguments(e, scope);
  if (caller) {
    const auto same = [](const auto& other) { return other.first == "caller"; };
    if (std::ranges::any_of(arguments.named, same))
      refuse("got multiple values for keyword argument 'caller'");
    arguments.named.emplace_back("caller", *caller);
  }
  line_ = e.line;
  return call(callee, arguments);
}

Value Interpreter::evaluate_filter(const Expression& e, const ScopePtr& scope) {
  const Value subject = e.parts[0] ? evaluate(*e.parts[0], scope) : *block_text_;
  if (!e.filter) refuse("there is no filter named '{}'", e.name);
  Arguments arguments = evaluate_arguments(e, scope);
  line_ = e.line;
  return e.filter->body(*this, subject, arguments);
}

Value Interpreter::evaluate_test(const Expression& e, const ScopePtr& scope) {
  const Value subject = evaluate(*e.parts[0], scope);
  if (!e.test) refuse("there is no test named '{}'", e.name);
  Arguments arguments = evaluate_arguments(e, scope);
  line_ = e.line;
  return Value(e.test->body(*this, subject, arguments));
}

}  // namespace smelt::templates
