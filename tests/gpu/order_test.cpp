// scan and top_k on the GPU, against the CPU's; skipped where there is none.
#include <cmath>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "runtime/cpu/library_steps.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuOrder = GpuTest;

Session order_session(const std::string& body, int64_t rows, int64_t columns) {
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda";
  return Session(
      std::make_shared<const Plan>(
          compile(parse_module(fmt::format("graph @g(%x: f32[{},{}]) {{\n{}\n}}\n", rows, columns, body)),
                  options)
              .plan),
      {.poison = true});
}

std::vector<float> numbers(int64_t rows, int64_t columns) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(rows * columns));
  for (float& value : x) value = random() % 5 == 0 ? -1.0F : normal(random);
  return x;
}

TEST_F(GpuOrder, TheLargestAreTheCpus) {
  for (const int64_t k : {1, 8, 32, 50, 1024})
    for (const auto& [rows, columns] : {std::pair(3, 33), std::pair(2, 50257), std::pair(1, 128256)}) {
      Session session =
          order_session(fmt::format("%v, %i = top_k %x {{k = {}}} return v = %v, i = %i", k), rows, columns);
      const std::vector<float> x = numbers(rows, columns);
      std::vector<float> values(static_cast<size_t>(rows * k));
      std::vector<int32_t> places(values.size());
      top_k({rows, columns, columns, k}, x.data(), values.data(), places.data());
      const InputTensor inputs[] = {{"x", DType::f32, {rows, columns}, x.data()}};
      for (int time = 0; time < 3; ++time) {  // the first is not a graph
        const auto found = session.run("g", inputs);
        EXPECT_TRUE(std::ranges::equal(found[0].as<float>(), values)) << k << " of " << columns;
        EXPECT_TRUE(std::ranges::equal(found[1].as<int32_t>(), places)) << k << " of " << columns;
      }
    }
}

TEST_F(GpuOrder, ScansAreTheCpus) {
  for (const int64_t axis : {0, 1})
    for (const auto& [rows, columns] : {std::pair(3, 33), std::pair(77, 4099), std::pair(1, 131072)}) {
      Session session = order_session(
          fmt::format("%s = scan %x {{axis = {}, kind = \"add\"}} return s = %s", axis), rows, columns);
      const std::vector<float> x = numbers(rows, columns);
      std::vector<float> sums(x.size());
      const ScanSizes sizes = axis == 1 ? ScanSizes{rows, columns, 1, columns, 1, columns, 1}
                                        : ScanSizes{1, rows, columns, 0, columns, 0, columns};
      scan(sizes, x.data(), sums.data());
      const InputTensor inputs[] = {{"x", DType::f32, {rows, columns}, x.data()}};
      std::vector<float> first;
      for (int time = 0; time < 3; ++time) {
        const auto run = session.run("g", inputs);
        const auto found = run[0].as<float>();
        for (size_t i = 0; i < sums.size(); ++i)
          ASSERT_LE(std::abs(found[i] - sums[i]), 1e-5F * (std::abs(sums[i]) + std::sqrt(float(i + 1)))) << i;
        if (first.empty()) first.assign(found.begin(), found.end());
        EXPECT_TRUE(std::ranges::equal(found, first)) << "the same bits every time";
      }
    }
}

}  // namespace
}  // namespace smelt
