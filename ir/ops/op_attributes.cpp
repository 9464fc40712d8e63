#include "ir/ops/op_attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "ir/graph/graph.h"
#include "ir/text/names.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

template <typename T, typename... A>
constexpr size_t index_in(const std::variant<A...>*) {
  size_t i = 0;
  (void)((std::is_same_v<T, A> || (++i, false)) || ...);
  return i;
}
/// The index of a type in the variant Attribute.
template <typename T>
constexpr size_t kTypeOf = index_in<T>(static_cast<const Attribute*>(nullptr));

}  // namespace

namespace attr {
namespace {

/// An attribute column of a row of ir/ops/ops.def.
struct Column : AttributeColumn {
  Column otherwise(Attribute value) && {
    AttributeColumn::otherwise = std::move(value);
    return std::move(*this);
  }
  Column at_least(double bound) && {
    least = bound;
    return std::move(*this);
  }
  Column at_most(double bound) && {
    most = bound;
    return std::move(*this);
  }
  Column between(double lowest, double highest) && {
    return std::move(*this).at_least(lowest).at_most(highest);
  }
  Column one_of(std::initializer_list<std::string_view> list) && {
    words = list;
    return std::move(*this);
  }
  Column axis_of_operand() && {
    axis_of = AxisOf::operand;
    return std::move(*this);
  }
  Column axis_of_result() && {
    axis_of = AxisOf::result;
    return std::move(*this);
  }
  Column for_each_dim() && {
    AttributeColumn::name += ".I";
    AttributeColumn::for_each_dim = true;
    return std::move(*this);
  }
};

/// A row of ir/ops/attributes.def; a text alone may be of two of them, as its types differ.
struct Meaning {
  std::string_view text;
  size_t type;
  std::string_view meaning;
};
std::string_view meaning_of(std::string_view text, size_t type) {
  static const Meaning kMeanings[] = {
#define SMELT_ATTRIBUTE(name, text, type, meaning) {text, kTypeOf<type>, meaning},
#include "ir/ops/attributes.def"
  };
  for (const Meaning& row : kMeanings)
    if (row.text == text && row.type == type) return row.meaning;
  return {};
}

template <typename T>
Column may(AttributeName<T> name) {
  const size_t type = kTypeOf<T>;
  return {{std::string(name.text), type, meaning_of(name.text, type)}};
}

template <typename T>
Column need(AttributeName<T> name) {
  Column column = may(name);
  column.required = true;
  return column;
}

using Columns = std::vector<AttributeColumn>;

template <typename... C>
Columns columns(C... list) {
  Columns result;
  (result.push_back(std::move(list)), ...);
  return result;
}

constexpr double kMostRandomId = 4294967294.0;

const std::vector<Columns>& table() {
  static const std::vector<Columns> kTable = {
#define SMELT_OP(op, fewest, most, traits, rule, description, ...) columns(__VA_ARGS__),
#include "ir/ops/ops.def"
  };
  return kTable;
}

}  // namespace
}  // namespace attr

namespace {

constexpr std::array<std::string_view, 8> kTypes = {
    "true or false", "an integer",         "a number",          "a string",
    "a size",        "a list of integers", "a list of numbers", "an initializer"};

constexpr size_t kInteger = kTypeOf<int64_t>, kNumber = kTypeOf<double>, kSize = kTypeOf<Dim>,
                 kIntegers = kTypeOf<std::vector<int64_t>>, kNumbers = kTypeOf<std::vector<double>>;

/// An integer is a number and a size, too.
bool has_type(const AttributeColumn& column, const Attribute& value) {
  return value.index() == column.type ||
         (value.index() == kInteger && (column.type == kNumber || column.type == kSize));
}

std::string quoted(std::string_view word) { return fmt::format("\"{}\"", word); }

/// "a, b or c"
std::string choice(llvm::ArrayRef<std::string> list) {
  if (list.size() < 2) return list.empty() ? "" : list[0];
  return fmt::format("{} or {}", fmt::join(list.drop_back(), ", "), list.back());
}

/// Returns whether the name is the column's, with a number in the place of I.
bool is_name_of(const AttributeColumn& column, std::string_view name) {
  if (!column.for_each_dim) return column.name == name;
  const std::string_view family = std::string_view(column.name).substr(0, column.name.size() - 1);
  const std::string_view number = name.substr(std::min(family.size(), name.size()));
  return name.substr(0, family.size()) == family && !number.empty() && number.size() <= 2 &&
         (number == "0" || number[0] != '0') &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

const AttributeColumn* column_of(Op op, std::string_view name) {
  for (const AttributeColumn& column : attributes_of(op))
    if (is_name_of(column, name)) return &column;
  return nullptr;
}

/// The numbers of the value, for checks of bounds.
std::vector<double> numbers_in(const Attribute& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return {static_cast<double>(*number)};
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return {list->begin(), list->end()};
  return {};
}

bool is_in(const AttributeColumn& column, double number) {
  return !(column.least && !(number >= *column.least)) && !(column.most && !(number <= *column.most));
}

void check_bounds(Op op, std::string_view given, const AttributeColumn& column, const Attribute& value) {
  for (const double number : numbers_in(value))
    if (!is_in(column, number))
      fail("{}: attribute '{}' {} {}, expected {}", name(op), given,
           value.index() == kIntegers ? "has" : "is", number, bounds(column));
  const auto* text = std::get_if<std::string>(&value);
  if (text && !column.words.empty() && !llvm::is_contained(column.words, *text))
    fail("{}: attribute '{}' is {}, expected {}", name(op), given, str(value), bounds(column));
}

/// Axes are dims of that rank, each named once.
void check_axes(Op op, const AttributeColumn& column, const Attribute& value, int64_t rank) {
  std::vector<int64_t> axes;
  if (const auto* axis = std::get_if<int64_t>(&value)) axes = {*axis};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) axes = *list;
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      fail("{}: {} {} is outside a tensor of rank {}", name(op), column.name, axis, rank);
    if (seen[static_cast<size_t>(axis)]) fail("{}: {} names {} twice", name(op), column.name, axis);
    seen[static_cast<size_t>(axis)] = true;
  }
}

int64_t rank_of(llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> declared, bool is_result) {
  if (is_result && !declared.empty()) return declared[0].rank();
  return operands.empty() ? 0 : operands[0]->rank();
}

void check_places(Op op, const AttributeColumn& column, std::string_view given, const Attribute& value,
                  llvm::ArrayRef<Value*> operands, llvm::ArrayRef<Type> declared) {
  using AxisOf = AttributeColumn::AxisOf;
  if (column.axis_of != AxisOf::none)
    check_axes(op, column, value, rank_of(operands, declared, column.axis_of == AxisOf::result));
  const int64_t rank = rank_of(operands, declared, true);
  if (column.for_each_dim && std::stoll(std::string(given.substr(column.name.size() - 1))) >= rank)
    fail("{}: attribute '{}' is about a dim that a tensor of rank {} does not have", name(op), given, rank);
}

template <typename T>
const T& value_of(const Attributes& attributes, Op op, AttributeName<T> key) {
  const Attribute* found = attributes.find(key);
  const AttributeColumn* column = found ? nullptr : column_of(op, key.text);
  if (column && column->otherwise) found = &*column->otherwise;
  if (!found) fail("{}: attribute '{}' must be given", name(op), key.text);
  if (const T* value = std::get_if<T>(found)) return *value;
  fail("{}: attribute '{}' is {}, expected {}", name(op), key.text, str(*found), kTypes[kTypeOf<T>]);
}

}  // namespace

const std::vector<AttributeColumn>& attributes_of(Op op) { return attr::table()[static_cast<size_t>(op)]; }

const AttributeColumn& find_attribute(Op op, std::string_view given) {
  if (const AttributeColumn* column = column_of(op, given)) return *column;
  std::vector<std::string> names;
  for (const AttributeColumn& column : attributes_of(op)) names.push_back(column.name);
  llvm::sort(names);
  fail("{}: attribute '{}' is not known, expected {}{}{}", name(op), given,
       names.empty() ? "none" : choice(names),
       info(op).has(Trait::region) ? "; what else it computes is written in its body" : "",
       did_you_mean(given, names));
}

std::string_view type_name(const AttributeColumn& column) { return kTypes[column.type]; }

std::string bounds(const AttributeColumn& column) {
  std::vector<std::string> words;
  for (const std::string_view word : column.words) words.push_back(quoted(word));
  if (!words.empty()) return choice(words);
  if (column.least && column.most) return fmt::format("{} to {}", *column.least, *column.most);
  if (column.least) return fmt::format("at least {}", *column.least);
  return column.most ? fmt::format("at most {}", *column.most) : "";
}

void check_attribute(Op op, std::string_view given, const AttributeColumn& column, const Attribute& value) {
  if (!has_type(column, value))
    fail("{}: attribute '{}' is {}, expected {}", name(op), given, str(value), kTypes[column.type]);
  check_bounds(op, given, column, value);
}

void check_attributes(Op op, const Attributes& attributes, llvm::ArrayRef<Value*> operands,
                      llvm::ArrayRef<Type> declared) {
  for (const auto& [given, value] : attributes) {
    const AttributeColumn& column = find_attribute(op, given);
    check_attribute(op, given, column, value);
    check_places(op, column, given, value, operands, declared);
  }
  for (const AttributeColumn& column : attributes_of(op))
    if (column.required && !attributes.has(AttributeKey(column.name)))
      fail("{}: attribute '{}' must be given and be {}", name(op), column.name,
           column.words.empty() ? std::string(kTypes[column.type]) : bounds(column));
}

void widen(const AttributeColumn& column, Attribute& value) {
  const auto* whole = std::get_if<std::vector<int64_t>>(&value);
  if (whole && column.type == kNumbers) value = std::vector<double>(whole->begin(), whole->end());
}

// ---- reading

bool read(const Attributes& attributes, Op op, AttributeName<bool> name) {
  return value_of(attributes, op, name);
}

int64_t read(const Attributes& attributes, Op op, AttributeName<int64_t> name) {
  return value_of(attributes, op, name);
}

double read(const Attributes& attributes, Op op, AttributeName<double> name) {
  const Attribute* found = attributes.find(name);
  const auto* whole = found ? std::get_if<int64_t>(found) : nullptr;
  return whole ? static_cast<double>(*whole) : value_of(attributes, op, name);
}

Dim read(const Attributes& attributes, Op op, AttributeName<Dim> name) {
  const Attribute* found = attributes.find(name);
  const auto* whole = found ? std::get_if<int64_t>(found) : nullptr;
  return whole ? Dim(*whole) : value_of(attributes, op, name);
}

const std::string& read(const Attributes& attributes, Op op, AttributeName<std::string> name) {
  return value_of(attributes, op, name);
}

const std::vector<int64_t>& read(const Attributes& attributes, Op op,
                                 AttributeName<std::vector<int64_t>> name) {
  return value_of(attributes, op, name);
}

const std::vector<double>& read(const Attributes& attributes, Op op,
                                AttributeName<std::vector<double>> name) {
  return value_of(attributes, op, name);
}

}  // namespace smelt
