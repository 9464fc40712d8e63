// CUDA C++ of the thread IR.
#include <gtest/gtest.h>

#include <limits>

#include "codegen/cuda/printers/print_expression.h"
#include "codegen/cuda/printers/print_statements.h"
#include "codegen/gpu/lower/scalar_values.h"
#include "codegen/gpu/thread_ir/body_builder.h"

namespace smelt {
namespace {

using gpu::Expr;
using gpu::Scalar;

Expr a() { return gpu::variable("a", Scalar::int32); }
Expr b() { return gpu::variable("b", Scalar::int32); }
Expr x() { return gpu::variable("x", Scalar::real); }

TEST(ExpressionPrinter, ParenthesesAreWhereTheyAreNeeded) {
  EXPECT_EQ(print(a() * 2 + b()), "a * 2 + b");
  EXPECT_EQ(print((a() + b()) * 2), "(a + b) * 2");
  EXPECT_EQ(print(a() + (b() + 1)), "a + (b + 1)");
  EXPECT_EQ(print(a() - (b() - 1) / 2 % 3), "a - (b - 1) / 2 % 3");
  EXPECT_EQ(print((a() >> b() & gpu::bits(1)) != 0), "(a >> b & 1u) != 0");
  EXPECT_EQ(print(a() < 2 && b() >= -3), "a < 2 && b >= (-3)");
  EXPECT_EQ(print(gpu::choice(a() < 2, a(), b() + 1)), "a < 2 ? a : b + 1");
  EXPECT_EQ(print(!(a() == 0)), "!(a == 0)");
  EXPECT_EQ(print(gpu::cast(a() + b(), Scalar::bits)), "(unsigned)(a + b)");
}

TEST(ExpressionPrinter, Numbers) {
  EXPECT_EQ(print(gpu::real_number(1)), "1.0f");
  EXPECT_EQ(print(gpu::real_number(-0.5)), "-0.5f");
  EXPECT_EQ(print(x() * gpu::real_number(-1e-5)), "x * (-1e-05f)");
  EXPECT_EQ(print(gpu::real_number(-std::numeric_limits<double>::infinity())), "-sm_infinity()");
  EXPECT_EQ(print(gpu::number(std::numeric_limits<int32_t>::min(), Scalar::int32)), "-2147483647 - 1");
  EXPECT_EQ(print(gpu::number(5, Scalar::int64)), "5ll");
  EXPECT_EQ(print(gpu::number(int64_t{1} << 40, Scalar::index)), "1099511627776ll");
  EXPECT_EQ(print(gpu::bits(0xFFFF)), "0xffffu");
  EXPECT_EQ(print(gpu::number(1, Scalar::flag)), "true");
}

TEST(ExpressionPrinter, OperationsHaveTheTextOfTheirRow) {
  const auto apply = [](ScalarOp op, const Expr& left, const Expr& right) {
    const Expr operands[] = {left, right};
    return print(gpu::apply(op, operands, gpu::Precision::exact));
  };
  EXPECT_EQ(apply(ScalarOp::add, x(), a() + b()), "x + (float)(a + b)");
  EXPECT_EQ(apply(ScalarOp::add, a(), b()), "sm_add(a, b)");
  EXPECT_EQ(apply(ScalarOp::max, gpu::number(5, Scalar::int64), b()), "sm_wide_max(5ll, (long long)b)");
  EXPECT_EQ(apply(ScalarOp::logical_and, x(), a() < b()), "(x != 0) && (a < b)");
}

TEST(ExpressionPrinter, Memory) {
  const gpu::Type half = gpu::Type::stored(DType::bf16);
  const Expr y = gpu::variable("y", half.pointer_to_const());
  EXPECT_EQ(print(gpu::load(gpu::element(y, a() + 1))), "sm_get(y[a + 1])");
  EXPECT_EQ(print(gpu::element(y + a(), b())), "(y + a)[b]");
  EXPECT_EQ(print(gpu::element(gpu::cast(y, half.pointer_to()), 0)), "((bf16*)y)[0]");
  EXPECT_EQ(print(gpu::rounded(x(), DType::f16)), "sm_round<f16>(x)");
  EXPECT_EQ(cuda_type(y.type()), "const bf16*");
}

TEST(StatementPrinter, DeclarationsAndLoops) {
  gpu::BodyBuilder out;
  out.declare(Scalar::index, "i", a(), "2*B");
  out.declare_array(Scalar::real, "t", {2, 4}, true, 16);
  const Expr k = out.open_unrolled("k", 2);
  out.where(k < b(), [&] { out.leave(); });
  out.close();
  out.open(gpu::Loop{{}, a() < b(), {}, 4});
  out.barrier();
  out.close();
  EXPECT_EQ(print(out.body(), 1),
            "  const Index i = a;  // 2*B\n"
            "  alignas(16) float t[2][4] = {};\n"
            "#pragma unroll\n"
            "  for (int k = 0; k < 2; ++k) {\n"
            "    if (k < b) {\n"
            "      return;\n"
            "    }\n"
            "  }\n"
            "#pragma unroll 4\n"
            "  while (a < b) {\n"
            "    __syncthreads();\n"
            "  }\n");
}

TEST(StatementPrinter, AccessesToVectors) {
  gpu::BodyBuilder out;
  const Expr t = out.declare_array(Scalar::real, "t", {4});
  const Expr y = gpu::variable("y", gpu::Type::stored(DType::f32).pointer_to());
  out.append(gpu::VectorAccess{.registers = t, .address = y + a(), .count = 4});
  out.append(gpu::VectorAccess{.store = true,
                               .registers = t,
                               .address = y,
                               .count = b() - a(),
                               .aligned = gpu::VectorAccess::Aligned::by_sizes,
                               .last = 3});
  EXPECT_EQ(print(out.body()),
            "float t[4];\n"
            "sm_load<false>(t, y + a, 4);\n"
            "sm_store_end<aligned, 3>(y, t, b - a);\n");
}

}  // namespace
}  // namespace smelt
