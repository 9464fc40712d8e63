// Attributes of each operation, from the attribute columns of ir/ops/ops.def, with functions that check and
// describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ops/attributes.h"
#include "llvm/ADT/ArrayRef.h"

namespace smelt {

class Value;
struct Type;

/// One attribute that an operation has.
struct AttributeColumn {
  std::string name;          // "axis"; "begin.I" if there is one attribute for each dim I
  size_t type;               // index of the value's type in the variant Attribute
  std::string_view meaning;  // a phrase
  bool required = false;
  bool for_each_dim = false;
  std::optional<Attribute> otherwise = {};      // default value; nothing: the attribute has no default
  std::optional<double> least = {}, most = {};  // bounds of a number, or of each number in a list
  std::vector<std::string_view> words = {};     // values that a string may have; empty: any
  /// The tensor whose dims the value refers to, if the value is the number of a dim or a list of such
  /// numbers. operand: operand 0; none: the value is not a dim number.
  enum class AxisOf : uint8_t { none, operand, result } axis_of = AxisOf::none;
};

const std::vector<AttributeColumn>& attributes_of(Op op);
/// Returns the column of this name; for "begin.1" that is the column "begin.I". Throws Error with the
/// operation's attributes and the nearest names if there is no such column.
const AttributeColumn& find_attribute(Op op, std::string_view name);
/// Returns the name of the column's type: "an integer".
std::string_view type_name(const AttributeColumn& column);
/// Returns the bounds as text: "at least 1", "0 to 1", "\"add\" or \"max\""; empty if any value of the type
/// is valid.
std::string bounds(const AttributeColumn& column);
/// Throws Error if the value has another type than the column, or is out of bounds. `name` is the attribute's
/// name for the message.
void check_attribute(Op op, std::string_view name, const AttributeColumn& column, const Attribute& value);
/// Throws Error for the first attribute that is missing, unknown, of another type or out of bounds. Also
/// throws Error if a dim number (AttributeColumn::axis_of) is not below the rank of its tensor, which is
/// `operands[0]` or the result of type `declared[0]`.
void check_attributes(Op op, const Attributes& attributes, llvm::ArrayRef<Value*> operands,
                      llvm::ArrayRef<Type> declared);
/// Converts a list of integers to a list of floating-point numbers if the column expects those.
void widen(const AttributeColumn& column, Attribute& value);

}  // namespace smelt
