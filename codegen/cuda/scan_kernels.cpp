#include "codegen/cuda/scan_kernels.h"

#include <fmt/format.h>

#include "codegen/cuda/step_kernels.h"
#include "codegen/cuda/template_arguments.h"

namespace smelt {
namespace {

constexpr int kRowThreads = 1024, kColumnThreads = 256;

constexpr std::string_view kRowText =
    R"((const T* x_, T* y_, long long count, long long x_outer, long long x_stride, long long y_outer,
                       long long y_stride) {
  // A line a block, 4,096 elements at a time: a thread takes four neighbours, warps and then the block join what
  // their threads found. The order of sums depends on the places alone.
  __shared__ T sums[32];
  const T* const x = x_ + (long long)blockIdx.x * x_outer;
  T* const y = y_ + (long long)blockIdx.x * y_outer;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T carry = kIdentity;
  for (long long first = 0; first < count; first += 4096) {
    const long long at = first + threadIdx.x * 4;
    T v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = at + e < count ? x[(at + e) * x_stride] : kIdentity;
    T upto = combine(combine(v[0], v[1]), combine(v[2], v[3]));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const T below = __shfl_up_sync(0xFFFFFFFFu, upto, d);
      if (lane >= d) upto = combine(below, upto);
    }
    if (lane == 31) sums[warp] = upto;
    __syncthreads();
    T before = carry;
#pragma unroll
    for (int w = 0; w < 32; ++w) {
      if (w < warp) before = combine(before, sums[w]);
      carry = combine(carry, sums[w]);
    }
    const T previous = __shfl_up_sync(0xFFFFFFFFu, upto, 1);
    if (lane > 0) before = combine(before, previous);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const T with = combine(before, v[e]);
      if (at + e < count) y[(at + e) * y_stride] = kExclusive ? before : with;
      before = with;
    }
    __syncthreads();
  }
}
)";

constexpr std::string_view kColumnText =
    R"((const T* x, T* y, long long outer, long long count, long long inner, long long x_outer,
                          long long x_stride, long long y_outer, long long y_stride) {
  // A line a thread; neighbouring threads have neighbouring lines.
  const long long line = (long long)blockIdx.x * 256 + threadIdx.x;
  if (line >= outer * inner) return;
  const T* from = x + line / inner * x_outer + line % inner;
  T* to = y + line / inner * y_outer + line % inner;
  T carry = kIdentity;
  for (long long i = 0; i < count; ++i) {
    const T with = combine(carry, from[i * x_stride]);
    to[i * y_stride] = kExclusive ? carry : with;
    carry = with;
  }
}
)";

/// Scans f32, i32 and i64; integers wrap around, and NaN wins a maximum.
std::string combine_text(const std::string& kind, DType dtype) {
  const bool real = dtype == DType::f32;
  if (kind == "max") return real ? "a != a ? a : b != b ? b : a > b ? a : b" : "a > b ? a : b";
  const char* const op = kind == "add" ? "+" : "*";
  if (dtype == DType::i64) return fmt::format("(T)((unsigned long long)a {} (unsigned long long)b)", op);
  return real ? fmt::format("a {} b", op) : fmt::format("(int)((unsigned)a {} (unsigned)b)", op);
}

std::string identity_text(const std::string& kind, DType dtype) {
  if (kind != "max") return kind == "add" ? "0" : "1";
  if (dtype == DType::i64) return "-9223372036854775807ll - 1";
  return dtype == DType::f32 ? "__uint_as_float(0xFF800000u)" : "-2147483647 - 1";
}

std::string prelude(const std::string& kind, DType dtype, bool exclusive) {
  return fmt::format(
      "typedef {0} T;\n#define kIdentity ((T)({1}))\nconstexpr bool kExclusive = {2};\n"
      "__device__ __forceinline__ T combine(T a, T b) {{ return {3}; }}\n",
      dtype == DType::f32   ? "float"
      : dtype == DType::i64 ? "long long"
                            : "int",
      identity_text(kind, dtype), exclusive, combine_text(kind, dtype));
}

KernelCode kernel_of_scan(std::string name, std::string source, int threads, Dim blocks) {
  KernelCode kernel;
  kernel.name = std::move(name);
  kernel.range = 1;  // the step says how many
  kernel.threads = threads;
  kernel.source = std::move(source);
  kernel.launch = TemplateLaunch{.step = "scan", .blocks = std::move(blocks)};
  return kernel;
}

}  // namespace

std::vector<KernelCode> scan_kernels(const std::string& kind, DType dtype, bool exclusive) {
  const std::string what = fmt::format("{}_{}{}", kind, name(dtype), exclusive ? "_exclusive" : ""),
                    rows = "smelt_scan_rows_" + what, columns = "smelt_scan_columns_" + what;
  const auto source = [&](const std::string& kernel, int threads, std::string_view text) {
    return fmt::format("{}extern \"C\" __global__ void __launch_bounds__({})\n    {}{}",
                       prelude(kind, dtype, exclusive), threads, kernel, text);
  };
  const Dim outer = field("outer"), inner = field("inner");
  KernelCode by_row = kernel_of_scan(rows, source(rows, kRowThreads, kRowText), kRowThreads, outer * inner);
  KernelCode by_column = kernel_of_scan(columns, source(columns, kColumnThreads, kColumnText), kColumnThreads,
                                        ceil_div(outer * inner, kColumnThreads));
  const auto x = address("x", dtype, PlaceUse::read), y = address("y", dtype, PlaceUse::write);
  const auto number = [](const char* name) { return integer(field(name)); };
  by_row.launch->arguments = {x,
                              y,
                              number("count"),
                              number("x_outer_stride"),
                              number("x_stride"),
                              number("y_outer_stride"),
                              number("y_stride")};
  by_column.launch->arguments = {x,
                                 y,
                                 integer(outer),
                                 number("count"),
                                 integer(inner),
                                 number("x_outer_stride"),
                                 number("x_stride"),
                                 number("y_outer_stride"),
                                 number("y_stride")};
  by_row.launch->conditions = {{.value = inner, .below = 2}};
  by_column.launch->conditions = {{.value = inner * -1, .below = -1}};
  return {std::move(by_row), std::move(by_column)};
}

StepKernels step_kernels(const ScanStep& step, const Symbols&, int) {
  return {scan_kernels(step.kind, step.dtype, step.exclusive)};
}

}  // namespace smelt
