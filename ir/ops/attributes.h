// Attributes of nodes: named values. ir/ops/attributes.def lists the names, and gives each a type. Passes
// read and write attributes by these typed names:
//
//   node.get(attr::axis)
//   node.set(attr::tf32, true)
//   b.create(Op::windows, {x}, {attr::axis(0), attr::size(3)})
//
// The row of an operation in ir/ops/ops.def lists the attributes that the operation has
// (ir/ops/op_attributes.h).
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/ops/op.h"
#include "runtime/base/dim.h"
#include "runtime/plan/plan.h"

namespace smelt {

using Attribute = std::variant<bool, int64_t, double, std::string, Dim, std::vector<int64_t>,
                               std::vector<double>, Initializer>;
std::string str(const Attribute& attribute);
/// Appends bytes to `key`. Two attributes of the same name append the same bytes only if they are equal.
/// Comparing such keys is much faster than comparing the texts of the attributes.
void append_key(std::string& key, const Attribute& attribute);

/// Returns a value in the form in which it is stored: a Dim that is constant becomes an int64_t.
template <typename T>
Attribute stored(T value) {
  if constexpr (std::is_same_v<T, Dim>)
    if (const auto number = value.constant()) return *number;
  return Attribute(std::move(value));
}

/// Name of an attribute in the text form, without the type of its values.
struct AttributeKey {
  constexpr explicit AttributeKey(std::string_view text) : text(text) {}
  std::string_view text;
};

/// Name and value of an attribute, for a list of attributes.
struct NamedAttribute {
  AttributeKey key;
  Attribute value;
};

/// Name of an attribute whose values have the C++ type T.
template <typename T>
struct AttributeName : AttributeKey {
  using AttributeKey::AttributeKey;
  NamedAttribute operator()(T value) const { return {*this, stored(std::move(value))}; }
};

/// Name of an attribute that exists once per dim, with the number of the dim: "begin.1".
template <typename T>
struct NumberedName {
  std::string text;
  operator AttributeName<T>() const { return AttributeName<T>(text); }
};

namespace attr {
#define SMELT_ATTRIBUTE(name, text, type, meaning) inline constexpr AttributeName<type> name{text};
#include "ir/ops/attributes.def"
}  // namespace attr

/// Attributes of one node, by name.
class Attributes {
 public:
  using Map = std::map<std::string, Attribute, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<NamedAttribute> list) {
    for (const NamedAttribute& each : list) (*this)[each.key] = each.value;
  }

  bool has(AttributeKey key) const { return values_.find(key.text) != values_.end(); }
  /// Returns null if the attribute is absent.
  const Attribute* find(AttributeKey key) const {
    const auto found = values_.find(key.text);
    return found == values_.end() ? nullptr : &found->second;
  }
  /// Returns null if the attribute is absent or has another type.
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
  /// Returns a reference to the attribute, which is added if it is absent. The reference accepts a value of
  /// any type; the verifier rejects one of a wrong type.
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

// Each overload returns the value of an attribute of `op`, or the attribute's default if it is absent. It
// throws Error if there is neither, or if the value has another type. An integer is also read as a number
// (double) or as a size (Dim).
bool read(const Attributes& attributes, Op op, AttributeName<bool> name);
int64_t read(const Attributes& attributes, Op op, AttributeName<int64_t> name);
double read(const Attributes& attributes, Op op, AttributeName<double> name);
Dim read(const Attributes& attributes, Op op, AttributeName<Dim> name);
const std::string& read(const Attributes& attributes, Op op, AttributeName<std::string> name);
const std::vector<int64_t>& read(const Attributes& attributes, Op op,
                                 AttributeName<std::vector<int64_t>> name);
const std::vector<double>& read(const Attributes& attributes, Op op, AttributeName<std::vector<double>> name);

}  // namespace smelt
