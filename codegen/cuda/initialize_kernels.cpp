#include "codegen/cuda/initialize_kernels.h"

#include <algorithm>

#include "codegen/cuda/template_arguments.h"
#include "runtime/engine/weights/initialize.h"

namespace smelt {
namespace {

constexpr int kInitializeThreads = 256;

/// The computation of runtime/engine/weights/draws.cpp, operation by operation: no operation may be
/// contracted.
constexpr std::string_view kDraws =
    R"(__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ double unit(unsigned bits) { return times(plus((double)bits, 0.5), 0x1p-32); }

__device__ __forceinline__ double log_of(double u) {
  const unsigned long long bits = (unsigned long long)__double_as_longlong(u);
  double e = (double)(int)(bits >> 52) - 1023;
  double m = __longlong_as_double((long long)((bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull));
  if (m > 0x1.6a09e667f3bcdp0) m = times(0.5, m), e = plus(e, 1);
  const double s = __ddiv_rn(plus(m, -1), plus(m, 1)), z = times(s, s);
  double p = 1.0 / 21;
#pragma unroll
  for (int k = 19; k >= 3; k -= 2) p = plus(times(p, z), 1.0 / k);
  const double low = plus(times(times(times(2, s), z), p), times(e, 0x1.A39EF35793C76p-33));
  return plus(times(e, 0x1.62E42FEE00000p-1), plus(times(2, s), low));
}

__device__ __forceinline__ void sine_and_cosine(double angle, double& sine, double& cosine) {
  const double shifted = plus(times(angle, 0x1.45f306dc9c883p-1), 0x1.8p52), quarter = plus(shifted, -0x1.8p52);
  const unsigned quadrant = (unsigned)__double_as_longlong(shifted);
  const double r = plus(plus(angle, -times(quarter, 0x1.921FB54400000p0)), -times(quarter, 0x1.0B4611A626331p-34));
  const double z = times(r, r);
  double s = 1, c = 1;
#pragma unroll
  for (int k = 17; k >= 3; k -= 2) s = plus(1, -times(times(s, z), 1.0 / (k * (k - 1))));
#pragma unroll
  for (int k = 18; k >= 2; k -= 2) c = plus(1, -times(times(c, z), 1.0 / (k * (k - 1))));
  s = times(s, r);
  const double a = quadrant & 1 ? c : s, b = quadrant & 1 ? s : c;
  sine = quadrant & 2 ? -a : a;
  cosine = (quadrant + 1) & 2 ? -b : b;
}

__device__ __forceinline__ void draw_words(unsigned seed, unsigned id, long long group, unsigned* c) {
  c[0] = 0xFFFFFFFFu, c[1] = 0, c[2] = (unsigned)(group >> 24), c[3] = (unsigned)(group & 0xFFFFFF);
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned low0 = 0xD2511F53u * c[0], high0 = __umulhi(0xD2511F53u, c[0]);
    const unsigned low1 = 0xCD9E8D57u * c[2], high1 = __umulhi(0xCD9E8D57u, c[2]);
    c[0] = high1 ^ c[1] ^ seed, c[2] = high0 ^ c[3] ^ id;
    c[1] = low1, c[3] = low0;
    seed += 0x9E3779B9u, id += 0xBB67AE85u;
  }
}

__device__ __forceinline__ void draw_normal(const unsigned* words, double scale, float* x) {
  double radius[2];  // first of all, as divisions and roots are calls: little must be kept over them
#pragma unroll
  for (int i = 0; i < 2; ++i) radius[i] = times(scale, __dsqrt_rn(times(-2, log_of(unit(words[2 * i])))));
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    double sine, cosine;
    sine_and_cosine(times(0x1.921fb54442d18p2, unit(words[2 * i + 1])), sine, cosine);
    x[2 * i] = (float)times(radius[i], cosine), x[2 * i + 1] = (float)times(radius[i], sine);
  }
}

__device__ __forceinline__ void draw_uniform(const unsigned* words, double scale, float* x) {
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = (float)times(scale, plus(times(2, unit(words[i])), -1));
}

struct Row {
  long long first_group, offset, elements;
  double scale;
  unsigned seed, id;
  int kind, reserved;
};
)";

constexpr std::string_view kStoreF32 = R"(
__device__ __forceinline__ float stored(float x) { return x; }
)";

constexpr std::string_view kStoreBf16 = R"(
__device__ __forceinline__ unsigned short stored(float x) {
  const unsigned bits = __float_as_uint(x);  // finite: to the nearest, ties to even
  return (unsigned short)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}
)";

constexpr std::string_view kInitializeBody = R"(
struct __align__(4 * sizeof(TYPE)) Four { TYPE x[4]; };

// Four elements per thread, those of one call of Philox. Rows are found by halving.
extern "C" __global__ void __launch_bounds__(256)
    NAME(TYPE* state, const Row* rows, long long count, long long groups) {
  const long long at = (long long)blockIdx.x * 256 + threadIdx.x;
  if (at >= groups) return;
  long long low = 0, high = count;
  while (high - low > 1) {
    const long long middle = low + (high - low) / 2;
    if (rows[middle].first_group <= at) low = middle;
    else high = middle;
  }
  const Row row = rows[low];
  const long long group = at - row.first_group, first = 4 * group;
  float x[4] = {(float)row.scale, (float)row.scale, (float)row.scale, (float)row.scale};
  if (row.kind != 0) {
    unsigned words[4];
    draw_words(row.seed, row.id, group, words);
    if (row.kind == 1) draw_normal(words, row.scale, x);
    else draw_uniform(words, row.scale, x);
  }
  TYPE* to = state + row.offset + first;
  if (first + 4 <= row.elements && row.offset % 4 == 0) {
    *(Four*)to = Four{{stored(x[0]), stored(x[1]), stored(x[2]), stored(x[3])}};
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (first + i < row.elements) to[i] = stored(x[i]);
}
)";

std::string with(std::string text, std::string_view name, std::string_view value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
    text.replace(at, name.size(), value);
  return text;
}

std::string source_of(const std::string& kernel, DType dtype) {
  const bool wide = dtype == DType::f32;
  std::string body = with(std::string(kInitializeBody), "TYPE", wide ? "float" : "unsigned short");
  return std::string(kDraws) + std::string(wide ? kStoreF32 : kStoreBf16) +
         with(std::move(body), "NAME", kernel);
}

}  // namespace

std::vector<KernelCode> initialize_kernels(const std::vector<State>& states) {
  std::vector<KernelCode> kernels;
  for (const State& state : states) {
    const std::string kernel = initialize_kernel_name(state);
    if (kernel.empty() || std::ranges::find(kernels, kernel, &KernelCode::name) != kernels.end()) continue;
    KernelCode& made = kernels.emplace_back();
    made.name = kernel;
    made.range = 1;  // the rows say how many
    made.threads = kInitializeThreads;
    made.launch = TemplateLaunch{
        .arguments = {address("state", state.dtype, PlaceUse::write), address("rows", {}, PlaceUse::read),
                      integer(field("row_count")), integer(field("groups"))},
        .blocks = ceil_div(field("groups"), kInitializeThreads)};
    made.source = source_of(kernel, state.dtype);
  }
  return kernels;
}

}  // namespace smelt
