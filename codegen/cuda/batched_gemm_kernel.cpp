#include "codegen/cuda/step_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/template_arguments.h"
#include "codegen/cuda/with_words.h"

namespace smelt {
namespace {

/// Rows, columns and depth of a tile; threads of a block; bytes of a stage: a tile of A and one of B.
constexpr int64_t kTile = 64, kThreads = 128, kStageBytes = 16 << 10, kStages = 2;
/// Elements; it keeps a tile's places in 32 bits.
constexpr int64_t kPitchesBelow = int64_t{1} << 24;
constexpr int64_t kAnyStride = int64_t{1} << 60;
/// Bytes of a piece, which divide all addresses, pitches and strides of a matrix that is copied by pieces.
constexpr int64_t kAlignment = 16;

int64_t alignment_of(DType dtype, bool by_pieces) { return by_pieces ? kAlignment : size_of(dtype); }

std::string_view type_text(DType dtype) {
  if (dtype == DType::f32) return "float";
  return dtype == DType::bf16 ? "bf16" : "f16";
}

/// Returns the text that stores two neighbouring sums to the result.
std::string put_pair_text(DType dtype) {
  if (dtype == DType::f32)
    return "SM void put_pair(float* to, float x, float y) { *(float2*)to = make_float2(x, y); }\n";
  return with_words(device::kBatchedGemmPutPair, {{"TYPE", type_text(dtype)}});
}

/// Extents of all batch axes but the outermost, then a stride of each matrix for each axis. Each ends with a
/// comma.
std::string batch_parameters(size_t axes) {
  std::string text;
  for (size_t axis = 1; axis < axes; ++axis) text += fmt::format("long long extent{}, ", axis);
  for (size_t axis = 0; axis < axes; ++axis)
    text += fmt::format("long long a{0}, long long b{0}, long long c{0}, ", axis);
  return text;
}

/// Returns the text that moves from the number of a product to its matrices, the innermost axis first.
std::string move_to_product(size_t axes) {
  if (axes == 0) return "(void)product;";
  std::string text;
  for (size_t axis = axes; axis-- > 1;)
    text += fmt::format(
        "{{ const long long i = product % (int)extent{0}; product /= (int)extent{0}; "
        "a += i * a{0}, b += i * b{0}, c += i * c{0}; }} ",
        axis);
  return text + "a += product * a0, b += product * b0, c += product * c0;";
}

/// Returns the launch: the names of the step's fields, in the order of the kernel's parameters.
TemplateLaunch launch_of(const BatchedGemm& gemm) {
  const Dim a_pitch = field(gemm.a_by_k ? "a_row_stride" : "a_column_stride"),
            b_pitch = field(gemm.b_by_k ? "b_column_stride" : "b_row_stride"),
            c_pitch = field("c_row_stride");
  const Dim m = field("m"), n = field("n"), k = field("k");
  TemplateLaunch launch{.step = "gemm"};
  const int64_t read = alignment_of(gemm.dtype, gemm.by_pieces),
                written = alignment_of(gemm.result_dtype, !gemm.in_order);
  for (const char* matrix : {"a", "b"})
    launch.arguments.push_back(address(matrix, gemm.dtype, PlaceUse::read, read));
  launch.arguments.push_back(address("c", gemm.result_dtype, PlaceUse::write, written));
  for (const Dim& number : {m, n, k, a_pitch, b_pitch, c_pitch}) launch.arguments.push_back(integer(number));
  Dim products = gemm.axes > 0 ? field("batch0_extent") : Dim(1);
  for (size_t axis = 1; axis < gemm.axes; ++axis) {
    const Dim extent = field(fmt::format("batch{}_extent", axis));
    launch.arguments.push_back(integer(extent));
    products *= extent;
  }
  const auto condition = [&](const Dim& elements, bool of_result, int64_t below) {
    const int64_t size = size_of(of_result ? gemm.result_dtype : gemm.dtype);
    launch.conditions.push_back({elements * size, of_result ? written : read, below * size});
  };
  for (const char* one : {gemm.a_by_k ? "a_column_stride" : "a_row_stride",
                          gemm.b_by_k ? "b_row_stride" : "b_column_stride", "c_column_stride"})
    launch.conditions.push_back({field(one), 1, 2}), launch.conditions.push_back({1 - field(one), 1, 1});
  const int64_t below = gemm.by_pieces ? kPitchesBelow : kAnyStride;
  condition(a_pitch, false, below), condition(b_pitch, false, below);
  condition(c_pitch, true, gemm.in_order ? kAnyStride : kPitchesBelow);
  for (size_t axis = 0; axis < gemm.axes; ++axis)
    for (const char* matrix : {"a", "b", "c"}) {
      const Dim stride = field(fmt::format("batch{}_{}_stride", axis, matrix));
      launch.arguments.push_back(integer(stride));
      condition(stride, *matrix == 'c', kAnyStride);
    }
  launch.arguments.push_back(real("alpha"));
  launch.blocks = products * ceil_div(m, kTile) * ceil_div(n, kTile);
  launch.shared_bytes = ceil_div(k, kTile) * kStageBytes;
  return launch;
}

}  // namespace

KernelCode batched_gemm_kernel(const BatchedGemm& gemm) {
  KernelCode kernel;
  kernel.name = gemm.name();
  kernel.range = 1;  // the step says how many
  kernel.threads = kThreads;
  kernel.shared_bytes = kStages * kStageBytes;
  kernel.launch = launch_of(gemm);
  kernel.source = fmt::format(
      "// Matmuls of many small matrices on the tensor cores: A by {}, B by {}.\n"
      "#define SM static __device__ __forceinline__\n"
      "#define KERNEL {}\n#define MMA_TYPE \"{}\"\n#define A_BY_K {}\n#define B_BY_K {}\n"
      "#define BY_PIECES {}\n"
      "#define BATCH_PARAMETERS {}\n#define MOVE_TO_PRODUCT {}\n"
      "struct alignas(16) Piece {{ unsigned bits[4]; }};\n{}typedef unsigned short Half;\ntypedef {} "
      "Result;\n{}",
      gemm.a_by_k ? "k" : "m", gemm.b_by_k ? "k" : "n", kernel.name, type_text(gemm.dtype), int{gemm.a_by_k},
      int{gemm.b_by_k}, int{gemm.by_pieces}, batch_parameters(gemm.axes), move_to_product(gemm.axes),
      put_pair_text(gemm.result_dtype), type_text(gemm.result_dtype),
      std::string(device::kBatchedGemmInstructions) + std::string(device::kBatchedGemmKernel));
  return kernel;
}

}  // namespace smelt
