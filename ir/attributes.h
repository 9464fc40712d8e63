// Attributes of nodes: values under the names of ir/attributes.def, which have a type each. Outside ir/text
// they are read and written by these typed names alone:
//
//   node.get(attr::axis)   node.set(attr::tf32, true)   b.create(Op::windows, {x}, {attr::axis(0),
//   attr::size(3)})
//
// The row of an operation in ir/ops.def lists those it takes (ir/op_attributes.h).
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/op.h"
#include "runtime/dim.h"
#include "runtime/plan/plan.h"

namespace smelt {

using Attribute = std::variant<bool, int64_t, double, std::string, Dim, std::vector<int64_t>,
                               std::vector<double>, Initializer>;
std::string str(const Attribute& attribute);
/// Appends bytes that are the same only for equal attributes of one name: much faster than comparing their
/// text.
void append_key(std::string& key, const Attribute& attribute);

/// The form in which a value is stored: a size that is a constant as an integer.
template <typename T>
Attribute stored(T value) {
  if constexpr (std::is_same_v<T, Dim>)
    if (const auto number = value.constant()) return *number;
  return Attribute(std::move(value));
}

/// A name of the table, without its type.
struct AttributeKey {
  constexpr explicit AttributeKey(std::string_view text) : text(text) {}
  std::string_view text;
};

/// An attribute with its value, for a list of them.
struct NamedAttribute {
  AttributeKey key;
  Attribute value;
};

/// A name of the table; T is the type that the attribute has in C++.
template <typename T>
struct AttributeName : AttributeKey {
  using AttributeKey::AttributeKey;
  NamedAttribute operator()(T value) const { return {*this, stored(std::move(value))}; }
};

/// "begin.1": a name that has one attribute per dim.
template <typename T>
struct NumberedName {
  std::string text;
  operator AttributeName<T>() const { return AttributeName<T>(text); }
};

namespace attr {
#define SMELT_ATTRIBUTE(name, text, type, meaning) inline constexpr AttributeName<type> name{text};
#include "ir/attributes.def"
}  // namespace attr

/// The attributes of one node, by name.
class Attributes {
 public:
  using Map = std::map<std::string, Attribute, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<NamedAttribute> list) {
    for (const NamedAttribute& each : list) (*this)[each.key] = each.value;
  }

  bool has(AttributeKey key) const { return values_.find(key.text) != values_.end(); }
  /// Null where it is not given.
  const Attribute* find(AttributeKey key) const {
    const auto found = values_.find(key.text);
    return found == values_.end() ? nullptr : &found->second;
  }
  /// Null where it is not given, or of another type.
  template <typename T>
  const T* find_as(AttributeName<T> name) const {
    const Attribute* found = find(name);
    return found ? std::get_if<T>(found) : nullptr;
  }
  template <typename T>
  void set(AttributeName<T> name, std::type_identity_t<T> value) {
    (*this)[name] = stored(std::move(value));
  }
  template <typename T>
  void set(const NumberedName<T>& name, std::type_identity_t<T> value) {
    set(AttributeName<T>(name), std::move(value));
  }
  void remove(AttributeKey key) {
    if (const auto found = values_.find(key.text); found != values_.end()) values_.erase(found);
  }
  /// Stores a value of any type; the verifier refuses a wrong one.
  Attribute& operator[](AttributeKey key) { return values_[std::string(key.text)]; }

  bool empty() const { return values_.empty(); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const Attributes&) const = default;

 private:
  Map values_;
};

// The value of an attribute, or its default where it is left out; throws Error where there is neither. An
// integer reads as a number and as a size, too.
bool read(const Attributes& attributes, Op op, AttributeName<bool> name);
int64_t read(const Attributes& attributes, Op op, AttributeName<int64_t> name);
double read(const Attributes& attributes, Op op, AttributeName<double> name);
Dim read(const Attributes& attributes, Op op, AttributeName<Dim> name);
const std::string& read(const Attributes& attributes, Op op, AttributeName<std::string> name);
const std::vector<int64_t>& read(const Attributes& attributes, Op op,
                                 AttributeName<std::vector<int64_t>> name);
const std::vector<double>& read(const Attributes& attributes, Op op, AttributeName<std::vector<double>> name);

}  // namespace smelt
