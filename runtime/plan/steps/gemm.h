// The step for matrix products.
#pragma once

#include "runtime/plan/steps/fields.h"

namespace smelt {

/// Computes C[m,n] = alpha * a_scale * b_scale * sum_k A[m,k] B[k,n] + beta * C[m,n] + bias[n], for each
/// index of the axes in `batch`. Each matrix has a row stride and a column stride, one of which is 1. All
/// strides are in elements. A scale that is missing is 1.
struct GemmStep {
  struct Matrix {
    BufferRef base;
    Dim row_stride, column_stride;
  } a, b, c;
  Dim m, n, k;
  double alpha = 1, beta = 0;
  struct Batch {
    Dim extent, a_stride, b_stride, c_stride;
    bool reduced = false;  // the products along this axis are added up in the same C
  };
  std::vector<Batch> batch = {};
  DType dtype = DType::f32;            // of A and B; products are summed in f32, those of i8 in i32
  DType result_dtype = DType::f32;     // of C and the bias; i32 if A and B are i8
  bool tf32 = false;                   // a GPU may round f32 operands to TF32 (10 bits of mantissa)
  std::optional<BufferRef> bias = {};  // requires that C has contiguous rows, and that no batch is reduced
  bool a_i8 = false, b_i8 = false;  // this operand is stored as i8; only on a CPU, and at most one of the two
  /// Every element of C is a chain: its products are added to one f32 number in natural blocks of 16 adjacent
  /// k (0 to 15, then 16 to 31, ...), as one instruction of the tensor cores adds a block. So its bits depend
  /// on its row of A and its column of B alone. Requires: operands of 16 bits, beta = 0, no bias, and no
  /// reduced batch; on a GPU, a kernel of the step (Step::kernels) that computes chains for its sizes.
  bool in_order = false;
  /// Scalars of f32, for operands of f8e4m3 on a GPU.
  std::optional<BufferRef> a_scale = {}, b_scale = {};
  /// Lines of A and B along k begin at multiples of kLineElements elements, and the step may write zeros into
  /// what follows their k elements, up to the next multiple. Only with operands of f8e4m3 and i8.
  bool padded = false;
  static constexpr int64_t kLineElements = 16;

  /// Returns the axes (extent and stride) that enumerate the elements of a matrix: rows, columns and the
  /// batch axes. C has no axis for a reduced batch. `stride` is the member of Batch for this matrix, such as
  /// &Batch::a_stride.
  std::vector<Walk> walks(const Matrix& matrix, const Dim& rows, const Dim& columns,
                          Dim Batch::* stride) const {
    std::vector<Walk> all = {{rows, matrix.row_stride}, {columns, matrix.column_stride}};
    for (const Batch& each : batch)
      if (stride != &Batch::c_stride || !each.reduced) all.push_back({each.extent, each.*stride});
    return all;
  }
};

template <typename V, Is<GemmStep::Matrix> T>
void visit_fields(V& v, T& x) {
  v("base", x.base), v("row_stride", x.row_stride), v("column_stride", x.column_stride);
}
template <typename V, Is<GemmStep::Batch> T>
void visit_fields(V& v, T& x) {
  v("extent", x.extent), v("a_stride", x.a_stride), v("b_stride", x.b_stride), v("c_stride", x.c_stride);
  v("reduced", x.reduced);
}

template <>
struct StepKind<GemmStep> {
  static constexpr std::string_view name = "gemm", keyword = "gemm";
  static constexpr bool by_template = false;
};
template <typename V, Is<GemmStep> T>
void visit_fields(V& v, T& x) {
  using Batch = GemmStep::Batch;
  v("a", x.a,
    [&] { return role::reads(x.a_i8 ? DType::i8 : x.dtype, x.walks(x.a, x.m, x.k, &Batch::a_stride)); });
  v("b", x.b,
    [&] { return role::reads(x.b_i8 ? DType::i8 : x.dtype, x.walks(x.b, x.k, x.n, &Batch::b_stride)); });
  v("bias", x.bias, [&] { return role::reads(x.result_dtype, {{x.n}}); });
  v("a_scale", x.a_scale, [&] { return role::reads(DType::f32, {}); });
  v("b_scale", x.b_scale, [&] { return role::reads(DType::f32, {}); });
  v("c", x.c, [&] {
    return role::Operand{x.beta != 0 ? PlaceUse::read_write : PlaceUse::write, x.result_dtype,
                         x.walks(x.c, x.m, x.n, &Batch::c_stride)};
  });
  v("m", x.m, role::extent()), v("n", x.n, role::extent()), v("k", x.k, role::extent());
  v("alpha", x.alpha, role::scalar), v("beta", x.beta, role::scalar);
  v("batch", x.batch, role::attribute("batches")), v("dtype", x.dtype, role::attribute());
  v("result_dtype", x.result_dtype, role::attribute()), v("tf32", x.tf32, role::attribute());
  v("a_i8", x.a_i8, role::attribute()), v("b_i8", x.b_i8, role::attribute());
  v("in_order", x.in_order, role::attribute()), v("padded", x.padded, role::attribute());
}

/// Returns the number of floating-point operations. A multiplication and an addition count as two. `size`
/// returns the value of a Dim.
template <typename Size>
double flops_of(const GemmStep& gemm, const Size& size) {
  double flops = 2;
  for (const Dim* extent : {&gemm.m, &gemm.n, &gemm.k}) flops *= static_cast<double>(size(*extent));
  for (const GemmStep::Batch& batch : gemm.batch) flops *= static_cast<double>(size(batch.extent));
  return flops;
}

}  // namespace smelt
