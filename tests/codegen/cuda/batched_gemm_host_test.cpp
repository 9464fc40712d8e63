// The kernels of batched matmuls and of steps in order (codegen/cuda/batched_gemm.h), compiled for the host,
// against chains: f32 sums of natural blocks of 16 terms.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "codegen/cuda/batched_gemm.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/step_kernels.h"
#include "runtime/base/half.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

/// Text that replaces device::kBatchedGemmInstructions. Copies happen as late as they may. The tensor cores
/// add up the products of 16 elements exactly, and round once.
constexpr const char* kInstructionsOnHost = R"(
struct HostCopies {
  struct { unsigned to; const Half* from; int bytes; } copies[4][8];
  int counts[4], begun, done;
};
static thread_local HostCopies host_copies[128];
inline unsigned shared_address(const void* p) { return (unsigned)((const unsigned char*)p - host_memory); }
inline void copy_async(unsigned to, const Half* from, int bytes) {
  HostCopies& own = host_copies[threadIdx.x];
  own.copies[own.begun % 4][own.counts[own.begun % 4]++] = {to, from, bytes};
}
inline void copy_elements(unsigned to, const Half* from, int bytes) {
  __builtin_memset(host_memory + to, 0, 16);
  memcpy(host_memory + to, from, bytes);
}
inline void end_stage() {
  HostCopies& own = host_copies[threadIdx.x];
  own.counts[++own.begun % 4] = 0;
}
template <int left> void wait_for_stages() {
  HostCopies& own = host_copies[threadIdx.x];
  for (; own.begun - own.done > left; ++own.done)
    for (int i = 0; i < own.counts[own.done % 4]; ++i) {
      const auto& copy = own.copies[own.done % 4][i];
      copy_elements(copy.to, copy.from, copy.bytes);
    }
}
inline void load_matrices(unsigned (&to)[4], unsigned address, bool transposed) {
  auto& lanes = host_lanes[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  lanes[lane][0] = address;
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    const auto at = [&](int r, int c) {
      return ((const Half*)(host_memory + lanes[8 * i + (transposed ? c : r)][0]))[transposed ? r : c];
    };
    to[i] = at(lane / 4, 2 * (lane % 4)) | (unsigned)at(lane / 4, 2 * (lane % 4) + 1) << 16;
  }
  __syncwarp(~0u);
}
inline void load_fragments(unsigned (&to)[4], unsigned address) { load_matrices(to, address, false); }
inline void load_transposed(unsigned (&to)[4], unsigned address) { load_matrices(to, address, true); }
inline double widen_word(unsigned word, int upper) { return WIDEN(word >> 16 * upper & 0xffff); }
inline void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  auto& lanes = host_lanes[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  const unsigned own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  memcpy(lanes[lane], own, sizeof own);
  __syncwarp(~0u);
  for (int i = 0; i < 4; ++i) {
    double sum = 0;
    for (int k = 0; k < 16; ++k)
      sum += widen_word(lanes[lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2], k % 2) *
             widen_word(lanes[4 * (2 * (lane % 4) + i % 2) + k % 8 / 2][4 + k / 8], k % 2);
    d[i] = (float)(d[i] + sum);
  }
  __syncwarp(~0u);
}
)";

void replace(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

std::string host_text(const BatchedGemm& gemm, const KernelCode& kernel) {
  std::string text = kernel.source, call;
  replace(text, device::kBatchedGemmInstructions, kInstructionsOnHost);
  replace(text, "*(float2*)to = make_float2(x, y);", "to[0] = x, to[1] = y;");
  replace(text, "extern __shared__ __align__(128) unsigned char memory[];",
          "unsigned char* const memory = host_memory;");
  replace(text, "#define KERNEL " + kernel.name, "#define KERNEL device_" + kernel.name);
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const TemplateLaunch::Argument& argument = kernel.launch->arguments[i];
    const bool integer = argument.kind == TemplateLaunch::Argument::Kind::integer,
               real = argument.kind == TemplateLaunch::Argument::Kind::real;
    call += fmt::format("{}{}a[{}]{}", i > 0 ? ", " : "",
                        integer                       ? "(long long)"
                        : real                        ? "__uint_as_float((unsigned)"
                        : argument.value.str() == "c" ? "(Result*)"
                                                      : "(Half*)",
                        i, real ? ")" : "");
  }
  return fmt::format(
      "#define WIDEN widen_{0}\nnamespace space_{1} {{\n{2}}}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {1}(unsigned block, unsigned blocks, const "
      "uint64_t* a) {{\n"
      "  using namespace space_{1};\n  const auto kernel = [&] {{ device_{1}({3}); }};\n"
      "  host::run_block({4}, {{block}}, {{blocks}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n}}\n"
      "#undef WIDEN\n#undef SM\n#undef KERNEL\n#undef MMA_TYPE\n#undef A_BY_K\n#undef B_BY_K\n#undef "
      "BY_PIECES\n"
      "#undef BATCH_PARAMETERS\n#undef MOVE_TO_PRODUCT\n",
      cuda_memory_type(gemm.dtype), kernel.name, text, call, kernel.threads);
}

/// Numbers that are multiples of 2^-14, so that sums of products are exact in float64 (but not in f32).
std::vector<uint16_t> random_halves(int64_t count, DType dtype, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<uint16_t> halves(static_cast<size_t>(count));
  for (uint16_t& x : halves) {
    const float value = std::round(normal(random) * 16384) / 16384;
    x = dtype == DType::bf16 ? to_bf16(value) : to_f16(value);
  }
  return halves;
}

/// Products of a batch of `extents`, with gaps between rows and matrices.
struct Product {
  BatchedGemm gemm;
  int64_t m, n, k, gap;
  std::vector<int64_t> extents;

  int64_t a_pitch = (gemm.a_by_k ? k : m) + gap, b_pitch = (gemm.b_by_k ? k : n) + gap, c_pitch = n + gap;
  int64_t a_stride = a_pitch * (gemm.a_by_k ? m : k), b_stride = b_pitch * (gemm.b_by_k ? n : k),
          c_stride = c_pitch * m;

  int64_t count() const {
    int64_t all = 1;
    for (const int64_t extent : extents) all *= extent;
    return all;
  }
  cuda::LaunchValues values(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                            std::vector<float>& c) const {
    const auto address = [](const auto& from) { return reinterpret_cast<cuda::DevicePointer>(from.data()); };
    cuda::LaunchValues values{.addresses = {{"a", address(a)}, {"b", address(b)}, {"c", address(c)}},
                              .integers = {{"m", m},
                                           {"n", n},
                                           {"k", k},
                                           {"a_row_stride", gemm.a_by_k ? a_pitch : 1},
                                           {"a_column_stride", gemm.a_by_k ? 1 : a_pitch},
                                           {"b_row_stride", gemm.b_by_k ? 1 : b_pitch},
                                           {"b_column_stride", gemm.b_by_k ? b_pitch : 1},
                                           {"c_row_stride", c_pitch},
                                           {"c_column_stride", 1}},
                              .reals = {{"alpha", 0.5}}};
    int64_t inner = 1;
    for (size_t axis = extents.size(); axis-- > 0;) {
      const std::string name = fmt::format("batch{}_", axis);
      values.integers[name + "extent"] = extents[axis];
      values.integers[name + "a_stride"] = inner * a_stride;
      values.integers[name + "b_stride"] = inner * b_stride;
      values.integers[name + "c_stride"] = inner * c_stride;
      inner *= extents[axis];
    }
    return values;
  }
  float chain(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, int64_t at, int64_t row,
              int64_t column) const {
    const auto widened = [&](uint16_t bits) {
      return double{gemm.dtype == DType::bf16 ? from_bf16(bits) : from_f16(bits)};
    };
    float sum = 0;
    for (int64_t begin = 0; begin < k; begin += 16) {
      double block = sum;
      for (int64_t i = begin; i < std::min(begin + 16, k); ++i) {
        const int64_t in_a = at * a_stride + (gemm.a_by_k ? row * a_pitch + i : i * a_pitch + row),
                      in_b = at * b_stride + (gemm.b_by_k ? column * b_pitch + i : i * b_pitch + column);
        block += widened(a[static_cast<size_t>(in_a)]) * widened(b[static_cast<size_t>(in_b)]);
      }
      sum = static_cast<float>(block);
    }
    return 0.5F * sum;
  }
  void expect_chains(const SharedObject& object, const KernelCode& kernel) const {
    std::mt19937 random(7);
    const auto a = random_halves(count() * a_stride + 8, gemm.dtype, random),
               b = random_halves(count() * b_stride + 8, gemm.dtype, random);
    std::vector<float> c(static_cast<size_t>(count() * c_stride), -1);
    const auto launch = cuda::launch_of(kernel, nullptr, values(a, b, c));
    ASSERT_TRUE(launch) << kernel.name;
    const auto block =
        reinterpret_cast<void (*)(unsigned, unsigned, const uint64_t*)>(object.symbol(kernel.name));
    for (unsigned i = 0; i < launch->blocks; ++i) block(i, launch->blocks, launch->values.data());
    for (int64_t at = 0; at < count(); ++at)
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < c_pitch; ++column)
          ASSERT_EQ(c[static_cast<size_t>(at * c_stride + row * c_pitch + column)],
                    column < n ? chain(a, b, at, row, column) : -1)
              << kernel.name << ": " << at << " " << row << " " << column;
  }
};

std::vector<BatchedGemm> kernels_in_order(DType dtype) {
  std::vector<BatchedGemm> all;
  for (size_t axes = 0; axes < 3; ++axes)
    for (const bool a_by_k : {false, true})
      for (const bool b_by_k : {false, true})
        for (const bool by_pieces : {false, true})
          all.push_back({.dtype = dtype,
                         .result_dtype = DType::f32,
                         .a_by_k = a_by_k,
                         .b_by_k = b_by_k,
                         .axes = axes,
                         .in_order = true,
                         .by_pieces = by_pieces});
  return all;
}

TEST(BatchedGemmOnHost, SumsAreChains) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const std::vector<BatchedGemm> all = kernels_in_order(dtype);
    std::string text = kTensorCoreDevice;
    for (const BatchedGemm& gemm : all) text += host_text(gemm, batched_gemm_kernel(gemm));
    const SharedObject object(compile_text_on_host(text));
    const std::vector<int64_t> batches[] = {{}, {2}, {2, 2}};
    for (const BatchedGemm& gemm : all) {
      const KernelCode kernel = batched_gemm_kernel(gemm);
      const std::vector<int64_t>& batch = batches[gemm.axes];
      if (gemm.by_pieces)
        Product{gemm, 72, 40, 200, 8, batch}.expect_chains(object, kernel);
      else
        Product{gemm, 67, 35, 197, 3, batch}.expect_chains(object, kernel);
    }
  }
}

TEST(BatchedGemmOnHost, OddPitchesAreNotCopiedByPieces) {
  BatchedGemm gemm{.axes = 0, .in_order = true};
  const Product product{gemm, 3, 5, 17, 0, {}};
  std::vector<uint16_t> operand(256);
  std::vector<float> result(64);
  const cuda::LaunchValues values = product.values(operand, operand, result);
  EXPECT_FALSE(cuda::launch_of(batched_gemm_kernel(gemm), nullptr, values));
  gemm.by_pieces = false;
  EXPECT_TRUE(cuda::launch_of(batched_gemm_kernel(gemm), nullptr, values));
}

TEST(BatchedGemmOnHost, ItsCodeNeitherSpillsNorHasAStack) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  std::vector<CudaSource> sources;
  for (BatchedGemm gemm : kernels_in_order(DType::bf16)) {
    gemm.result_dtype = gemm.a_by_k ? DType::bf16 : DType::f32;
    sources.push_back({batched_gemm_kernel(gemm).source, gemm.name()});
  }
  for (const Cubin& cubin : compile_cuda(sources, 90))
    EXPECT_EQ(std::pair(cubin.resources.stack_bytes, cubin.resources.spill_bytes), std::pair(0, 0));
}

}  // namespace
}  // namespace smelt::test
