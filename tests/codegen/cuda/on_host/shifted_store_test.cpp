// Rows of a result that begin at any byte: lanes of a warp exchange elements, and nothing next to the rows is
// touched.
#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "runtime/base/half.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

constexpr int64_t kPackedRows = 9;  // which begin at all places in 16 bytes where rows are odd

/// y = x, of rows that begin `pitch` apart and of rows without gaps.
Kernel packed_rows(int64_t n, int64_t pitch, DType type) {
  KernelBuilder b("k_pack");
  const int r = b.parallel(kPackedRows), c = b.column(n);
  const int x = b.input(type), y = b.output(type);
  b.column_block();
  const int loaded = b.load(x, {{r, pitch}, {c, 1}});
  const int value = type == DType::f32 ? loaded : b.convert(loaded, DType::f32);
  b.store(y, {{r, n}, {c, 1}}, type == DType::f32 ? value : b.convert(value, type));
  for (KernelParam& param : b.kernel.params) param.alignment = 16;
  schedule(b.kernel, {}, parse_target("sm_90"));
  b.kernel.schedule.vector_width = type == DType::f32 ? 4 : 8;  // as of a result of more rows
  b.kernel.schedule.shifted = true;
  return b.kernel;
}

template <typename T>
void expect_packed(int64_t n, DType type, T (*number)(size_t)) {
  const int64_t pitch = (n + 63) / 64 * 64;
  const Kernel kernel = packed_rows(n, pitch, type);
  EXPECT_NE(emit_cuda(kernel).find("sm_store_shifted("), std::string::npos) << n;
  std::vector<T> x(static_cast<size_t>(kPackedRows * pitch));
  for (size_t i = 0; i < x.size(); ++i) x[i] = number(i);
  const T beside = number(7777);
  std::vector<T> y(static_cast<size_t>(kPackedRows * n) + 64, beside);
  CompiledKernel::run(kernel, {.buffers = {x.data(), y.data()}});
  for (size_t i = 0; i < y.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / n, column = static_cast<int64_t>(i) % n;
    const T expected = row < kPackedRows ? x[static_cast<size_t>(row * pitch + column)] : beside;
    ASSERT_EQ(y[i], expected) << "row " << row << ", column " << column << " of " << n;
  }
}

TEST(ShiftedStores, WriteRowsThatBeginAnywhere) {
  for (const int64_t n : {2049, 2051, 2054, 2303, 3001, 4103}) {
    expect_packed<uint16_t>(n, DType::bf16, [](size_t i) { return to_bf16(static_cast<float>(i % 251)); });
    expect_packed<float>(n, DType::f32, [](size_t i) { return static_cast<float>(i); });
  }
}

}  // namespace
}  // namespace smelt::test
