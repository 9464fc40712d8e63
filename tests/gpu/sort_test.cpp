// Sorts of indices on the GPU, of few and of many, against the CPU's; skipped where there is none.
#include "runtime/cpu/library_steps.h"

#include <functional>

#include "codegen/cuda/sort_kernels.h"
#include "codegen/make_plan.h"
#include "passes/program/memory/plan_memory.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuSort = GpuTest;

constexpr int64_t kMost = 131072, kRows = 50257;

/// Sorts N indices.
Plan sort_plan() {
  const Dim count = Dim::symbol("N");
  Program program;
  program.symbols.bound({"N"}, kMost);
  const Dim elements = radix_sort(count, kRows, program.symbols).value().workspace(count);
  program.buffers = {{.name = "ids", .role = Role::input, .dtype = DType::i32, .elements = count},
                     {.name = "order", .role = Role::output, .dtype = DType::i32, .elements = count},
                     {.name = "begins", .role = Role::output, .dtype = DType::i32, .elements = kRows + 1},
                     {.name = "digits", .role = Role::workspace, .dtype = DType::i32, .elements = elements}};
  SortIndexStep sort{{0, 0}, {1, 0}, {2, 0}, count, kRows, SortIndexStep::Workspace{{3, 0}, elements}};
  PlanEntry entry;
  entry.name = "sort";
  entry.inputs = {{"ids", DType::i32, {count}, 0}};
  entry.outputs = {{"order", DType::i32, {count}, 1}, {"begins", DType::i32, {Dim(kRows + 1)}, 2}};
  entry.steps = {{sort, {0}, {1, 2, 3}, {}, {"sort"}, "forward"}};
  program.entries = {entry};
  plan_memory(program, {});
  return make_plan(program, Target::gpu(this_gpu(), device_model(this_gpu())));
}

void expect_sorted(Session& session, int64_t count, const std::function<int32_t(int64_t)>& index) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(index(i));
  std::vector<int32_t> order(ids.size()), begins(kRows + 1);
  sort_index(ids.data(), count, kRows, order.data(), begins.data());
  const InputTensor inputs[] = {{"ids", DType::i32, {count}, ids.data()}};
  for (int time = 0; time < 3; ++time) {  // the first is not a graph
    const auto found = session.run("sort", inputs);
    const auto places = found[0].as<int32_t>(), parts = found[1].as<int32_t>();
    EXPECT_TRUE(std::ranges::equal(places, order)) << count;
    EXPECT_TRUE(std::ranges::equal(parts, begins)) << count;
  }
}

TEST_F(GpuSort, IsTheCpus) {
  Session session(std::make_shared<const Plan>(sort_plan()), {.poison = true});
  std::mt19937 random(11);
  for (const int64_t count : {1, 255, 2049, 4096, 4097, 9999, 32768, 65537, 131072}) {
    const auto draw = [&](uint32_t below) { return static_cast<int32_t>(random() % below); };
    expect_sorted(session, count, [&](int64_t) { return draw(kRows + 2) - 1; });
    expect_sorted(session, count, [&](int64_t) { return draw(8) ? 50256 : draw(kRows); });
    expect_sorted(session, count, [](int64_t) { return 777; });
    expect_sorted(session, count, [](int64_t i) { return static_cast<int32_t>(i % kRows); });
    expect_sorted(session, count, [&](int64_t i) { return static_cast<int32_t>((count - i) % kRows); });
  }
}

}  // namespace
}  // namespace smelt
