// GEMMs of matrices that are stored in 16 or 8 bits. Operands are converted to f32 in scratch memory,
// multiplied in f32, and the result is rounded to its type.
#pragma once

#include <memory>
#include <optional>

#include "runtime/base/dtype.h"
#include "runtime/cpu/gemm.h"
#include "runtime/cpu/small_m.h"

namespace smelt {

/// True for an operand that is stored as i8.
struct ByteOperands {
  bool a = false, b = false;
};

/// A GEMM of matrices of the types f32, bf16, f16 and f8e4m3; operands may also be i8. f32 matrices are used
/// in place. Sums are f32.
class TypedGemm {
 public:
  TypedGemm() = default;
  /// `operands`: type of the operands that are not i8. `result`: type of c. `place` names the step in
  /// messages. Throws Error if the constructor of PreparedGemm (gemm.h) does.
  TypedGemm(const GemmSizes& sizes, DType operands, DType result, const std::string& place,
            ByteOperands bytes = {});
  /// Computes c = alpha * a b + beta * c, and adds the bias if it is not null. alpha and beta are in
  /// GemmSizes. The bias has the result's type and one element per column. Requires, with a bias: the
  /// elements of each row of c are contiguous.
  void run(const void* a, const void* b, void* c, const void* bias = nullptr) const;

 private:
  /// Returns the number of elements from the matrix's first element to its last one, over all batches.
  int64_t reach(const GemmSizes::Matrix& matrix, int64_t rows, int64_t columns,
                int64_t GemmSizes::Batch::* stride) const;
  using Scratch = std::unique_ptr<float[]>;
  static const float* widened(const void* from, DType dtype, int64_t count, Scratch& scratch);
  void multiply(const void* a, const void* b, float* c) const;
  void add_bias(const void* bias, float* c) const;
  void write_result(const float* scratch, void* c) const;

  GemmSizes sizes_;
  DType operands_ = DType::f32, result_ = DType::f32;
  ByteOperands bytes_;
  std::optional<SmallM> few_;  // if set, it computes the product, and reads the i8 operand without scratch
  PreparedGemm gemm_;
};

}  // namespace smelt
