#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "runtime/base/error.h"
#include "runtime/cpu/executor.h"
#include "tests/runtime/example_plan.h"

namespace smelt {
namespace {

struct Results {
  std::vector<float> y, z, zt, sums = std::vector<float>(4);
  std::vector<int32_t> sorted, begins = std::vector<int32_t>(10);
  float total = 0, step = 0;
};

struct Example {
  int64_t b, t;
  std::vector<float> x, w;
  std::vector<int32_t> ids;

  Example(int64_t b, int64_t t) : b(b), t(t), x(b * t * 4), w(12), ids(b * t) {
    std::mt19937 random(static_cast<uint32_t>(b * 100 + t));
    std::uniform_real_distribution<float> value(-2, 2);
    for (float& v : x) v = value(random);
    for (float& v : w) v = value(random);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % 12) - 1;  // -1, 9 and 10 are outside
  }

  Results run(Executor& executor, size_t misalign = 0) const {
    std::memcpy(executor.state(0).data(), w.data(), 48);
    Results r;
    std::vector<float> input(x.size() + misalign), y(b * t * 3 + misalign);
    std::copy(x.begin(), x.end(), input.begin() + static_cast<std::ptrdiff_t>(misalign));
    r.z.resize(b * t * 4), r.zt.resize(b * t * 4), r.sorted.resize(b * t);
    const std::vector<const void*> inputs = {input.data() + misalign, ids.data()};
    const std::vector<void*> outputs = {y.data() + misalign, r.z.data(),      r.zt.data(), r.sums.data(),
                                        r.sorted.data(),     r.begins.data(), &r.total,    &r.step};
    executor.run(entry(executor), {{"B", b}, {"T", t}}, inputs, outputs, {});
    r.y.assign(y.begin() + static_cast<std::ptrdiff_t>(misalign), y.end());
    return r;
  }

  static const PlanEntry& entry(Executor&) { return shared()->entries[0]; }
  static const std::shared_ptr<const Plan>& shared() {
    static const auto plan = std::make_shared<const Plan>(example::plan());
    return plan;
  }

  void check(const Results& r) const {
    double total = 2.5;
    for (int64_t row = 0; row < b * t; ++row) {
      for (int64_t o = 0; o < 3; ++o) {
        double sum = 0;
        for (int64_t i = 0; i < 4; ++i) sum += (x[row * 4 + i] + 1.0) * w[o * 4 + i];
        EXPECT_NEAR(r.y[row * 3 + o], sum, 1e-4);
      }
      for (int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(r.z[row * 4 + i], x[row * 4 + i] + 1);
        EXPECT_EQ(r.zt[i * b * t + row], x[row * 4 + i] + 1);
        total += x[row * 4 + i] + 1.0;
      }
    }
    EXPECT_NEAR(r.total, total, 1e-4);
    EXPECT_NEAR(r.sums[0] + r.sums[1] + r.sums[2] + r.sums[3], total - 2.5, 1e-4);
  }
};

TEST(CpuExecutor, RunsEveryKindOfStepAtEveryShape) {
  CpuExecutor executor(Example::shared(), {.threads = 2, .poison = true});
  for (int round = 0; round < 2; ++round)  // the second one from the cache of shapes
    for (int64_t b = 1; b <= 5; ++b)
      for (int64_t t = 1; t <= 7 && b * t <= 21; ++t) {
        const Example example(b, t);
        example.check(example.run(executor));
        example.check(example.run(executor, 1));  // memory of the caller that is not aligned
      }
}

TEST(CpuExecutor, GivesTheSameBitsWithAnyNumberOfThreads) {
  CpuExecutor one(Example::shared(), {.threads = 1}), four(Example::shared(), {.threads = 4});
  const int before = omp_get_max_threads();
  const Example example(3, 7);
  const Results a = example.run(one), b = example.run(four);
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_EQ(a.z, b.z);
  EXPECT_EQ(a.sorted, b.sorted);
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(CpuExecutor, KeepsStatesBetweenRuns) {
  CpuExecutor executor(Example::shared(), {.profile = true});
  const Example example(2, 3);
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(example.run(executor).step, static_cast<float>(i));
  EXPECT_EQ(*reinterpret_cast<const float*>(executor.state(1).data()), 5);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(executor.state(0).data()) % 64, 0u);
  ASSERT_EQ(executor.profile().size(), 8u);
  EXPECT_EQ(executor.profile()[7].runs, 5);
  EXPECT_EQ(executor.profile()[7].step, 7);
}

TEST(CpuExecutor, ReadsAnAbsentOptionalInputAsZeros) {
  CpuExecutor executor(Example::shared());
  const Example example(2, 3);
  std::vector<int32_t> sorted(6), begins(10);
  const std::vector<const void*> inputs = {example.x.data(), nullptr};
  const std::vector<void*> outputs = {nullptr,       nullptr,       nullptr, nullptr,
                                      sorted.data(), begins.data(), nullptr, nullptr};
  const PlanEntry& entry = Example::entry(executor);
  executor.run(entry, {{"B", 2}, {"T", 3}}, inputs, outputs, {});
  EXPECT_EQ(sorted, (std::vector<int32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(begins, (std::vector<int32_t>{0, 6, 6, 6, 6, 6, 6, 6, 6, 6}));
  EXPECT_THROW(
      executor.run(entry, {{"B", 2}, {"T", 3}}, std::vector<const void*>{nullptr, nullptr}, outputs, {}),
      Error);
}

TEST(CpuExecutor, RefusesWrongCalls) {
  CpuExecutor executor(Example::shared());
  const PlanEntry& entry = Example::entry(executor);
  const Example example(2, 3);
  const std::vector<const void*> inputs = {example.x.data(), example.ids.data()};
  const std::vector<void*> outputs(8, nullptr);
  EXPECT_THROW(executor.run(entry, {{"B", 4}, {"T", 6}}, inputs, outputs, {}), Error);
  EXPECT_THROW(executor.run(entry, {{"B", 2}}, inputs, outputs, {}), Error);
  EXPECT_THROW(executor.run(entry, {{"B", 2}, {"T", 3}}, {}, outputs, {}), Error);
  EXPECT_THROW(executor.run(entry, {{"B", 2}, {"T", 3}}, inputs, {}, {}), Error);
  EXPECT_THROW(executor.state(2), Error);
  EXPECT_NO_THROW(executor.run(entry, {{"B", 2}, {"T", 3}}, inputs, outputs, {}));
}

TEST(CpuExecutor, HandsRandomStateAndRangeToKernels) {
  Plan plan = example::plan();
  plan.kernels = {{"record_arguments", "", {}, 5, 8, 0, 1, {{.dtype = DType::i32, .written = true}}}};
  PlanEntry e;
  e.name = "record";
  plan.buffers = {example::buffer("out", Role::output, DType::i32, 6, 6)};
  e.outputs = {{"out", DType::i32, {6}, 0}};
  e.steps = {example::step(KernelStep{0, {{0, 0}}, {42}}, {}, {0}, "record")};
  plan.entries = {e};
  const auto shared = std::make_shared<const Plan>(plan);
  CpuExecutor executor(shared);
  std::vector<int32_t> out(6);
  executor.run(shared->entries[0], {{"B", 1}, {"T", 1}}, {}, std::vector<void*>{out.data()}, {7, 8, 9});
  EXPECT_EQ(out, (std::vector<int32_t>{7, 8, 9, 42, 0, 5}));
}

std::string refusal(const Plan& plan) {
  try {
    make_executor(std::make_shared<const Plan>(plan));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CpuExecutor, SaysWhatDoesNotFitTheMachine) {
  Plan plan = example::plan();
  plan.target = "cpu-pdp11";
  EXPECT_NE(refusal(plan).find("the plan is for cpu-pdp11, this machine is cpu-"), std::string::npos);
  plan.target = "cpu";
  plan.features = {"avx4096"};
  EXPECT_NE(refusal(plan).find("needs avx4096"), std::string::npos);
  plan.features.clear();
  plan.kernels[0].name = "no_such_kernel";
  EXPECT_NE(refusal(plan).find("no kernel 'no_such_kernel'"), std::string::npos);
  plan.binary.resize(100);
  EXPECT_NE(refusal(plan).find("cannot load the plan's code"), std::string::npos);
  plan.binary.clear();
  EXPECT_NE(refusal(plan).find("no machine code"), std::string::npos);
}

TEST(CpuExecutor, NamesThePlannedBytesBeforeItTakesThem) {
  Plan plan = example::plan();
  plan.states.push_back({"huge", Role::optimizer, DType::f32, {Dim(int64_t{1} << 50)}, {}, {}});
  EXPECT_NE(refusal(plan).find(std::to_string(executor_memory(plan).total())), std::string::npos)
      << refusal(plan);
  try {
    make_executor(std::make_shared<const Plan>(plan));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::out_of_memory);
  }
}

TEST(CpuExecutor, TwoPlansLiveSideBySide) {
  const auto first = std::make_shared<const Plan>(example::plan()),
             second = std::make_shared<const Plan>(example::plan());
  CpuExecutor a(first);
  {
    CpuExecutor gone(second);
  }
  CpuExecutor b(second);
  const Example example(2, 2);
  const std::vector<const void*> inputs = {example.x.data(), example.ids.data()};
  const std::vector<void*> outputs(8, nullptr);
  a.run(first->entries[0], {{"B", 2}, {"T", 2}}, inputs, outputs, {});
  b.run(second->entries[0], {{"B", 2}, {"T", 2}}, inputs, outputs, {});
  EXPECT_EQ(*reinterpret_cast<const float*>(a.state(1).data()), 1);
}

/// Nothing is measured on a CPU.
TEST(CpuExecutor, RunsTheFirstAlternative) {
  Plan plan;
  plan.target = "cpu";
  plan.buffers = {example::buffer("y", Role::output, DType::f32, 4, 4)};
  PlanEntry& entry = plan.entries.emplace_back();
  entry.name = "e", entry.outputs = {{"y", DType::f32, {Dim(4)}, 0}};
  entry.choices = {{{"two", "three"}}};
  for (int i = 0; i < 2; ++i) {
    entry.steps.push_back(example::step(FillStep{{0, 0}, 4, 2.0 + i}, {}, {0}, "fill"));
    entry.steps.back().choice = 0, entry.steps.back().alternative = i;
  }
  const auto shared = std::make_shared<const Plan>(plan);
  for (const bool profile : {false, true}) {
    CpuExecutor executor(shared, {.profile = profile});
    std::vector<float> y(4);
    void* output = y.data();
    executor.run(shared->entries[0], {}, {}, {&output, 1}, {});
    EXPECT_EQ(y, std::vector<float>(4, 2));
    EXPECT_EQ(executor.profile().size(), profile ? 1u : 0u);
  }
}

}  // namespace
}  // namespace smelt
