// Names of sizes and parameters in the thread IR of a kernel.
#include "codegen/gpu/lower/kernel_names.h"

#include <gtest/gtest.h>

#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"

namespace smelt::gpu {
namespace {

KernelNames names() {
  return KernelNames(parse_kernel(R"(kernel @k(%x0: f32, %float: f32, out %y2: f32)
    parallel r = T, parallel s = 2*B, column c = 4 {
  column {
    %0 = load %x0[r*4 + s*(4*T) + c] : f32
    store %y2[r*4 + s*(4*T) + c] = %0 : f32
  }
})"));
}

Expr index(const char* name) { return variable(name, Scalar::index); }

TEST(KernelNames, ParametersKeepNamesThatNothingElseHas) {
  EXPECT_EQ(names().params(), (std::vector<std::string>{"x0", "arg1", "y2"}));
  EXPECT_TRUE(names().param(0).type().read_only);
  EXPECT_FALSE(names().param(2).type().read_only);
  const Kernel twice = parse_kernel("kernel @k(%x0: f32, %x0: f32) {}");
  EXPECT_EQ(KernelNames(twice).params(), (std::vector<std::string>{"arg0", "arg1"}));
}

TEST(KernelNames, SizesAreNumbersSymbolsOrNumbered) {
  const KernelNames n = names();
  EXPECT_EQ(n.dims(), (std::vector<std::string>{"T", "d1", "d2"}));
  EXPECT_EQ(smelt::print(n.dim(Dim::symbol("B") * 2)), "d1");
  EXPECT_EQ(smelt::print(n.launched_dim(Dim::symbol("B") * 2)), "d1_");
  EXPECT_EQ(smelt::print(index("r") * n.dim(-3)), "r * (-3)");
  EXPECT_EQ(smelt::print(n.launched_dim(int64_t{1} << 40)), "1099511627776ll");
}

TEST(KernelNames, SumsLeaveOutWhatAddsNothing) {
  const KernelNames n = names();
  EXPECT_EQ(
      smelt::print(n.sum(0, {{index("r"), 1}, {index("s"), 0}, {0, 7}, {index("c"), Dim::symbol("T")}})),
      "r + c * T");
  EXPECT_EQ(smelt::print(n.sum(5, {{index("r"), 4}})), "r * 4 + 5");
  EXPECT_EQ(smelt::print(n.sum(0, {{index("r"), 1}, {index("c") + 1, 2}})), "r + (c + 1) * 2");
  EXPECT_TRUE(n.sum(0, {}).is_zero());
}

TEST(KernelNames, DeclarationsSayWhatANumberedSizeIs) {
  BodyBuilder out;
  names().declare_dims(out);
  EXPECT_EQ(smelt::print(out.body()),
            "const Index T = (Index)T_;\n"
            "const Index d1 = (Index)d1_;  // 2*B\n"
            "const Index d2 = (Index)d2_;  // 4*T\n");
}

}  // namespace
}  // namespace smelt::gpu
