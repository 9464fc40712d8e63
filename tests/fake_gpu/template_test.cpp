// Kernels that are templates: the executor launches any of them by what the plan says.
#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

using Kind = TemplateLaunch::Argument::Kind;

Dim field(const std::string& name) { return Dim::symbol(name); }

/// "descend" of the example as a template, with other arguments in another order.
Plan plan_of_template() {
  Plan plan = linear_plan();
  KernelCode& kernel = plan.kernels[0];
  kernel.dims = {}, kernel.range = 1, kernel.shared_bytes = 100;
  kernel.launch = TemplateLaunch{.arguments = {{Kind::integer, field("B") * 3 + 1},
                                               {Kind::address, field("arguments1"), 4},
                                               {Kind::address, field("random")},
                                               {Kind::address, field("arguments0")}},
                                 .blocks = ceil_div(field("B"), 2),
                                 .shared_bytes = field("B") * 8};
  return plan;
}

class Template : public FakeGpu {};

TEST_F(Template, OfAStepIsGivenItsArgumentsAndSymbols) {
  std::vector<unsigned> blocks;
  gpu().kernels["descend"] = {4, [&](const KernelCall& call) {
                                blocks.push_back(call.blocks);
                                EXPECT_EQ(call.threads, 4u);
                                EXPECT_NE(call.argument<const void*>(2), nullptr);
                                KernelCall same = call;
                                same.arguments = {call.arguments[3], call.arguments[1], 0,
                                                  (call.arguments[0] - 1) / 3, 0};
                                descend(same);
                              }};
  const auto made = session(plan_of_template());
  std::vector<std::vector<float>> results;
  for (const int64_t rows : {5, 8}) results.push_back(train(*made, rows, rows));
  const std::vector<float> found = weights(*made);
  EXPECT_EQ(blocks, (std::vector<unsigned>{3, 4}));
  gpu().kernels["descend"] = {5, descend};
  const auto plain = session();
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(train(*plain, i == 0 ? 5 : 8, i == 0 ? 5 : 8), results[i]);
  EXPECT_EQ(weights(*plain), found);
}

TEST_F(Template, ThatDoesNotTakeTheSizesIsNamed) {
  gpu().kernels["descend"] = {4, [](const KernelCall&) {}};
  Plan plan = plan_of_template();
  plan.kernels[0].launch->conditions = {{field("B"), 1, 6}};
  const auto made = session(plan);
  EXPECT_EQ(train(*made, 0, 5).size(), 15u);
  EXPECT_HAS(message_of([&] { train(*made, 0, 6); }), "kernel 'descend' does not take these sizes");
  plan.kernels[0].launch->conditions = {};
  plan.kernels[0].launch->blocks = field("B") * (int64_t{1} << 31);
  EXPECT_HAS(message_of([&] { train(*session(plan), 0); }), "expected 0 to 2^31 - 1");
}

/// Of several templates those are launched that take the sizes; they must do the step.
TEST_F(Template, OfAStepAreChosenBySize) {
  Plan plan;
  plan.target = "sm_90";
  plan.symbols.bound({"B"}, kMostRows);
  const Dim rows = Dim::symbol("B");
  const auto buffer = [&](const char* name, Role role, Dim elements, int64_t most) {
    plan.buffers.push_back(
        {.name = name, .role = role, .dtype = DType::i32, .elements = elements, .bytes = most * 4});
  };
  buffer("ids", Role::input, rows, kMostRows), buffer("order", Role::output, rows, kMostRows);
  buffer("begins", Role::output, 3, 3);
  for (const char* name : {"few", "many"}) {
    KernelCode& kernel = plan.kernels.emplace_back();
    kernel.name = name, kernel.range = 1, kernel.threads = 32,
    kernel.binary = code(std::string(name) + ", as machine code");
    kernel.launch = TemplateLaunch{.step = "sort_index"};
    for (const char* result : {"permutation", "begins"})
      kernel.launch->arguments.push_back({Kind::address, field(result), 4, DType::i32, false, true});
  }
  plan.kernels[0].launch->conditions = {{field("count"), 1, 4}};
  plan.kernels[1].launch->conditions = {{field("count") * -1, 1, -4}};
  PlanEntry& entry = plan.entries.emplace_back();
  entry.name = "train_step";
  entry.inputs = {{"ids", DType::i32, {rows}, 0}};
  entry.outputs = {{"order", DType::i32, {rows}, 1}, {"begins", DType::i32, {Dim(3)}, 2}};
  Step& sorting = entry.steps.emplace_back();
  sorting.what = SortIndexStep{{0, 0}, {1, 0}, {2, 0}, rows, 2};
  sorting.reads = {0}, sorting.writes = {1, 2}, sorting.sources = {"sort"}, sorting.phase = "forward";
  sorting.kernels = {0, 1};
  std::vector<std::string> launched;
  for (const char* name : {"few", "many"})
    gpu().kernels[name] = {2, [&, name](const KernelCall&) { launched.push_back(name); }};
  const auto made = session(plan);
  const std::vector<int32_t> ids(kMostRows, 1);
  const auto sort = [&](int64_t count) {
    const InputTensor inputs[] = {{"ids", DType::i32, {count}, ids.data()}};
    made->run("train_step", inputs);
  };
  sort(3), sort(5);
  EXPECT_EQ(launched, (std::vector<std::string>{"few", "many"}));
  EXPECT_HAS(message_of([&] { sort(4); }), "none of its 0 kernels that take these sizes writes permutation");
}

// ---- beside the library

constexpr int64_t kHeads = 3, kRows = 8, kWidth = 16;

/// out = 2 A B in batches of [B, heads] of 8 x 8 matrices, bf16, with a template for it. `transposed`: the
/// columns of the results lie together.
Plan batched_plan(bool transposed) {
  const Dim batch = Dim::symbol("B");
  Plan plan;
  plan.target = "sm_90";
  plan.symbols.bound({"B"}, kMostRows);
  const auto buffer = [&](const char* name, Role role, int64_t elements) {
    plan.buffers.push_back({.name = name,
                            .role = role,
                            .dtype = DType::bf16,
                            .elements = batch * elements,
                            .bytes = kMostRows * elements * 2});
  };
  buffer("a", Role::input, kHeads * kRows * kWidth), buffer("b", Role::input, kHeads * kRows * kWidth);
  buffer("out", Role::output, kHeads * kRows * kRows);
  GemmStep gemm{{{0, 0}, kWidth, 1}, {{1, 0}, 1, kWidth}, {{2, 0}, kRows, 1}, kRows, kRows, kWidth, 2};
  if (transposed) std::swap(gemm.c.row_stride, gemm.c.column_stride);
  constexpr int64_t kIn = kRows * kWidth, kResult = kRows * kRows;
  gemm.batch = {{batch, kHeads * kIn, kHeads * kIn, kHeads * kResult}, {kHeads, kIn, kIn, kResult}};
  gemm.dtype = gemm.result_dtype = DType::bf16;
  plan.kernels = {{.name = "batched",
                   .text = "",
                   .dims = {},
                   .range = 1,
                   .threads = 32,
                   .shared_bytes = 4096,
                   .binary = code("batched, as machine code")}};
  TemplateLaunch launch{.step = "gemm"};
  for (const char* matrix : {"a", "b", "c"})
    launch.arguments.push_back(
        {Kind::address, field(matrix), 2, DType::bf16, *matrix != 'c', *matrix == 'c'});
  for (const char* size : {"batch0_extent", "batch0_a_stride", "batch0_b_stride", "batch0_c_stride",
                           "a_row_stride", "c_row_stride"})
    launch.arguments.push_back({Kind::integer, field(size)});
  launch.arguments.push_back({Kind::real, field("alpha")});
  launch.blocks = field("batch0_extent") * field("batch1_extent");
  launch.conditions = {{field("batch0_extent"), 1, 7}};
  plan.kernels[0].launch = std::move(launch);
  PlanEntry entry;
  entry.name = "train_step";
  const Dim heads = kHeads;
  entry.inputs = {{"a", DType::bf16, {batch, heads, Dim(kRows), Dim(kWidth)}, 0},
                  {"b", DType::bf16, {batch, heads, Dim(kRows), Dim(kWidth)}, 1}};
  entry.outputs = {{"out", DType::bf16, {batch, heads, Dim(kRows), Dim(kRows)}, 2}};
  Step step{gemm, {0, 1}, {2}, {}, {"scores"}, "forward"};
  step.kernels = {0};
  entry.steps = {step};
  plan.entries = {entry};
  return plan;
}

/// A row-by-row matmul with A by k and B by k; what it is called with is seen with the result's rows
/// together.
void batched(const KernelCall& call) {
  const auto* a = call.argument<const uint16_t*>(0);
  const auto* b = call.argument<const uint16_t*>(1);
  auto* c = call.argument<uint16_t*>(2);
  EXPECT_EQ(call.argument<int64_t>(7), kWidth);
  EXPECT_EQ(call.argument<int64_t>(8), kRows);
  const auto alpha = call.argument<float>(9);
  const int64_t heads = kHeads;
  for (int64_t o = 0; o < call.argument<int64_t>(3); ++o)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t j = 0; j < kRows; ++j) {
          double sum = 0;
          for (int64_t k = 0; k < kWidth; ++k)
            sum += double{from_bf16(a[o * call.argument<int64_t>(4) + (h * kRows + i) * kWidth + k])} *
                   from_bf16(b[o * call.argument<int64_t>(5) + (h * kRows + j) * kWidth + k]);
          c[o * call.argument<int64_t>(6) + (h * kRows + i) * kRows + j] =
              to_bf16(static_cast<float>(alpha * sum));
        }
}

std::vector<float> scores(Session& session, int64_t batch) {
  std::vector<uint16_t> a(static_cast<size_t>(batch * kHeads * kRows * kWidth)), b = a;
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = to_bf16(static_cast<float>(i % 13) - 6), b[i] = to_bf16(static_cast<float>(i % 7) - 3);
  const std::vector<int64_t> shape = {batch, kHeads, kRows, kWidth};
  const InputTensor inputs[] = {{"a", DType::bf16, shape, a.data()}, {"b", DType::bf16, shape, b.data()}};
  std::vector<float> values;
  const auto outputs = session.run("train_step", inputs);
  for (const uint16_t bits : outputs[0].as<uint16_t>()) values.push_back(from_bf16(bits));
  return values;
}

TEST_F(Template, OfAGemmIsMeasuredBesideTheLibrary) {
  for (const bool transposed : {false, true}) {
    std::filesystem::remove_all(cache_.path());  // what the other layout has chosen
    gpu().kernels["batched"] = {10, batched};
    Plan without = batched_plan(transposed);
    without.entries[0].steps[0].kernels.clear();
    const auto library = session(without), own = session(batched_plan(transposed));
    gpu().milliseconds_by_algorithm = {1};
    const std::vector<float> expected = scores(*library, 5);
    gpu().launches = 0;
    EXPECT_EQ(scores(*own, 5), expected);
    const int gemms = gpu().gemms;
    EXPECT_GT(gpu().launches, 0) << "it takes no time on this clock, so it is chosen";
    EXPECT_EQ(scores(*own, 5), expected);
    EXPECT_EQ(gpu().gemms, gemms);
    gpu().launches = 0;
    EXPECT_EQ(scores(*own, 8), scores(*library, 8));
    EXPECT_EQ(gpu().launches, 0) << "a condition of the template does not hold";
  }
}

}  // namespace
}  // namespace smelt::fake
