// Rows whose last vector is cut short at a place that is known: in accesses of four, two and one elements,
// and nothing beside the row is touched.
#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "runtime/base/half.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr int64_t kRows = 5;
constexpr uint16_t kUntouched = 0x4321;

/// y = 2 x, rows of `n` elements, `pitch` apart.
Kernel doubled_rows(int64_t n, int64_t pitch, DType type) {
  KernelBuilder b("k_double");
  const int r = b.parallel(kRows), c = b.column(n);
  const int x = b.input(type), y = b.output(DType::bf16);
  const KernelBuilder::Strides place = {{r, pitch}, {c, 1}};
  b.column_block();
  const int value = type == DType::f32 ? b.load(x, place) : b.convert(b.load(x, place), DType::f32);
  b.store(y, place, b.convert(b.op(ScalarOp::mul, {value, b.number(2)}), DType::bf16));
  for (KernelParam& param : b.kernel.params) param.alignment = 16;
  schedule(b.kernel, {}, parse_target("sm_90"));
  return b.kernel;
}

class VectorEnd : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, VectorEnd, testing::Values(1, 2, 3, 5, 7, 41, 42, 43, 44, 45, 46, 47, 48));

TEST_P(VectorEnd, HasWhatTheRowHas) {
  const int64_t n = GetParam(), pitch = (n + 7) / 8 * 8;
  std::vector<uint16_t> x(static_cast<size_t>(kRows * pitch));
  for (size_t i = 0; i < x.size(); ++i) x[i] = to_bf16(static_cast<float>(i));
  std::vector<float> wide(x.size());
  std::transform(x.begin(), x.end(), wide.begin(), from_bf16);
  for (const DType type : {DType::bf16, DType::f32}) {
    const Kernel kernel = doubled_rows(n, pitch, type);
    const int64_t end = n % kernel.schedule.vector_width;
    EXPECT_EQ(emit_cuda(kernel).find(fmt::format("sm_store_end<true, {}>", end)) != std::string::npos,
              end != 0);
    std::vector<uint16_t> y(x.size(), kUntouched);
    void* from = type == DType::f32 ? static_cast<void*>(wide.data()) : x.data();
    CompiledKernel::run(kernel, {.buffers = {from, y.data()}});
    for (size_t i = 0; i < y.size(); ++i) {
      const bool beside = static_cast<int64_t>(i) % pitch >= n;
      EXPECT_EQ(y[i], beside ? kUntouched : to_bf16(2 * wide[i])) << i;
    }
  }
}

}  // namespace
}  // namespace smelt::test
