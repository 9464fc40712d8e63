// Sums that the threads of a block exchange in several rounds, some columns at a time, or one team after the
// other: as if shared memory held all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/scheduling/schedule.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

Kernel prepared(Kernel kernel, const Schedule& schedule) {
  for (KernelParam& param : kernel.params) param.alignment = 16;
  take_schedule(kernel, schedule);
  return kernel;
}

constexpr int64_t kReducedRows = 37, kReducedColumns = 128;

/// y[i, c] = log of sum_r exp(x[i, r, c]), for so many i.
Kernel sums_of_exponentials(int64_t sums) {
  KernelBuilder b("exchange");
  const int k = b.reduced(kReducedRows), c = b.column(kReducedColumns), x = b.input(), y = b.output();
  b.reduced_block();
  std::vector<int> pairs;
  for (int64_t i = 0; i < sums; ++i) {
    const int value = b.load(x, {{k, kReducedColumns}, {c, 1}});
    b.kernel.instructions[value].access.offset = i * kReducedRows * kReducedColumns;
    pairs.push_back(b.reduce(ReduceOp::max_sumexp, value));
  }
  std::vector<int> seconds;
  for (int pair : pairs) seconds.push_back(b.second(pair));
  b.column_block();
  for (int64_t i = 0; i < sums; ++i) {
    const int log = b.op(ScalarOp::add, {pairs[i], b.op(ScalarOp::log, {seconds[i]})});
    const int store = b.store(y, {{c, 1}}, log);
    b.kernel.instructions[store].access.offset = i * kReducedColumns;
  }
  b.kernel.name = "k_exchange";
  return b.kernel;
}

void expect_sums_of_exponentials(const Kernel& kernel, int64_t sums) {
  auto x = random_floats(sums * kReducedRows * kReducedColumns, 3, -9, 9);
  std::vector<float> y(sums * kReducedColumns, std::numeric_limits<float>::quiet_NaN());
  std::vector<double> expected(y.size());
  for (int64_t i = 0; i < sums; ++i)
    for (int64_t c = 0; c < kReducedColumns; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < kReducedRows; ++k)
        sum += std::exp(double{x[(i * kReducedRows + k) * kReducedColumns + c]});
      expected[i * kReducedColumns + c] = std::log(sum);
    }
  CompiledKernel::run(kernel, {.buffers = {x.data(), y.data()}});
  EXPECT_LT(relative_error(y, expected), 1e-6);
}

class ExchangedSums : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Counts, ExchangedSums, testing::Values(1, 5, 12));

TEST_P(ExchangedSums, OfTeamsAndOfWarps) {
  const int64_t sums = GetParam();
  for (const int team : {8, 32}) {  // 16 warps exchange the sums of 8 lanes, 16 teams those of 32
    Schedule schedule;
    schedule.vector_width = 4, schedule.tile = team * 4;
    schedule.threads = 512, schedule.team = team, schedule.unroll = 2, schedule.index32 = true;
    const Kernel kernel = prepared(sums_of_exponentials(sums), schedule);
    const bool by_fewer_columns = 2 * sums * 16 * team * 4 > 12000;
    EXPECT_EQ(emit_cuda(kernel).find("j0 + j") != std::string::npos, by_fewer_columns);
    EXPECT_EQ(kernel.instructions[2 * sums - 1].exchange_round, team == 32 && sums == 12 ? 1 : 0);
    expect_sums_of_exponentials(kernel, sums);
  }
}

/// partial[chunk, i, c] += (i + 1) * x[r, c]
Kernel column_sums(int64_t columns, int64_t sums) {
  KernelBuilder b("columns");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(columns);
  const int x = b.input(), partial = b.partial(sums * columns);
  b.column_block();
  const int value = b.load(x, {{r, columns}, {c, 1}});
  for (int64_t i = 0; i < sums; ++i) {
    const int scaled = b.op(ScalarOp::mul, {value, b.number(static_cast<double>(i + 1))});
    const int id = b.accumulate(partial, {{c, 1}}, scaled);
    b.kernel.instructions[id].access.offset = i * columns;
  }
  b.kernel.name = "k_columns";
  return b.kernel;
}

/// Of all sums a row for every team, of two sums, and of none.
TEST(ExchangedColumnSums, SideBySideAndSequentially) {
  constexpr int64_t kChunks = 3, kRows = 26, kSums = 3;
  for (const int64_t columns : {64, 1024, 4096}) {
    Schedule schedule;
    schedule.vector_width = 4, schedule.splits = kChunks, schedule.index32 = true;
    schedule.threads = 512, schedule.team = columns == 64 ? 16 : 128;
    schedule.vectors = static_cast<int>(columns / (4 * schedule.team));
    const Kernel kernel = prepared(column_sums(columns, kSums), schedule);
    const Instruction& last = kernel.instructions.back();
    EXPECT_EQ(last.exchange_round, columns == 1024 ? 1 : 0);
    EXPECT_EQ(last.form == Form::sequential, columns == 4096);
    auto x = random_floats(kRows * columns, 1);
    std::vector<float> partial(kChunks * kSums * columns, std::numeric_limits<float>::quiet_NaN());
    CompiledKernel::run(kernel, {.buffers = {x.data(), partial.data()}, .symbols = {{"M", kRows}}});
    for (int64_t i = 0; i < kSums; ++i)
      for (int64_t c = 0; c < columns; ++c) {
        double expected = 0, found = 0;
        for (int64_t r = 0; r < kRows; ++r) expected += static_cast<double>(i + 1) * x[r * columns + c];
        for (int64_t s = 0; s < kChunks; ++s) found += partial[(s * kSums + i) * columns + c];
        ASSERT_NEAR(found, expected, 1e-4) << columns << " columns, sum " << i << ", column " << c;
      }
  }
}

}  // namespace
}  // namespace smelt::test
