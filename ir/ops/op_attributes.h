// Attributes of each operation: the columns of ir/ops/ops.def, with functions that read, check and describe
// them.
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

/// Attribute of one operation.
struct AttributeColumn {
  std::string name;          // "axis"; "begin.I" where there is one for each dim I
  size_t type;               // the index in the variant Attribute
  std::string_view meaning;  // a phrase
  bool required = false;
  bool for_each_dim = false;
  std::optional<Attribute> otherwise = {};      // its value where it is left out
  std::optional<double> least = {}, most = {};  // of a number, or of each number of a list
  std::vector<std::string_view> words = {};     // that a text may be; empty: any
  enum class AxisOf : uint8_t { none, operand, result } axis_of = AxisOf::none;  // it counts the dims of that
};

const std::vector<AttributeColumn>& attributes_of(Op op);
/// Returns the column of this name, also "begin.1"; throws Error with the nearest name if the operation has
/// none.
const AttributeColumn& find_attribute(Op op, std::string_view name);
/// Returns the name of the column's type: "an integer".
std::string_view type_name(const AttributeColumn& column);
/// Returns the bounds as text: "at least 1", "0 to 1", "\"add\" or \"max\""; empty if any value of the type
/// is valid.
std::string bounds(const AttributeColumn& column);
/// Throws Error if the value has another type, or is out of bounds.
void check_attribute(Op op, std::string_view name, const AttributeColumn& column, const Attribute& value);
/// Throws Error for the first attribute that is missing, unknown, of another type, or out of bounds.
void check_attributes(Op op, const Attributes& attributes, llvm::ArrayRef<Value*> operands,
                      llvm::ArrayRef<Type> declared);
/// Converts a list of whole numbers if the column expects numbers.
void widen(const AttributeColumn& column, Attribute& value);

}  // namespace smelt
