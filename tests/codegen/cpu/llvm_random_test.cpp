// Random decisions as machine code: the bits of runtime/base/philox.h, wherever the instruction stands.
#include <gtest/gtest.h>

#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

const Philox kPhilox = {.seed = 0x1234567, .step = 77, .micro_step = 3 << 16 | 1};
const std::vector<uint32_t> kIds = {9, 0xFFFFFFFFu};

class RandomTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, RandomTest, testing::Values(1, 3, 8, 31, 33, 64, 197, 512, 777, 1040));

/// Two ids over [batch, heads, columns]; rows count through batch and heads.
TEST_P(RandomTest, AlongTheColumns) {
  const int64_t n = GetParam(), batch = 3, heads = 2;
  for (const bool symbolic : {false, true}) {
    KernelBuilder b("random");
    const int i = b.parallel(batch), h = b.parallel(heads),
              c = b.column(symbolic ? Dim::symbol("N") : Dim(n));
    const int y = b.output(DType::i32), z = b.output(DType::i32);
    b.column_block();
    b.store(y, {{i, heads * n}, {h, n}, {c, 1}}, b.random(0, c, {{i, heads}, {h, 1}}));
    b.store(z, {{i, heads * n}, {h, n}, {c, 1}}, b.random(1, c, {{i, heads}, {h, 1}}));
    std::vector<int32_t> ys(batch * heads * n, -1), zs = ys;
    CompiledKernel(b.kernel).launch({.buffers = {ys.data(), zs.data()},
                                     .symbols = {{"N", n}},
                                     .chunk = 4,
                                     .random_ids = kIds,
                                     .random = kPhilox});
    for (uint32_t row = 0; row < batch * heads; ++row)
      for (uint32_t j = 0; j < n; ++j) {
        ASSERT_EQ(ys[row * n + j], kPhilox.bits(kIds[0], row, j)) << row << "," << j;
        ASSERT_EQ(zs[row * n + j], kPhilox.bits(kIds[1], row, j)) << row << "," << j;
      }
  }
}

/// A part of a draw whose columns begin elsewhere, at multiples of 8 and not.
TEST_P(RandomTest, FromAColumnOn) {
  const int64_t n = GetParam(), rows = 3;
  for (const Dim& begin : {Dim::symbol("P") * Dim(16), Dim::symbol("P") * Dim(3) + Dim(1)}) {
    KernelBuilder b("random");
    const int r = b.parallel(rows), c = b.column(n);
    const int y = b.output(DType::i32), first = b.output(DType::i32);
    b.row_block();
    const int fixed = b.random(1, -1, {{r, 1}});
    b.store(first, {{r, 1}}, fixed);
    b.column_block();
    const int drawn = b.random(0, c, {{r, 1}});
    b.store(y, {{r, n}, {c, 1}}, drawn);
    for (const int id : {fixed, drawn}) b.kernel.instructions[static_cast<size_t>(id)].random_begin = begin;
    std::vector<int32_t> ys(rows * n, -1), firsts(rows, -1);
    CompiledKernel(b.kernel).launch({.buffers = {ys.data(), firsts.data()},
                                     .symbols = {{"P", 2}},
                                     .random_ids = kIds,
                                     .random = kPhilox});
    const auto from = static_cast<uint32_t>(begin.evaluate({{"P", 2}}));
    for (uint32_t row = 0; row < rows; ++row) {
      ASSERT_EQ(firsts[row], kPhilox.bits(kIds[1], row, from)) << begin.str();
      for (uint32_t j = 0; j < n; ++j)
        ASSERT_EQ(ys[row * n + j], kPhilox.bits(kIds[0], row, from + j)) << begin.str() << ", " << j;
    }
  }
}

/// The random op's last dim is the outer column axis or a parallel one; its rows run along the vectors.
TEST_P(RandomTest, AlongAnotherAxis) {
  const int64_t n = GetParam(), outer = 9, rows = 3;
  KernelBuilder b("random");
  const int r = b.parallel(rows), o = b.column(outer), c = b.column(n);
  const int y = b.output(DType::i32), z = b.output(DType::i32), w = b.output(DType::i32);
  b.row_block();
  b.store(w, {{r, 1}}, b.random(0, r, {}));
  b.column_block();
  b.store(y, {{r, outer * n}, {o, n}, {c, 1}}, b.random(0, o, {{r, n}, {c, 1}}));
  b.store(z, {{r, outer * n}, {o, n}, {c, 1}}, b.random(1, r, {{o, 1}}));
  std::vector<int32_t> ys(rows * outer * n, -1), zs = ys, ws(rows, -1);
  CompiledKernel(b.kernel).launch(
      {.buffers = {ys.data(), zs.data(), ws.data()}, .random_ids = kIds, .random = kPhilox});
  for (uint32_t i = 0; i < rows; ++i) {
    ASSERT_EQ(ws[i], kPhilox.bits(kIds[0], 0, i));
    for (uint32_t k = 0; k < outer; ++k)
      for (uint32_t j = 0; j < n; ++j) {
        ASSERT_EQ(ys[(i * outer + k) * n + j], kPhilox.bits(kIds[0], i * static_cast<uint32_t>(n) + j, k));
        ASSERT_EQ(zs[(i * outer + k) * n + j], kPhilox.bits(kIds[1], k, i));
      }
  }
}

/// Dropout as passes make it, over a flat range cut at places that are and are not multiples of 8.
TEST_P(RandomTest, DropoutOverAFlatRange) {
  const int64_t n = GetParam();
  KernelBuilder b("dropout");
  const int c = b.column(Dim::symbol("N"));
  const int x = b.input(), y = b.output();
  b.column_block();
  const int keep = b.op(ScalarOp::ge, {b.random(0, c, {}), b.number(6554, DType::i32)}, DType::i32);
  const int scaled = b.op(ScalarOp::mul, {b.load(x, {{c, 1}}), b.number(65536.0 / (65536 - 6554))});
  b.store(y, {{c, 1}}, b.op(ScalarOp::select, {keep, scaled, b.number(0)}));
  b.kernel.schedule.flat = true;
  const CompiledKernel kernel(b.kernel);
  auto xs = random_floats(n, 1, 1, 2);
  for (int64_t chunk : {8, 13, 64, 600, 2000}) {
    std::vector<float> ys(n, -1);
    kernel.launch({.buffers = {xs.data(), ys.data()},
                   .symbols = {{"N", n}},
                   .chunk = chunk,
                   .random_ids = kIds,
                   .random = kPhilox});
    for (uint32_t j = 0; j < n; ++j)
      ASSERT_FLOAT_EQ(ys[j], kPhilox.bits(kIds[0], 0, j) >= 6554 ? xs[j] * (65536.0f / (65536 - 6554)) : 0)
          << chunk;
  }
}

/// A mask drawn again inside a column reduction: sum over rows of the kept elements.
TEST_P(RandomTest, InsideAReducedBlock) {
  const int64_t n = GetParam(), rows = 5;
  KernelBuilder b("masked_sum");
  const int k = b.reduced(rows), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.reduced_block();
  const int keep = b.op(ScalarOp::ge, {b.random(0, c, {{k, 1}}), b.number(30000, DType::i32)}, DType::i32);
  const int kept = b.op(ScalarOp::select, {keep, b.load(x, {{k, n}, {c, 1}}), b.number(0)});
  const int sum = b.reduce(ReduceOp::add, kept);
  b.column_block();
  b.store(y, {{c, 1}}, sum);
  b.kernel.schedule.tile = 64;
  auto xs = random_floats(rows * n, 1);
  std::vector<float> ys(n, -1);
  CompiledKernel(b.kernel).launch({.buffers = {xs.data(), ys.data()}, .random_ids = kIds, .random = kPhilox});
  for (uint32_t j = 0; j < n; ++j) {
    double expected = 0;
    for (uint32_t i = 0; i < rows; ++i) expected += kPhilox.bits(kIds[0], i, j) >= 30000 ? xs[i * n + j] : 0;
    ASSERT_NEAR(ys[j], expected, 1e-5);
  }
}

}  // namespace
}  // namespace smelt::test
