// Helpers for type rules. A rule returns the result types of an op, or throws Error with the expected types;
// it is named in the last column of ops.def. Primitives' rules are in type_rules.cpp, composites' in
// composite_type_rules.cpp.
#pragma once

#include <fmt/ranges.h>

#include "ir/graph/builder.h"
#include "runtime/base/error.h"

namespace smelt::rules {

struct Context {
  Op op;
  ScalarOp scalar;
  ReduceOp reduce;
  llvm::ArrayRef<Value*> operands;
  const Attributes& attributes;
  llvm::ArrayRef<Type> declared;
  bool has_body = false;  // `operands` are then the op's own, and the rule gives what the op hands the body
  const std::vector<Type>* returned = nullptr;  // by the body, where the op makes its results of that

  const Type& type(unsigned i) const { return operands[i]->type; }
  const Type& result() const { return declared[0]; }
  /// Returns the value of an attribute or its default; all attributes are checked before a rule is called.
  template <typename T>
  decltype(auto) get(AttributeName<T> name) const {
    return read(attributes, op, name);
  }
};

using Types = std::vector<Type>;

inline void need_integer(const Context& c, unsigned i) {
  if (is_float(c.type(i).dtype) || c.type(i).dtype == DType::boolean)
    fail("{}: operand {} is {}, expected integers", name(c.op), i, str(c.type(i)));
}

inline void need_float(const Context& c, unsigned i) {
  if (!is_float(c.type(i).dtype))
    fail("{}: operand {} is {}, expected floats", name(c.op), i, str(c.type(i)));
}

inline void need_shape(const Context& c, unsigned i, const Shape& shape) {
  if (c.type(i).shape != shape)
    fail("{}: operand {} is {}, expected shape {}", name(c.op), i, str(c.type(i)), str(shape));
}

inline void need_dtype(const Context& c, unsigned i, DType dtype) {
  if (c.type(i).dtype != dtype)
    fail("{}: operand {} is {}, expected {}", name(c.op), i, str(c.type(i)), name(dtype));
}

inline void need_rank(const Context& c, unsigned i, int64_t rank) {
  if (c.type(i).rank() != rank)
    fail("{}: operand {} is {}, expected rank {}", name(c.op), i, str(c.type(i)), rank);
}

/// Returns the dim of every letter, given that operand i has letters[i]; throws Error if two operands
/// disagree.
std::map<char, Dim> letter_dims(const Context& c, llvm::ArrayRef<std::string> letters);

#define SMELT_OP(name, fewest, most, traits, rule, ...) Types infer_##rule(const Context& c);
#include "ir/ops/ops.def"

}  // namespace smelt::rules
