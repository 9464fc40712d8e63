// Batched matmuls: their text compiled for the host and launched as a plan says, against float64, and by
// NVRTC for every architecture.
#include "codegen/cuda/gemm/batched_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "codegen/cuda/step_kernels.h"
#include "runtime/base/half.h"
#include "runtime/cpu/shared_object.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/template_launch.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt::test {
namespace {

/// Returns C++ text: the kernel, in its own namespace, and the function kernel.name, which runs one block of
/// it.
std::string batched_host_text(const KernelCode& kernel) {
  std::string call;
  for (size_t i = 0; i < kernel.launch->arguments.size(); ++i) {
    const TemplateLaunch::Argument& argument = kernel.launch->arguments[i];
    const char* cast = argument.kind == TemplateLaunch::Argument::Kind::integer ? "(long long)a[{}]"
                       : argument.kind == TemplateLaunch::Argument::Kind::real
                           ? "__uint_as_float((unsigned)a[{}])"
                       : argument.value.str() == "c" ? "(Result*)a[{}]"
                                                     : "(Half*)a[{}]";
    call += (i > 0 ? ", " : "") + fmt::format(fmt::runtime(cast), i);
  }
  return fmt::format(
      "#define {0} device_{0}\nnamespace space_{0} {{\n{1}}}\n#undef {0}\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {0}(unsigned block, unsigned blocks, const "
      "uint64_t* a) {{\n"
      "  using namespace space_{0};\n  const auto kernel = [&] {{ device_{0}({2}); }};\n"
      "  host::run_block({3}, {{block}}, {{blocks}}, [](void* k) {{ (*(decltype(kernel)*)k)(); }}, "
      "(void*)&kernel);\n}}\n{4}",
      kernel.name, mma_gemm_host_source(kernel.source), call, kernel.threads, kMmaGemmUndefined);
}

uint16_t half_of(float x, DType dtype) { return dtype == DType::bf16 ? to_bf16(x) : to_f16(x); }
float float_of(uint16_t bits, DType dtype) { return dtype == DType::bf16 ? from_bf16(bits) : from_f16(bits); }

/// Sizes of a batch of products: 2 x 3 of them, which share A along the inner axis.
struct Sizes {
  int64_t m, n, k;
};
constexpr int64_t kOuter = 2, kInner = 3;

int64_t padded(int64_t size) { return (size + 7) / 8 * 8; }

/// The operands and the result of a case, in memory.
struct Matrices {
  std::vector<uint16_t> a, b, c16;
  std::vector<float> c32;
};

class BatchedGemms {
 public:
  BatchedGemms(BatchedGemm gemm, Sizes sizes, double alpha) : gemm_(gemm), s_(sizes), alpha_(alpha) {
    a_pitch_ = padded(gemm.a_by_k ? s_.k : s_.m), b_pitch_ = padded(gemm.b_by_k ? s_.k : s_.n);
    a_size_ = a_pitch_ * (gemm.a_by_k ? s_.m : s_.k), b_size_ = b_pitch_ * (gemm.b_by_k ? s_.n : s_.k);
    c_pitch_ = padded(s_.n), c_size_ = c_pitch_ * s_.m;
  }

  void expect_right(const KernelCode& kernel, const SharedObject& object) {
    fill();
    const auto launch = cuda::launch_of(kernel, nullptr, values());
    ASSERT_TRUE(launch);
    const auto run =
        reinterpret_cast<void (*)(unsigned, unsigned, const uint64_t*)>(object.symbol(kernel.name));
    for (unsigned i = launch->blocks; i-- > 0;) run(i, launch->blocks, launch->values.data());
    for (int64_t product = 0; product < kOuter * kInner; ++product)
      for (int64_t row = 0; row < s_.m; ++row)
        for (int64_t column = 0; column < c_pitch_; ++column) expect_element(product, row, column);
  }

 private:
  /// A has an infinity and a NaN in the first product's last row; elements that padding adds are NaNs, too.
  void fill() {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    const uint16_t nan = half_of(std::numeric_limits<float>::quiet_NaN(), gemm_.dtype);
    memory_.a.assign(static_cast<size_t>(a_size_ * kOuter), nan);
    memory_.b.assign(static_cast<size_t>(b_size_ * kOuter * kInner), nan);
    for (int64_t outer = 0; outer < kOuter; ++outer)
      for (int64_t row = 0; row < s_.m; ++row)
        for (int64_t k = 0; k < s_.k; ++k) a(outer, row, k) = half_of(normal(random), gemm_.dtype);
    for (int64_t product = 0; product < kOuter * kInner; ++product)
      for (int64_t column = 0; column < s_.n; ++column)
        for (int64_t k = 0; k < s_.k; ++k) b(product, k, column) = half_of(normal(random), gemm_.dtype);
    a(0, s_.m - 1, 0) = half_of(std::numeric_limits<float>::infinity(), gemm_.dtype);
    a(0, s_.m - 1, s_.k - 1) = nan;
    memory_.c16.assign(static_cast<size_t>(c_size_ * kOuter * kInner), kPoison);
    memory_.c32.assign(memory_.c16.size(), kPoison);
  }

  uint16_t& a(int64_t outer, int64_t row, int64_t k) {
    return memory_
        .a[static_cast<size_t>(outer * a_size_ + (gemm_.a_by_k ? row * a_pitch_ + k : k * a_pitch_ + row))];
  }
  uint16_t& b(int64_t product, int64_t k, int64_t column) {
    return memory_.b[static_cast<size_t>(product * b_size_ +
                                         (gemm_.b_by_k ? column * b_pitch_ + k : k * b_pitch_ + column))];
  }

  cuda::LaunchValues values() const {
    cuda::LaunchValues made;
    const auto address = [](const auto& list) { return reinterpret_cast<cuda::DevicePointer>(list.data()); };
    made.addresses = {{"a", address(memory_.a)}, {"b", address(memory_.b)}};
    made.addresses["c"] = gemm_.result_dtype == DType::f32 ? address(memory_.c32) : address(memory_.c16);
    made.integers = {{"m", s_.m},
                     {"n", s_.n},
                     {"k", s_.k},
                     {"a_row_stride", gemm_.a_by_k ? a_pitch_ : 1},
                     {"a_column_stride", gemm_.a_by_k ? 1 : a_pitch_},
                     {"b_row_stride", gemm_.b_by_k ? 1 : b_pitch_},
                     {"b_column_stride", gemm_.b_by_k ? b_pitch_ : 1},
                     {"c_row_stride", c_pitch_},
                     {"c_column_stride", 1},
                     {"batch0_extent", kOuter},
                     {"batch1_extent", kInner},
                     {"batch0_a_stride", a_size_},
                     {"batch1_a_stride", 0},
                     {"batch0_b_stride", kInner * b_size_},
                     {"batch1_b_stride", b_size_},
                     {"batch0_c_stride", kInner * c_size_},
                     {"batch1_c_stride", c_size_}};
    made.reals = {{"alpha", alpha_}};
    return made;
  }

  void expect_element(int64_t product, int64_t row, int64_t column) {
    const auto at = static_cast<size_t>(product * c_size_ + row * c_pitch_ + column);
    const bool wide = gemm_.result_dtype == DType::f32;
    if (column >= s_.n) {
      EXPECT_TRUE(wide ? memory_.c32[at] == kPoison : memory_.c16[at] == kPoison) << "outside of the result";
      return;
    }
    double sum = 0, bound = 0;
    for (int64_t k = 0; k < s_.k; ++k) {
      const double term = double{float_of(a(product / kInner, row, k), gemm_.dtype)} *
                          float_of(b(product, k, column), gemm_.dtype);
      sum += term, bound += std::abs(term);
    }
    const double found = wide ? memory_.c32[at] : float_of(memory_.c16[at], gemm_.dtype);
    sum *= alpha_, bound *= std::abs(alpha_) * 1e-6;
    if (!wide) bound += std::abs(sum) * (gemm_.dtype == DType::bf16 ? 4e-3 : 5e-4);
    if (std::isnan(sum))
      EXPECT_TRUE(std::isnan(found)) << row << ", " << column;
    else if (std::isinf(sum))
      EXPECT_EQ(found, sum) << row << ", " << column;
    else
      EXPECT_NEAR(found, sum, bound) << "product " << product << ", row " << row << ", column " << column;
  }

  static constexpr uint16_t kPoison = 12345;
  BatchedGemm gemm_;
  Sizes s_;
  double alpha_;
  int64_t a_pitch_ = 0, b_pitch_ = 0, c_pitch_ = 0, a_size_ = 0, b_size_ = 0, c_size_ = 0;
  Matrices memory_;
};

std::vector<BatchedGemm> all_batched_gemms() {
  std::vector<BatchedGemm> all;
  for (const bool a_by_k : {true, false})
    for (const bool b_by_k : {true, false})
      for (const DType result : {DType::bf16, DType::f32}) {
        const DType dtype = a_by_k == b_by_k ? DType::bf16 : DType::f16;
        all.push_back({dtype, result == DType::f32 ? DType::f32 : dtype, a_by_k, b_by_k, 2});
      }
  return all;
}

TEST(BatchedGemmOnHost, AgreesWithFloat64) {
  const std::vector<BatchedGemm> all = all_batched_gemms();
  std::string text = kTensorCoreDevice;
  for (const BatchedGemm& gemm : all) text += batched_host_text(batched_gemm_kernel(gemm));
  const SharedObject object(compile_text_on_host(text));
  for (const BatchedGemm& gemm : all)
    for (const Sizes sizes : {Sizes{1, 1, 1}, {3, 70, 40}, {65, 8, 64}, {64, 65, 129}, {70, 31, 200}}) {
      SCOPED_TRACE(fmt::format("{}: {} x {} x {}", gemm.name(), sizes.m, sizes.n, sizes.k));
      BatchedGemms(gemm, sizes, sizes.k > 64 ? 0.125 : 1).expect_right(batched_gemm_kernel(gemm), object);
    }
}

/// Eight blocks fit a multiprocessor.
TEST(BatchedGemmText, IsLeanOnEveryGpu) {
  if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  std::vector<CudaSource> sources;
  for (BatchedGemm gemm : all_batched_gemms())
    for (const size_t axes : {2, 3}) {
      gemm.axes = axes;
      const KernelCode kernel = batched_gemm_kernel(gemm);
      sources.push_back({kernel.source, kernel.name});
    }
  for (const int capability : {80, 90, 100})
    for (const Cubin& cubin : compile_cuda(sources, capability)) {
      EXPECT_TRUE(is_lean(cubin.resources))
          << cubin.resources.spill_bytes << " bytes spilled on sm_" << capability;
      EXPECT_LE(cubin.resources.registers, 64);
    }
}

}  // namespace
}  // namespace smelt::test
