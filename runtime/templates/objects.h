// Objects that expressions of templates create: ranges, views of dicts, iterators, namespaces, functions,
// cyclers and joiners.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/templates/value.h"

namespace smelt::templates {

/// The result of range(start, stop, step).
struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  Range(int64_t from, int64_t to, int64_t by) : start(from), stop(to), step(by) {}
  std::string_view type() const override { return "range"; }
  int64_t count() const;
  bool attribute(Interpreter& interpreter, std::string_view name, Value& out) override;
  bool iterable() const override { return true; }
  void iterate(Budget& budget, std::vector<Value>& out) override;
  bool sized() const override { return true; }
  int64_t size(Budget&) override { return count(); }
  void represent(TextBuilder& out) const override;
};

/// The result of dict.keys(), .values() or .items().
struct View : Object {
  enum class Part { keys, values, items };
  Value dict;
  Part part;
  View(Value of, Part which) : dict(std::move(of)), part(which) {}
  std::string_view type() const override;
  bool iterable() const override { return true; }
  void iterate(Budget& budget, std::vector<Value>& out) override;
  bool sized() const override { return true; }
  int64_t size(Budget&) override { return static_cast<int64_t>(dict.dict()->items.size()); }
  void represent(TextBuilder& out) const override;
  int depth() const override { return dict.depth() + 2; }
};

/// An iterator: its elements, and the index `at` of the next one. All elements are computed in advance. If an
/// element cannot be computed, the list ends before it, and `error` is thrown when that element is requested,
/// as Python's lazy iterators do. `error` is null if there is none.
struct Iterator : Object {
  std::string_view name;
  std::vector<Value> items;
  size_t at = 0;
  std::exception_ptr error;
  int levels = 1;  // levels of nesting of values (Object::depth)
  Iterator(std::string_view type_name, std::vector<Value> elements, std::exception_ptr last = nullptr);
  std::string_view type() const override { return name; }
  bool iterable() const override { return true; }
  void iterate(Budget& budget, std::vector<Value>& out) override;
  /// Returns whether there was a next element.
  bool next(Value& out);
  int depth() const override { return levels; }
  void clear() override { items.clear(); }
};

/// The result of namespace(...). A template can set attributes of a namespace, as in {% set n.x = 1 %}, but
/// not attributes of other values.
struct Namespace : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  std::string_view type() const override { return "TemplateNamespace"; }
  bool attribute(Interpreter&, std::string_view name, Value& out) override;
  /// Throws TemplateError for names that begin with an underscore.
  void set(Budget& budget, std::string_view name, Value value);
  void represent(TextBuilder& out) const override;
  void clear() override;
};

/// A function of the language, or a method of a value.
struct Function : Object {
  using Body = Value (*)(Interpreter&, const Value& subject, Arguments&);
  std::string_view name;
  Body body;
  Value subject;  // for a method: the value on which it is called
  Function(std::string_view title, Body code) : name(title), body(code) {}
  Function(std::string_view title, Body code, Value self)
      : name(title), body(code), subject(std::move(self)) {}
  std::string_view type() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    return body(interpreter, subject, arguments);
  }
  int depth() const override { return subject.depth() + 1; }
};

/// The result of cycler(...). Its method next() returns the items in turn. After the last item, it begins
/// again with the first.
struct Cycler : Object {
  std::vector<Value> items;
  size_t at = 0;
  explicit Cycler(std::vector<Value> elements) : items(std::move(elements)) {}
  std::string_view type() const override { return "Cycler"; }
  bool attribute(Interpreter& interpreter, std::string_view name, Value& out) override;
  void clear() override { items.clear(); }
};

/// The result of joiner(separator). Its first call returns an empty text, and each later call the separator.
struct Joiner : Object {
  Value separator;
  bool used = false;
  explicit Joiner(Value text) : separator(std::move(text)) {}
  std::string_view type() const override { return "Joiner"; }
  bool attribute(Interpreter&, std::string_view name, Value& out) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments& arguments) override;
  void clear() override { separator = Value(); }
};

/// Returns the method of `self` with this body. Requires: `self` is kept until the rendering ends
/// (Interpreter::keep).
Value bound_method(Budget& budget, Function::Body body, Object& self);

/// Returns whether two objects are equal by value, as ranges and views of dicts can be. False for all other
/// types.
bool equal_objects(Budget& budget, Object& a, Object& b);

}  // namespace smelt::templates
