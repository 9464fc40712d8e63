// What type rules are written with. A rule returns the result types of an op, or throws Error saying what it
// expected; it is named in the last column of ops.def. Primitives' rules are in type_rules.cpp, composites'
// in composite_type_rules.cpp.
#pragma once

#include <fmt/ranges.h>

#include "ir/builder.h"
#include "runtime/error.h"

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
};

using Types = std::vector<Type>;

template <typename T>
const T* attribute(const Context& c, std::string_view name) {
  auto it = c.attributes.find(name);
  return it == c.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

template <typename T>
const T& need(const Context& c, std::string_view name, std::string_view kind) {
  if (const T* value = attribute<T>(c, name)) return *value;
  fail("{}: attribute '{}' must be given and be {}", smelt::name(c.op), name, kind);
}

inline int64_t need_int(const Context& c, std::string_view name) {
  return need<int64_t>(c, name, "an integer");
}

inline double need_number(const Context& c, std::string_view name) {
  if (const int64_t* value = attribute<int64_t>(c, name)) return static_cast<double>(*value);
  return need<double>(c, name, "a number");
}

inline int64_t need_axis(const Context& c, int64_t rank) {
  const int64_t axis = need_int(c, "axis");
  if (axis < 0 || axis >= rank) fail("{}: axis {} is outside a tensor of rank {}", name(c.op), axis, rank);
  return axis;
}

inline Dim need_dim(const Context& c, std::string_view name) {
  if (const int64_t* value = attribute<int64_t>(c, name)) return *value;
  return need<Dim>(c, name, "a dim");
}

/// A list of distinct axes below rank.
inline const std::vector<int64_t>& need_axes(const Context& c, std::string_view name, int64_t rank) {
  const auto& axes = need<std::vector<int64_t>>(c, name, "a list of axes");
  std::vector<bool> seen(rank);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      fail("{}: {} {} is outside a tensor of rank {}", smelt::name(c.op), name, axis, rank);
    if (seen[axis]) fail("{}: {} names {} twice", smelt::name(c.op), name, axis);
    seen[axis] = true;
  }
  return axes;
}

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

/// The dim of every letter, where operand i has letters[i]; throws where two operands disagree.
std::map<char, Dim> letter_dims(const Context& c, llvm::ArrayRef<std::string> letters);

#define SMELT_OP(name, fewest, most, traits, rule) Types infer_##rule(const Context& c);
#include "ir/ops.def"

}  // namespace smelt::rules
