#include "runtime/templates/objects.h"

#include <algorithm>

#include "runtime/templates/arguments.h"
#include "runtime/templates/interpreter.h"

namespace smelt::templates {
namespace {

Value next_of(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("next", arguments, {});
  Cycler& cycler = *self.object_of<Cycler>();
  Value out = cycler.items[cycler.at];
  cycler.at = (cycler.at + 1) % cycler.items.size();
  return out;
}

Value reset(Interpreter&, const Value& self, Arguments& arguments) {
  Parameters p("reset", arguments, {});
  self.object_of<Cycler>()->at = 0;
  return Value(None{});
}

bool same_elements(Budget& budget, View& a, View& b) {
  const Value other = b.dict;
  std::vector<Value> left, right;
  a.iterate(budget, left);
  b.iterate(budget, right);
  const auto in_right = [&](const Value& x) {
    return std::ranges::any_of(right, [&](const Value& y) { return equal(budget, x, y); });
  };
  return left.size() == right.size() && std::ranges::all_of(left, in_right);
}

}  // namespace

Value bound_method(Budget& budget, Function::Body body, Object& self) {
  const std::shared_ptr<Object> borrowed(std::shared_ptr<void>(), &self);
  return make_object<Function>(budget, "method", body, Value(borrowed));
}

bool equal_objects(Budget& budget, Object& a, Object& b) {
  const auto *x = dynamic_cast<Range*>(&a), *y = dynamic_cast<Range*>(&b);
  if (x && y) {
    const int64_t n = x->count();
    return n == y->count() && (n == 0 || (x->start == y->start && (n == 1 || x->step == y->step)));
  }
  auto *u = dynamic_cast<View*>(&a), *v = dynamic_cast<View*>(&b);
  if (!u || !v || u->part == View::Part::values || u->part != v->part) return false;
  return same_elements(budget, *u, *v);
}

// ---- Range

int64_t Range::count() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto distance = static_cast<__int128>(stop) - start;
  const __int128 n = step > 0 ? (distance - 1) / step + 1 : (distance + 1) / step + 1;
  return n > INT64_MAX ? INT64_MAX : static_cast<int64_t>(n);
}

bool Range::attribute(Interpreter& interpreter, std::string_view name, Value& out) {
  if (name == "count" || name == "index") {
    std::vector<Value> items;
    iterate(interpreter.budget(), items);
    const Value list = make_list(interpreter.budget(), std::move(items));
    out = make_object<Function>(interpreter.budget(), name == "count" ? "count" : "index",
                                find_sequence_method(name), list);
    return true;
  }
  if (name != "start" && name != "stop" && name != "step") return false;
  out = Value(name == "start" ? start : name == "stop" ? stop : step);
  return true;
}

void Range::iterate(Budget& budget, std::vector<Value>& out) {
  const int64_t n = count();
  budget.spend(n);
  for (int64_t i = 0; i < n; ++i) out.emplace_back(start + i * step);
}

void Range::represent(TextBuilder& out) const {
  out.append(step == 1 ? fmt::format("range({}, {})", start, stop)
                       : fmt::format("range({}, {}, {})", start, stop, step));
}

// ---- View

std::string_view View::type() const {
  return part == Part::keys ? "dict_keys" : part == Part::values ? "dict_values" : "dict_items";
}

void View::iterate(Budget& budget, std::vector<Value>& out) {
  budget.spend(dict.dict()->items.size());
  for (const auto& [key, value] : dict.dict()->items) {
    out.push_back(part == Part::keys ? key : part == Part::values ? value : make_tuple(budget, {key, value}));
  }
}

void View::represent(TextBuilder& out) const {
  std::vector<Value> items;
  const_cast<View*>(this)->iterate(out.budget(), items);
  out.append(type());
  out.append("(");
  append_repr(out, make_list(out.budget(), std::move(items)));
  out.append(")");
}

// ---- Iterator

Iterator::Iterator(std::string_view type_name, std::vector<Value> elements, std::exception_ptr last)
    : name(type_name), items(std::move(elements)), levels(deepest(items)) {
  error.swap(last);
}

bool Iterator::next(Value& out) {
  if (at == items.size()) {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
    return false;
  }
  out = items[at++];
  return true;
}

void Iterator::iterate(Budget& budget, std::vector<Value>& out) {
  budget.spend(items.size() - at);
  for (Value value; next(value);) out.push_back(std::move(value));
}

// ---- Namespace

bool Namespace::attribute(Interpreter&, std::string_view name, Value& out) {
  const auto found = std::ranges::find(attributes, name, [](const auto& a) { return a.first; });
  if (found == attributes.end()) return false;
  out = found->second;
  return true;
}

void Namespace::set(Budget& budget, std::string_view name, Value value) {
  if (name.starts_with('_')) refuse("a namespace cannot have the attribute '{}': rename it", name);
  budget.spend(1 + attributes.size() / 8);
  const auto found = std::ranges::find(attributes, name, [](const auto& a) { return a.first; });
  if (found != attributes.end()) {
    found->second = std::move(value);
  } else {
    attributes.emplace_back(name, std::move(value));
  }
}

void Namespace::represent(TextBuilder& out) const {
  out.append("<Namespace {");
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i) out.append(", ");
    append_quoted(out, attributes[i].first);
    out.append(": ");
    append_repr(out, attributes[i].second);
  }
  out.append("}>");
}

void Namespace::clear() { std::exchange(attributes, {}).clear(); }

// ---- Cycler and Joiner

bool Cycler::attribute(Interpreter& interpreter, std::string_view name, Value& out) {
  if (name == "current") {
    out = items[at];
  } else if (name == "pos") {
    out = Value(static_cast<int64_t>(at));
  } else if (name == "items") {
    out = make_tuple(interpreter.budget(), items);
  } else if (name == "next") {
    out = bound_method(interpreter.budget(), next_of, *this);
  } else if (name == "reset") {
    out = bound_method(interpreter.budget(), reset, *this);
  } else {
    return false;
  }
  return true;
}

bool Joiner::attribute(Interpreter&, std::string_view name, Value& out) {
  if (name != "sep" && name != "used") return false;
  out = name == "sep" ? separator : Value(used);
  return true;
}

Value Joiner::call(Interpreter& interpreter, Arguments& arguments) {
  Parameters p("joiner", arguments, {});
  return std::exchange(used, true) ? separator : make_text(interpreter.budget(), "");
}

}  // namespace smelt::templates
