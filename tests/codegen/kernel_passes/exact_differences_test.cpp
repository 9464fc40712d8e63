// Which differences of a kernel must not be contracted with the product before them.
#include "codegen/kernel_passes/kernel_passes.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(ExactDifferences, AreThoseOfAProductAndAStatisticOfTheRow) {
  const Kernel kernel = parse_kernel(R"(kernel @scores(%x: f32, %most: f32, out %y: f32)
    parallel r0 = R, column c0 = 64 {
  row {
    %0 = load %most[r0] : f32
  }
  column {
    %1 = load %x[r0*64 + c0] : f32
    %2 = constant 0.3 : f32
    %3 = mul %1, %2 : f32
    %4 = sub %3, %0 : f32
    %5 = sub %0, %3 : f32
    %6 = sub %1, %0 : f32
    %7 = sub %3, %1 : f32
    %8 = sub %3, %2 : f32
    %9 = add %4, %5 : f32
    %10 = add %6, %7 : f32
    %11 = add %9, %10 : f32
    %12 = add %11, %8 : f32
    store %y[r0*64 + c0] = %12 : f32
  }
})");
  const KernelShape shape(kernel);
  std::vector<int> exact;
  for (int id = 0; id < static_cast<int>(kernel.instructions.size()); ++id)
    if (subtracts_statistic(kernel, shape, id)) exact.push_back(id);
  EXPECT_EQ(exact, (std::vector<int>{4, 5}));
}

}  // namespace
}  // namespace smelt
