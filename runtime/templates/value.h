// Values of templates: those of Python that chat templates use. Values do not change after they are made; the
// exceptions are objects (namespaces, loops, iterators), which live until the rendering ends.
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

struct None {};

/// The result of a look-up that found nothing. The message says what was looked up.
struct Undefined {
  std::string message;
};

struct Text {
  std::string bytes;  // valid UTF-8
  size_t length;      // code points
  bool safe = false;  // came from the filter safe or escape: what is added to it is escaped for HTML
  bool ascii() const { return length == bytes.size(); }
};

/// Arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A value with identity: functions, macros, ranges, namespaces and the like.
class Object {
 public:
  virtual ~Object() = default;
  /// The name of its Python type.
  virtual std::string_view type() const = 0;
  /// Returns whether the attribute exists, and stores it in `out`.
  virtual bool attribute(Interpreter&, std::string_view, Value&) { return false; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter&, Arguments&);
  virtual bool iterable() const { return false; }
  /// Appends the elements; an iterator is then empty.
  virtual void iterate(Budget&, std::vector<Value>&) {}
  virtual bool sized() const { return false; }
  virtual int64_t size(Budget&) { return 0; }
  virtual void represent(TextBuilder& out) const;
  /// Levels of values inside values, as of lists.
  virtual int depth() const { return 0; }
  /// Drops all values, which breaks cycles when the rendering ends.
  virtual void clear() {}
};

struct List;
struct Tuple;
struct Dict;

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

  /// The elements of a list or tuple, or null.
  const std::vector<Value>* sequence() const;
  /// Whether an int or bool of Python, and its value.
  bool whole(int64_t& out) const;
  /// The name of its Python type.
  std::string_view type() const;
  bool truth() const;
  int depth() const;

 private:
  template <typename T>
  T* pointer() const {
    const auto held = std::get_if<std::shared_ptr<T>>(&rep_);
    return held ? held->get() : nullptr;
  }
  Rep rep_;
};

struct List {
  std::vector<Value> items;
  int depth = 1;
};

struct Tuple {
  std::vector<Value> items;
  int depth = 1;
  bool group = false;    // a result of the filter groupby, whose elements have the names grouper and list
  bool hashable = true;  // no element is a list or a dict
  size_t hash = 0;       // of the elements, if hashable
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_multimap<size_t, uint32_t> index;
  int depth = 1;
  /// Returns null if the key does not exist. Throws TemplateError if it is not hashable.
  const Value* find(Budget& budget, const Value& key) const;
  const Value* find(std::string_view key) const;
};

// ---- Construction. Each spends the steps of the value's size.
Value make_text(Budget& budget, std::string bytes, bool safe = false);
Value make_list(Budget& budget, std::vector<Value> items);
Value make_tuple(Budget& budget, std::vector<Value> items, bool group = false);
/// Later values of equal keys replace earlier ones. Throws TemplateError if a key is not hashable.
Value make_dict(Budget& budget, std::vector<std::pair<Value, Value>> items);
Value make_undefined(std::string message);
/// Converts JSON. Throws TemplateError for integers that have more than 64 bits and for text that is not
/// UTF-8.
Value from_json(Budget& budget, const nlohmann::ordered_json& json);

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
/// Returns the depth of a container of these elements: that of the deepest, plus 1.
int deepest(const std::vector<Value>& items);
/// Throws TemplateError if the value is undefined.
void require_defined(const Value& value);
bool equal(Budget& budget, const Value& a, const Value& b);
bool identical(const Value& a, const Value& b);
/// a < b as Python orders them. Throws TemplateError for types that have no order.
bool less(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<");
bool less_or_equal(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<=");
size_t hash(const Value& value);
bool contains(Budget& budget, const Value& container, const Value& item);

/// Appends str(value) or repr(value).
void append_str(TextBuilder& out, const Value& value);
void append_repr(TextBuilder& out, const Value& value);
std::string str(Budget& budget, const Value& value);
std::string repr(Budget& budget, const Value& value);
/// repr of a Python float.
std::string real_text(double value);
/// Appends repr of a str; with `ascii`, code points above 127 are escaped.
void append_quoted(TextBuilder& out, std::string_view text, bool ascii = false);

/// The elements that `for` visits. Throws TemplateError if the value is not iterable.
std::vector<Value> elements(Budget& budget, const Value& value);
bool is_iterable(const Value& value);
/// len(value); -1 if the value has no length.
int64_t length_or_none(Budget& budget, const Value& value);

}  // namespace smelt::templates
