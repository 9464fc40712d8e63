// GPU schedules and the text made from them.
#include <gtest/gtest.h>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/kernel_passes/kernel_passes.h"
#include "codegen/scheduling/schedule.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "runtime/base/error.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

Kernel scheduled(Kernel kernel, int64_t rows = 4096, const Target& target = parse_target("sm_90")) {
  Symbols symbols;
  symbols.bound({"M"}, rows);
  symbols.bound({"N"}, 1000);
  for (KernelParam& param : kernel.params) param.alignment = 16;
  schedule(kernel, symbols, target);
  return kernel;
}

/// y = x * scale[c] along rows of `n`.
Kernel scaled_rows(const Dim& n, DType type = DType::f32) {
  KernelBuilder b("scaled");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(n);
  const int x = b.input(type), scale = b.input(type), y = b.output(type);
  b.column_block();
  const int product = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.load(scale, {{c, 1}})});
  b.store(y, {{r, n}, {c, 1}}, product);
  return b.kernel;
}

/// x - mean x, which reads the row twice.
Kernel centered_rows(const Dim& n) {
  KernelBuilder b("centered");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(n);
  const int x = b.input(), y = b.output();
  b.column_block();
  const int doubled = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.number(2)});
  const int sum = b.reduce(ReduceOp::add, doubled);
  b.column_block();
  const int again = b.op(ScalarOp::mul, {b.load(x, {{r, n}, {c, 1}}), b.number(2)});
  b.store(y, {{r, n}, {c, 1}}, b.op(ScalarOp::sub, {again, sum}));
  return b.kernel;
}

/// A chip with fewer multiprocessors is busy with fewer threads: lanes with more of a row each.
TEST(GpuSchedule, TheDeviceDecidesHowManyThreadsAreEnough) {
  Target small = parse_target("sm_90");
  small.device.multiprocessors /= 8;
  const int64_t rows = 132 * 1024 / 8;  // of a warp each, they leave an H100 busy
  EXPECT_EQ(scheduled(scaled_rows(48), rows).schedule.team, 8);
  EXPECT_EQ(scheduled(scaled_rows(48), rows, small).schedule.team, 4);
  EXPECT_EQ(partial_splits(parse_target("sm_90")), 264);
  EXPECT_EQ(partial_splits(parse_target("sm_80")), 216);
  EXPECT_EQ(partial_splits(small), 32);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(GpuSchedule, VectorsAreSixteenBytes) {
  EXPECT_EQ(scheduled(scaled_rows(768)).schedule.vector_width, 4);
  EXPECT_EQ(scheduled(scaled_rows(768, DType::bf16)).schedule.vector_width, 8);
  EXPECT_EQ(scheduled(scaled_rows(1)).schedule.vector_width, 1) << "one column has no neighbours";
}

TEST(GpuSchedule, ShortRowsShareAWarpAndLongOnesTakeABlock) {
  const Schedule narrow = scheduled(scaled_rows(12)).schedule, middle = scheduled(scaled_rows(768)).schedule,
                 wide = scheduled(scaled_rows(8192)).schedule,
                 longest = scheduled(scaled_rows(250000)).schedule;
  EXPECT_EQ(narrow.team, 4);
  EXPECT_EQ(middle.team, 32);
  EXPECT_EQ(middle.grain, middle.threads / 32) << "a warp a row, several rows a block";
  EXPECT_GT(wide.team, 32);
  EXPECT_GT(wide.vectors, 0);
  EXPECT_EQ(longest.vectors, 0) << "such rows are walked";
}

TEST(GpuSchedule, LongRowsThatAreReadAgainTakeMoreThreadsOfABlock) {
  const Schedule once = scheduled(scaled_rows(250000)).schedule,
                 again = scheduled(centered_rows(250000)).schedule;
  EXPECT_EQ(once.vectors, 0);
  EXPECT_EQ(again.vectors, 0);
  EXPECT_LT(once.team, again.team);
}

TEST(GpuSchedule, EveryRowIsCovered) {
  for (int64_t n : {1, 3, 31, 33, 197, 777, 1024, 5000}) {
    const Schedule s = scheduled(scaled_rows(n)).schedule;
    EXPECT_TRUE(s.vectors == 0 || int64_t{s.vectors} * s.team * s.vector_width >= n) << n;
    EXPECT_EQ(s.threads % s.team, 0) << n;
  }
}

TEST(GpuSchedule, RowsStayInRegistersBetweenBlocks) {
  const Kernel kernel = scheduled(centered_rows(768));
  EXPECT_EQ(kernel.schedule.cached.size(), 1u) << "the product stands for the load";
  const auto loads = std::count_if(kernel.instructions.begin(), kernel.instructions.end(),
                                   [](auto& i) { return i.kind == Instruction::Kind::load; });
  EXPECT_EQ(loads, 1);
  EXPECT_TRUE(scheduled(centered_rows(250000)).schedule.cached.empty()) << "such rows are read again";
}

TEST(GpuSchedule, StoredValuesAreNotReadBack) {
  KernelBuilder b("kept");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(64);
  const int x = b.input(), y = b.output(), z = b.output();
  b.column_block();
  const int v = b.op(ScalarOp::exp, {b.load(x, {{r, 64}, {c, 1}})});
  const int sum = b.reduce(ReduceOp::add, v);
  b.store(y, {{r, 64}, {c, 1}}, v);
  b.column_block();
  b.store(z, {{r, 64}, {c, 1}}, b.op(ScalarOp::div, {b.load(y, {{r, 64}, {c, 1}}), sum}));
  Kernel& kernel = b.kernel;
  ASSERT_TRUE(keep_columns(kernel));
  ASSERT_EQ(kernel.schedule.cached.size(), 1u);
  EXPECT_EQ(kernel.instructions[kernel.schedule.cached[0]].kind, Instruction::Kind::scalar);
}

/// y = 2 x along rows of `n` bf16, and the sum of every column.
Kernel summed_rows(int64_t n) {
  KernelBuilder b("summed");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(n);
  const int x = b.input(DType::bf16), y = b.output(DType::bf16), sums = b.partial(n);
  b.column_block();
  const int wide = b.convert(b.load(x, {{r, n}, {c, 1}}), DType::f32);
  const int doubled = b.op(ScalarOp::mul, {wide, b.number(2)});
  b.accumulate(sums, {{c, 1}}, doubled);
  b.store(y, {{r, n}, {c, 1}}, b.convert(doubled, DType::bf16));
  return b.kernel;
}

TEST(GpuSchedule, LongWalksPrefetchTheNextRowAndShortOnesAreInterleavedWhereTheyEndUnevenly) {
  const Schedule longest = scheduled(summed_rows(1024), 65536).schedule;
  EXPECT_EQ(longest.team * longest.vectors * longest.vector_width, 1024);
  EXPECT_EQ(longest.vectors, 2);
  EXPECT_EQ(longest.threads, 256);
  EXPECT_EQ(longest.prefetch_distance, 1);
  const auto rounds = [](const Schedule& s, int64_t rows) {
    return (rows + s.splits - 1) / s.splits % (s.threads / s.team);
  };
  for (const int64_t rows : {3200, 4096, 264 * 16}) {
    const Schedule walk = scheduled(summed_rows(768), rows).schedule;
    EXPECT_EQ(walk.prefetch_distance, 0) << rows;
    EXPECT_EQ(walk.interleaved, rounds(walk, rows) != 0) << rows;
  }
}

/// Rows of 1,024 bf16 less their mean, of `arrays` arrays, and the sum of every column.
Kernel centered_arrays(int arrays) {
  KernelBuilder b("centered");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(1024);
  const int sums = b.partial(1024);
  std::vector<int> inputs, means;
  for (int i = 0; i < arrays; ++i) inputs.push_back(b.input(DType::bf16));
  const auto read = [&](int x) { return b.convert(b.load(x, {{r, 1024}, {c, 1}}), DType::f32); };
  b.column_block();
  for (const int x : inputs) means.push_back(b.reduce(ReduceOp::add, read(x)));
  b.column_block();
  int total = b.number(0);
  for (size_t i = 0; i < inputs.size(); ++i)
    total = b.op(ScalarOp::add, {total, b.op(ScalarOp::sub, {read(inputs[i]), means[i]})});
  b.accumulate(sums, {{c, 1}}, total);
  return b.kernel;
}

/// Two blocks of a walk share a multiprocessor: 64, 128 or 256 registers a thread.
TEST(GpuSchedule, WhatAWalkKeepsOfARowDecidesItsThreads) {
  for (const int arrays : {1, 2, 3, 4, 6}) {
    const Schedule s = scheduled(centered_arrays(arrays)).schedule;
    ASSERT_GT(s.splits, 0);
    EXPECT_EQ(s.team * s.vectors * s.vector_width, 1024) << arrays << ": lanes share a row evenly";
    const int64_t kept = int64_t{s.vectors} * s.vector_width * static_cast<int64_t>(s.cached.size());
    EXPECT_LE(kept, 96) << arrays;
    EXPECT_LE(s.threads, kept > 24 ? 256 : 512) << arrays;
    EXPECT_GE(s.threads, 128) << arrays;
  }
}

/// Sums of `length` rows of each of `arrays`.
Schedule finishing(int64_t length, int arrays, int64_t columns = 768) {
  KernelBuilder b("finish");
  const int k = b.reduced(length), c = b.column(columns);
  std::vector<int> inputs, outputs, sums;
  for (int i = 0; i < arrays; ++i) inputs.push_back(b.input()), outputs.push_back(b.output());
  b.reduced_block();
  for (const int x : inputs) sums.push_back(b.reduce(ReduceOp::add, b.load(x, {{k, columns}, {c, 1}})));
  b.column_block();
  for (int i = 0; i < arrays; ++i) b.store(outputs[i], {{c, 1}}, sums[i]);
  return scheduled(b.kernel).schedule;
}

TEST(GpuSchedule, SumsOfAFewHundredAreUnderWayAtOnce) {
  for (const int64_t length : {96, 100, 128, 264, 500, 512})
    for (const int64_t columns : {1, 5, 768, 4096}) {
      const Schedule s = finishing(length, 1, columns);
      const int64_t teams = s.threads / s.team;
      EXPECT_TRUE(s.threads % 32 == 0 || s.threads < 32) << length << " of " << columns;
      EXPECT_LE(s.threads, 512);
      EXPECT_GE(teams * (2 * s.unroll + 1), length) << "two rounds and a few loads are most";
      EXPECT_EQ(s.tile, s.team * s.vector_width);
    }
  const Schedule one = finishing(264, 1), three = finishing(264, 3);
  EXPECT_EQ(one.threads / one.team * one.unroll, 264) << "shares of one size";
  EXPECT_EQ(three.threads / three.team * three.unroll, 132) << "registers hold half of three";
}

/// Sums of all rows of [M, columns].
Kernel column_sums(int64_t columns, DType type) {
  KernelBuilder b("column_sums");
  const int k = b.reduced(Dim::symbol("M")), c = b.column(columns);
  const int x = b.input(type), y = b.output();
  b.reduced_block();
  const int sum = b.reduce(ReduceOp::add, b.convert(b.load(x, {{k, columns}, {c, 1}}), DType::f32));
  b.column_block();
  b.store(y, {{c, 1}}, sum);
  return b.kernel;
}

TEST(GpuSchedule, TilesOfALongSumReadTwoSectorsWhereThereAreEnough) {
  for (const DType type : {DType::bf16, DType::f32}) {
    EXPECT_EQ(scheduled(column_sums(4096, type)).schedule.tile * size_of(type), 64);
    const int64_t tile = scheduled(column_sums(768, type)).schedule.tile;
    EXPECT_LT(tile * size_of(type), 64);
    EXPECT_GE(768 / tile, 64) << "half of the multiprocessors";
  }
}

TEST(GpuSchedule, LoadsOfALongSumStandBeforeItsWork) {
  const Kernel kernel = scheduled(column_sums(4096, DType::bf16));
  const std::string text = emit_cuda(kernel);
  EXPECT_TRUE(has(text, "float a0[8][8];")) << text;
  EXPECT_TRUE(has(text, "float a0[2][8];")) << "a quarter of the round";
}

TEST(GpuSchedule, WhereMoreF32MovesVectorsAreFourWide) {
  KernelBuilder b("update");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(1024);
  const int g = b.input(DType::bf16), p = b.input(), y = b.output();
  b.column_block();
  const int step = b.convert(b.load(g, {{r, 1024}, {c, 1}}), DType::f32);
  b.store(y, {{r, 1024}, {c, 1}}, b.op(ScalarOp::sub, {b.load(p, {{r, 1024}, {c, 1}}), step}));
  EXPECT_EQ(scheduled(b.kernel).schedule.vector_width, 4);
}

TEST(GpuSchedule, IndicesAreNarrowWhereBoundsAllow) {
  EXPECT_TRUE(scheduled(scaled_rows(768)).schedule.index32);
  EXPECT_FALSE(scheduled(scaled_rows(768), int64_t{1} << 24).schedule.index32);
}

TEST(GpuSchedule, LighteningEndsAndKeepsRowsCovered) {
  Kernel kernel = scheduled(centered_rows(3000));
  int steps = 0;
  while (lighten_schedule(kernel)) {
    const Schedule& s = kernel.schedule;
    ASSERT_GE(int64_t{s.vectors} * s.team * s.vector_width, 3000);
    ASSERT_EQ(s.threads % s.team, 0);
    ASSERT_LT(++steps, 40);
  }
  EXPECT_GT(steps, 0);
}

TEST(GpuSchedule, CandidatesStartWithTheDefaultAndCoverRows) {
  const Kernel kernel = scheduled(centered_rows(777));
  Symbols symbols;
  symbols.bound({"M"}, 4096);
  const std::vector<Schedule> all = schedule_candidates(kernel, symbols);
  ASSERT_GT(all.size(), 4u);
  EXPECT_EQ(all[0], kernel.schedule);
  for (const Schedule& s : all) {
    EXPECT_EQ(s.threads % s.team, 0);
    EXPECT_EQ(s.cached, kernel.schedule.cached);
    EXPECT_GE(int64_t{s.vectors} * s.team * s.vector_width, 777);
  }
}

/// Groups of a tile's threads exchange two scalars a column for an argmax, three for a mean_variance.
TEST(GpuSchedule, CandidatesOfTilesHoldTheStatesOfTheirReductions) {
  const auto widest = [](ReduceOp op) {
    KernelBuilder b("tiles");
    const Dim M = Dim::symbol("M");
    const int k = b.reduced(M), c = b.column(1024), x = b.input();
    b.reduced_block();
    std::vector<int> found;
    for (int i = 0; i < 3; ++i) found.push_back(b.reduce(op, b.load(x, {{k, 1024}, {c, 1}})));
    b.column_block();
    for (const int number : found) b.store(b.output(), {{c, 1}}, number);
    const Kernel kernel = scheduled(std::move(b.kernel));
    Symbols symbols;
    symbols.bound({"M"}, 4096);
    int64_t elements = 0;  // that a block's groups exchange for one scalar
    for (const Schedule& s : schedule_candidates(kernel, symbols))
      elements = std::max(elements, int64_t{exchanging_groups(s)} * s.team * s.vector_width);
    return elements;
  };
  EXPECT_EQ(widest(ReduceOp::argmax), 2048);
  EXPECT_EQ(widest(ReduceOp::mean_variance), 1024);
}

TEST(CollapsedAxes, DenseRowsAreOneWalk) {
  const Dim B = Dim::symbol("M"), T = Dim::symbol("N");
  KernelBuilder b("dense");
  const int outer = b.parallel(B), inner = b.parallel(T), c = b.column(64);
  const int x = b.input(), y = b.output();
  b.column_block();
  b.store(y, {{outer, T * 64}, {inner, 64}, {c, 1}}, b.load(x, {{outer, T * 64}, {inner, 64}, {c, 1}}));
  collapse_axes(b.kernel);
  ASSERT_EQ(b.kernel.axes.size(), 2u);
  EXPECT_EQ(b.kernel.axes[0].extent, B * T);
  EXPECT_EQ(b.kernel.instructions[0].access.strides, (std::vector<Dim>{64, 1}));
}

TEST(CollapsedAxes, PitchedRowsAndIndicesStay) {
  const Dim B = Dim::symbol("M"), T = Dim::symbol("N");
  KernelBuilder b("pitched");
  const int outer = b.parallel(B), inner = b.parallel(T), c = b.column(64);
  const int x = b.input(), y = b.output();
  b.column_block();
  b.store(y, {{outer, T * 80}, {inner, 64}, {c, 1}}, b.load(x, {{outer, T * 64}, {inner, 64}, {c, 1}}));
  collapse_axes(b.kernel);
  EXPECT_EQ(b.kernel.axes.size(), 3u);
}

TEST(CudaText, AlignmentDecidesBetweenVectorsAndElements) {
  EXPECT_TRUE(has(emit_cuda(scheduled(scaled_rows(768))), "sm_load<true>"));
  const Kernel shifted = scheduled(scaled_rows(2050));
  EXPECT_EQ(shifted.schedule.vector_width, 4);
  EXPECT_TRUE(has(emit_cuda(shifted), "sm_load<false>")) << "the second row begins off 16 bytes";
  EXPECT_TRUE(has(emit_cuda(shifted), "sm_store_shifted")) << "lanes exchange elements";
  EXPECT_EQ(scheduled(scaled_rows(2050), 8).schedule.vector_width, 2) << "few rows are not worth it";
  EXPECT_EQ(scheduled(scaled_rows(770)).schedule.vector_width, 2) << "8 bytes are always one access";
  EXPECT_EQ(scheduled(scaled_rows(771)).schedule.vector_width, 1) << "adjacent lanes store adjacent elements";
  const std::string symbolic = emit_cuda(scheduled(scaled_rows(Dim::symbol("N"))));
  EXPECT_TRUE(has(symbolic, "N_ % 4 == 0")) << symbolic;
  EXPECT_TRUE(has(symbolic, "body_by<true>"));
}

TEST(CudaText, ShowsSourcesScheduleAndKernel) {
  const std::string text = emit_cuda(scheduled(scaled_rows(768)), {"h.0.scale", "h.1.scale"});
  EXPECT_TRUE(has(text, "// from h.0.scale, h.1.scale"));
  EXPECT_TRUE(has(text, "//   schedule {vector = 4"));
  EXPECT_TRUE(has(text, "// kernel @scaled("));
  EXPECT_FALSE(has(text, "#include"));
  EXPECT_FALSE(has(text, "sm_philox")) << "only the helpers that it uses";
}

TEST(CudaText, AKernelWithoutAScheduleForAGpuIsRefused) { EXPECT_THROW(emit_cuda(scaled_rows(768)), Error); }

}  // namespace
}  // namespace smelt::test
