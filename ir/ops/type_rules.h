// Type rules and their helpers. A rule returns the result types of an op, or throws Error with the expected
// types. The column `type rule` of ops.def names the rule of each op. The rules are in type_rules.cpp,
// composite_type_rules.cpp and window_type_rules.cpp.
#pragma once

#include <fmt/ranges.h>

#include "ir/graph/builder.h"
#include "runtime/base/error.h"

namespace smelt::rules {

/// Arguments of a rule: the node whose types it computes.
struct Context {
  Op op;
  ScalarOp scalar;                  // if op is pointwise
  ReduceOp reduce;                  // if op is reduce
  llvm::ArrayRef<Value*> operands;  // those that the op itself reads, without the arguments of its body
  const Attributes& attributes;
  llvm::ArrayRef<Type> declared;  // result types in the text, for ops with the trait `declared`
  /// True: the rule returns the types of the values that the op passes to its body (ir/graph/body.h), and not
  /// the types of the op's results.
  bool has_body = false;
  /// Types that the body returns, if the result types of the op depend on them; else null.
  const std::vector<Type>* returned = nullptr;

  const Type& type(unsigned i) const { return operands[i]->type; }
  const Type& result() const { return declared[0]; }
  /// Returns the value of an attribute, or its default. All attributes are checked before a rule is called.
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

/// Returns the extent of every letter. letters[i] has one letter per dim of operand i. Throws Error if a
/// letter has two different extents, or if the rank of an operand is not its number of letters.
std::map<char, Dim> letter_dims(const Context& c, llvm::ArrayRef<std::string> letters);

#define SMELT_OP(name, fewest, most, traits, rule, ...) Types infer_##rule(const Context& c);
#include "ir/ops/ops.def"

}  // namespace smelt::rules
