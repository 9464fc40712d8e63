// Conversions between memory and registers: bf16, f16 and f64 are computed as f32, integers of up to 32 bits
// as i32, i64 as itself, bytes of booleans as flags.
#pragma once

#include "codegen/cpu/scalar_math.h"
#include "runtime/base/dtype.h"

namespace smelt {

class MemoryTypes {
 public:
  using V = llvm::Value*;

  MemoryTypes(llvm::IRBuilder<>& builder, ScalarMath& math, bool native_halves)
      : b(builder), math_(math), native_halves_(native_halves) {}

  /// The type of one element in memory.
  llvm::Type* element(DType type) const;
  llvm::Type* computed(DType type) const;
  static ComputeKind kind(DType type);

  /// Memory to computation.
  V unpack(V raw, DType type);
  /// Computation to memory, rounding to nearest even. `exact`: the value is already one of `type`.
  V pack(V value, DType type, bool exact);
  /// Returns the value after a pack and an unpack.
  V convert(V value, DType type);
  /// Rounds f32 to one of its two bf16 neighbours, by adding 16 random bits below the last kept bit.
  V convert_stochastic(V value, V bits);

 private:
  V pack_bf16(V value, bool exact);
  V pack_f16(V value);
  V unpack_f16(V raw);

  llvm::IRBuilder<>& b;
  ScalarMath& math_;
  bool native_halves_;
};

}  // namespace smelt
