// Values of templates: the types of Python values that chat templates use. Values are immutable, except some
// objects (namespaces, loops, iterators), which live until the rendering ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/templates/limits.h"

namespace smelt::templates {

class Value;
class Interpreter;

/// None of Python.
struct None {};

/// The result of a look-up of a variable, attribute or item that does not exist. `message` is for the error
/// that a use of this value throws.
struct Undefined {
  std::string message;
};

/// A str of Python.
struct Text {
  std::string bytes;  // valid UTF-8
  size_t length;      // code points
  /// The text is a result of the filter `safe` or `escape`, so it is not escaped for HTML. Other texts that
  /// are concatenated with it are escaped.
  bool safe = false;
  bool ascii() const { return length == bytes.size(); }
};

/// Arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Base class of the types of values with an identity: functions, macros, ranges, namespaces and the like.
class Object {
 public:
  virtual ~Object() = default;
  /// Returns the name of the object's Python type.
  virtual std::string_view type() const = 0;
  /// Returns whether the attribute exists, and stores it in `out`.
  virtual bool attribute(Interpreter&, std::string_view, Value&) { return false; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter&, Arguments&);
  virtual bool iterable() const { return false; }
  /// Appends the elements to the vector. An iterator has no elements afterwards.
  virtual void iterate(Budget&, std::vector<Value>&) {}
  /// Returns whether len() is defined; size() is its result.
  virtual bool sized() const { return false; }
  virtual int64_t size(Budget&) { return 0; }
  /// Appends repr() of the object.
  virtual void represent(TextBuilder& out) const;
  /// Returns the levels of nesting of values inside this object; 0 if it holds none.
  virtual int depth() const { return 0; }
  /// Drops all values that the object holds. This breaks cycles of references when the rendering ends.
  virtual void clear() {}
};

struct List;
struct Tuple;
struct Dict;

/// A value of any type. Functions such as list() return null if the value is of another type.
class Value {
 public:
  using Rep =
      std::variant<None, std::shared_ptr<const Undefined>, bool, int64_t, double, std::shared_ptr<const Text>,
                   std::shared_ptr<const List>, std::shared_ptr<const Tuple>, std::shared_ptr<const Dict>,
                   std::shared_ptr<Object>>;
  Value() = default;
  template <typename T>
    requires std::is_constructible_v<Rep, T> && (!std::is_same_v<std::decay_t<T>, Value>)
  explicit Value(T&& rep) : rep_(std::forward<T>(rep)) {}

  bool none() const { return std::holds_alternative<None>(rep_); }
  const Undefined* undefined() const { return pointer<const Undefined>(); }
  const bool* boolean() const { return std::get_if<bool>(&rep_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&rep_); }
  const double* real() const { return std::get_if<double>(&rep_); }
  const Text* text() const { return pointer<const Text>(); }
  const List* list() const { return pointer<const List>(); }
  const Tuple* tuple() const { return pointer<const Tuple>(); }
  const Dict* dict() const { return pointer<const Dict>(); }
  Object* object() const { return pointer<Object>(); }
  template <typename T>
  T* object_of() const {
    return dynamic_cast<T*>(object());
  }
  const std::shared_ptr<Object>& shared_object() const { return std::get<std::shared_ptr<Object>>(rep_); }
  const Rep& rep() const { return rep_; }

  /// Returns the elements of a list or tuple; null for other values.
  const std::vector<Value>* sequence() const;
  /// Returns whether the value is an int or a bool of Python, and stores it as a number in `out`.
  bool whole(int64_t& out) const;
  /// Returns the name of the value's Python type.
  std::string_view type() const;
  /// Returns bool(value).
  bool truth() const;
  /// Returns the levels of nesting of values inside this value; 0 for a number or a text.
  int depth() const;

 private:
  template <typename T>
  T* pointer() const {
    const auto held = std::get_if<std::shared_ptr<T>>(&rep_);
    return held ? held->get() : nullptr;
  }
  Rep rep_;
};

/// A list of Python. `depth` is Value::depth.
struct List {
  std::vector<Value> items;
  int depth = 1;
};

/// A tuple of Python. `depth` is Value::depth.
struct Tuple {
  std::vector<Value> items;
  int depth = 1;
  bool group = false;    // from the filter groupby: its elements have the names grouper and list
  bool hashable = true;  // no element is a list or a dict
  size_t hash = 0;       // of the elements, if hashable
};

/// A dict of Python. `depth` is Value::depth.
struct Dict {
  std::vector<std::pair<Value, Value>> items;       // keys and values, in the order of insertion
  std::unordered_multimap<size_t, uint32_t> index;  // hash of a key -> index into `items`
  int depth = 1;
  /// Return the value of a key; null if the key does not exist. Throw TemplateError if it is not hashable.
  const Value* find(Budget& budget, const Value& key) const;
  const Value* find(std::string_view key) const;
};

// ---- Construction. Each function spends steps of the budget for the size of the value.
Value make_text(Budget& budget, std::string bytes, bool safe = false);
Value make_list(Budget& budget, std::vector<Value> items);
Value make_tuple(Budget& budget, std::vector<Value> items, bool group = false);
/// Later values of equal keys replace earlier ones. Throws TemplateError if a key is not hashable.
Value make_dict(Budget& budget, std::vector<std::pair<Value, Value>> items);
Value make_undefined(std::string message);
/// Converts JSON to a value. Throws TemplateError for an integer of more than 64 bits and for text that is
/// not UTF-8.
Value from_json(Budget& budget, const nlohmann::ordered_json& json);

/// Creates an object of type T from the arguments of its constructor. Throws TemplateError (limit) if values
/// in it are nested too deeply.
template <typename T, typename... Args>
Value make_object(Budget& budget, Args&&... args) {
  budget.spend(1);
  auto object = std::make_shared<T>(std::forward<Args>(args)...);
  if (object->depth() > budget.limits().depth) {
    fault(Fault::limit, "values are nested deeper than {} levels (RenderLimits::depth)",
          budget.limits().depth);
  }
  return Value(std::shared_ptr<Object>(std::move(object)));
}

// ---- Operations that Python defines for all values (value.cpp, represent.cpp).
/// Returns the depth of a container of these elements: 1 plus the largest depth of an element.
int deepest(const std::vector<Value>& items);
/// Throws TemplateError if the value is undefined.
void require_defined(const Value& value);
/// Return `a == b` and `a is b`.
bool equal(Budget& budget, const Value& a, const Value& b);
bool identical(const Value& a, const Value& b);
/// Return `a < b` and `a <= b`, as Python orders values. Throw TemplateError for types that have no order;
/// `sign` is the operator in the message.
bool less(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<");
bool less_or_equal(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<=");
/// Returns the hash of a value as a key of a Dict; objects are hashed by identity. Throws TemplateError if
/// the value is not hashable.
size_t hash(const Value& value);
/// Returns `item in container`.
bool contains(Budget& budget, const Value& container, const Value& item);

/// Append str(value) and repr(value).
void append_str(TextBuilder& out, const Value& value);
void append_repr(TextBuilder& out, const Value& value);
/// Return str(value) and repr(value).
std::string str(Budget& budget, const Value& value);
std::string repr(Budget& budget, const Value& value);
/// Returns repr(value) of a Python float.
std::string real_text(double value);
/// Appends repr(text) of a Python str. If `ascii`, code points above 127 are escaped.
void append_quoted(TextBuilder& out, std::string_view text, bool ascii = false);

/// Returns the elements over which {% for %} iterates. Throws TemplateError if the value is not iterable.
std::vector<Value> elements(Budget& budget, const Value& value);
bool is_iterable(const Value& value);
/// Returns len(value); -1 if the value has no length.
int64_t length_or_none(Budget& budget, const Value& value);

}  // namespace smelt::templates
