// Conversions between the types of elements in memory and the LLVM types that kernels compute with: bf16, f16
// and f64 are computed as f32, integers of up to 32 bits as i32, i64 as i64, and booleans, which are bytes in
// memory, as i1.
#pragma once

#include "codegen/cpu/scalar_math.h"
#include "runtime/base/dtype.h"

namespace smelt {

/// Emits these conversions for scalars and vectors.
class MemoryTypes {
 public:
  using V = llvm::Value*;

  /// `native_halves`: the processor has instructions that convert between f16 and f32. If it has none, each
  /// such conversion is emitted as a sequence of other instructions.
  MemoryTypes(llvm::IRBuilder<>& builder, ScalarMath& math, bool native_halves)
      : b(builder), math_(math), native_halves_(native_halves) {}

  /// Returns the type of one element in memory.
  llvm::Type* element(DType type) const;
  /// Returns the type of one element in registers.
  llvm::Type* computed(DType type) const;
  /// Returns the kind of number (scalar_builder.h) that elements of `type` are computed as.
  static ComputeKind kind(DType type);

  /// Converts a value or a vector from memory to its type in registers.
  V unpack(V raw, DType type);
  /// Converts a value or a vector to its type in memory, rounding to nearest even. `exact`: the value is
  /// known to be representable in `type`, so it need not be rounded.
  V pack(V value, DType type, bool exact);
  /// Rounds a value in registers to `type`, and returns it as a value in registers.
  V convert(V value, DType type);
  /// Rounds an f32 stochastically to one of its two bf16 neighbours: adds 16 random bits below the last bit
  /// that bf16 keeps, and clears the lower 16 bits. Returns an f32.
  V convert_stochastic(V value, V bits);

 private:
  V pack_bf16(V value, bool exact);
  V pack_f16(V value);
  V unpack_f16(V raw);
  V pack_f8e4m3(V value);
  V unpack_f8e4m3(V raw);

  llvm::IRBuilder<>& b;
  ScalarMath& math_;
  bool native_halves_;
};

}  // namespace smelt
