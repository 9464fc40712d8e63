// Names of sizes and parameters in the text of a kernel.
#include "codegen/cuda/printers/cuda_names.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

CudaNames names() {
  return CudaNames(parse_kernel(R"(kernel @k(%x0: f32, %float: f32, out %y2: f32)
    parallel r = T, parallel s = 2*B, column c = 4 {
  column {
    %0 = load %x0[r*4 + s*(4*T) + c] : f32
    store %y2[r*4 + s*(4*T) + c] = %0 : f32
  }
})"));
}

TEST(CudaNames, ParametersKeepNamesThatNothingElseHas) {
  EXPECT_EQ(names().params(), (std::vector<std::string>{"x0", "arg1", "y2"}));
  const Kernel twice = parse_kernel("kernel @k(%x0: f32, %x0: f32) {}");
  EXPECT_EQ(CudaNames(twice).params(), (std::vector<std::string>{"arg0", "arg1"}));
}

TEST(CudaNames, SizesAreNumbersSymbolsOrNumbered) {
  const CudaNames n = names();
  EXPECT_EQ(n.dims(), (std::vector<std::string>{"T", "d1", "d2"}));
  EXPECT_EQ(n.dim(Dim::symbol("B") * 2), "d1");
  EXPECT_EQ(n.dim(-3), "(-3)");
  EXPECT_EQ(n.dim(int64_t{1} << 40), "1099511627776ll");
}

TEST(CudaNames, SumsLeaveOutWhatAddsNothing) {
  const CudaNames n = names();
  EXPECT_EQ(n.sum(0, {{"r", 1}, {"s", 0}, {"0", 7}, {"c", Dim::symbol("T")}}), "r + c * T");
  EXPECT_EQ(n.sum(5, {{"r", 4}}), "r * 4 + 5");
  EXPECT_EQ(n.sum(0, {}), "0");
}

TEST(CudaNames, DeclarationsSayWhatANumberedSizeIs) {
  CodeText out;
  names().declare_dims(out);
  EXPECT_EQ(out.text(),
            "const Index T = (Index)T_;\n"
            "const Index d1 = (Index)d1_;  // 2*B\n"
            "const Index d2 = (Index)d2_;  // 4*T\n");
}

}  // namespace
}  // namespace smelt
