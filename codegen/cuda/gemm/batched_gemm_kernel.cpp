#include <fmt/format.h>

#include "codegen/cuda/gemm/mma_gemm_text.h"
#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

/// Small tiles and few registers, since the matrices are small: their blocks hide each other's loads.
constexpr MmaTiles kTiles = {
    .rows = 64, .columns = 64, .depth = 64, .stages = 2, .warp_rows = 32, .warp_columns = 32, .blocks = 8};
/// Elements; it keeps a tile's places in 32 bits.
constexpr int64_t kPitchesBelow = int64_t{1} << 24;
/// Bytes that divide all addresses, pitches and strides.
constexpr int64_t kAlignment = 16;

/// Extents of all batch axes, then a stride of each matrix for each axis.
std::string batch_parameters(size_t axes) {
  std::string text;
  for (size_t axis = 0; axis < axes; ++axis) text += fmt::format("long long extent{}, ", axis);
  for (size_t axis = 0; axis < axes; ++axis)
    text += fmt::format("long long a{0}, long long b{0}, long long c{0}, ", axis);
  return text;
}

/// Returns the text that moves these pointers to a product. matrices: their names in batch_parameters.
std::string move_text(size_t axes, const std::vector<std::pair<std::string, char>>& matrices) {
  std::vector<ProductAxis> all;
  for (size_t axis = 0; axis < axes; ++axis) {
    ProductAxis& made = all.emplace_back(fmt::format("extent{}", axis));
    for (const auto& [pointer, name] : matrices)
      made.strides.emplace_back(pointer, fmt::format("{}{}", name, axis));
  }
  return move_to_product(all);
}

std::string products_text(size_t axes) {
  std::string text = "(int)extent0";
  for (size_t axis = 1; axis < axes; ++axis) text += fmt::format(" * (int)extent{}", axis);
  return text;
}

std::string batched_entry_of(const BatchedGemm& gemm) {
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(kThreads, {}) {}(const Half* a, const Half* b, Result* "
      "c, "
      "long long m, long long n, long long k, long long a_pitch, long long b_pitch, long long c_pitch, "
      "{}float alpha) {{\n"
      "  gemm({{a, b, (int)a_pitch, (int)b_pitch}}, (int)m, (int)n, (int)k, {}, alpha,\n"
      "       [&](int product, Operands& to) {{ {}}},\n"
      "       [&](int product) {{ Part part = {{{{c, c_pitch}}, 0, (int)m, (int)n}}; {}return part; "
      "}});\n}}\n",
      kTiles.blocks, gemm.name(), batch_parameters(gemm.axes), products_text(gemm.axes),
      move_text(gemm.axes, {{"to.a", 'a'}, {"to.b", 'b'}}), move_text(gemm.axes, {{"part.body.c", 'c'}}));
}

std::string batched_source_of(const BatchedGemm& gemm) {
  return "// Matmuls of many small matrices on the tensor cores.\n#define SM static __device__ "
         "__forceinline__\n" +
         mma_gemm_prelude({.dtype = gemm.dtype,
                           .tiles = kTiles,
                           .a_transposed = !gemm.a_by_k,
                           .b_transposed = !gemm.b_by_k,
                           .rounded = gemm.result_dtype != DType::f32,
                           .batched = true}) +
         mma_gemm_store(gemm.result_dtype) + mma_gemm_function() + batched_entry_of(gemm);
}

/// Returns the launch: the names of the step's fields, in the order of the kernel's parameters.
TemplateLaunch batched_launch_of(const BatchedGemm& gemm) {
  const Dim a_pitch = field(gemm.a_by_k ? "a_row_stride" : "a_column_stride"),
            b_pitch = field(gemm.b_by_k ? "b_column_stride" : "b_row_stride"),
            c_pitch = field("c_row_stride");
  const Dim m = field("m"), n = field("n"), k = field("k");
  TemplateLaunch launch{.step = "gemm"};
  for (const char* matrix : {"a", "b"})
    launch.arguments.push_back(address(matrix, gemm.dtype, PlaceUse::read, kAlignment));
  launch.arguments.push_back(address("c", gemm.result_dtype, PlaceUse::write, kAlignment));
  for (const Dim& number : {m, n, k, a_pitch, b_pitch, c_pitch}) launch.arguments.push_back(integer(number));
  Dim products = 1;
  for (size_t axis = 0; axis < gemm.axes; ++axis) {
    const Dim extent = field(fmt::format("batch{}_extent", axis));
    launch.arguments.push_back(integer(extent));
    products *= extent;
  }
  const auto condition = [&](const Dim& elements, DType dtype, int64_t below) {
    launch.conditions.push_back({elements * size_of(dtype), kAlignment, below});
  };
  const auto pitch_of = [&](const Dim& pitch, DType dtype) {
    condition(pitch, dtype, kPitchesBelow * size_of(dtype));
  };
  for (const char* one : {gemm.a_by_k ? "a_column_stride" : "a_row_stride",
                          gemm.b_by_k ? "b_row_stride" : "b_column_stride", "c_column_stride"})
    launch.conditions.push_back({field(one), 1, 2}), launch.conditions.push_back({1 - field(one), 1, 1});
  pitch_of(a_pitch, gemm.dtype), pitch_of(b_pitch, gemm.dtype), pitch_of(c_pitch, gemm.result_dtype);
  for (size_t axis = 0; axis < gemm.axes; ++axis)
    for (const char* matrix : {"a", "b", "c"}) {
      const Dim stride = field(fmt::format("batch{}_{}_stride", axis, matrix));
      launch.arguments.push_back(integer(stride));
      condition(stride, *matrix == 'c' ? gemm.result_dtype : gemm.dtype, TemplateLaunch::Condition{}.below);
    }
  launch.arguments.push_back(real("alpha"));
  launch.blocks = products * ceil_div(m, kTiles.rows) * ceil_div(n, kTiles.columns);
  launch.shared_bytes = ceil_div(k, kTiles.depth) * mma_stage_bytes(kTiles);
  return launch;
}

}  // namespace

KernelCode batched_gemm_kernel(const BatchedGemm& gemm) {
  KernelCode kernel;
  kernel.name = gemm.name();
  kernel.range = 1;  // the step says how many
  kernel.threads = kTiles.threads();
  kernel.shared_bytes = mma_shared_bytes(kTiles, 0);
  kernel.launch = batched_launch_of(gemm);
  kernel.source = batched_source_of(gemm);
  return kernel;
}

}  // namespace smelt
