// Types of values in the thread IR.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/dtype.h"

namespace smelt::gpu {

/// A number that a thread computes with. Kernels compute with the first four, in the order in which numbers
/// of different types are converted to a common one.
enum class Scalar : uint8_t {
  flag,
  int32,
  int64,
  real,       // f32
  index,      // 32 or 64 bits, by Schedule::index32
  bits,       // 32 bits without a sign
  wide_real,  // f64
  byte,
  stored,  // an element in memory, of the type Type::element
};

/// The type of an expression or variable: a number, a pointer to numbers, or an array of `rank` dimensions.
struct Type {
  Scalar scalar = Scalar::int32;
  DType element = DType::f32;  // for Scalar::stored
  bool pointer = false;
  bool read_only = false;  // a pointer to, or an element of, what the thread does not write
  int rank = 0;

  Type(Scalar scalar) : scalar(scalar) {}  // NOLINT(google-explicit-constructor): most types are numbers
  /// Returns the type of an element in memory.
  static Type stored(DType element) {
    Type type(Scalar::stored);
    type.element = element;
    return type;
  }
  Type array(int dims) const {
    Type type = *this;
    type.rank = dims;
    return type;
  }
  Type pointer_to() const {
    Type type = *this;
    type.pointer = true;
    return type;
  }
  Type pointer_to_const() const {
    Type type = pointer_to();
    type.read_only = true;
    return type;
  }
  bool is_number() const { return !pointer && rank == 0; }
  bool is_integer() const {
    return is_number() && (scalar == Scalar::int32 || scalar == Scalar::int64 || scalar == Scalar::index ||
                           scalar == Scalar::bits);
  }
  bool is_real() const { return is_number() && (scalar == Scalar::real || scalar == Scalar::wide_real); }
  bool operator==(const Type&) const = default;
};

/// Returns the type that elements of a type in memory are computed in.
Scalar computed_type(DType type);

}  // namespace smelt::gpu
