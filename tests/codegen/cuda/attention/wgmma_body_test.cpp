// What the kernels of wgmma know of a body's dropout, from the kernel's instructions.
#include <gtest/gtest.h>

#include "codegen/cuda/attention/wgmma_body.h"
#include "tests/codegen/llvm_kernel_builder.h"

namespace smelt::test {
namespace {

/// A body whose weights are multiplied by select(draw op number, yes, no), or with the draw on the right.
struct Dropout {
  ScalarOp op = ScalarOp::ge;
  double number = 6553, yes = 1.25, no = 0;
  bool draw_is_first = true, draw_is_used_again = false;
};

Kernel body_of(const Dropout& dropout) {
  KernelBuilder b("body");
  const int row = b.parallel(Dim::symbol("T")), column = b.column(Dim::symbol("S"));
  b.column_block();
  const int draw = b.random(0, column, {{row, Dim(1)}}), number = b.number(dropout.number, DType::i32);
  const int seen =
      dropout.draw_is_first ? b.op(dropout.op, {draw, number}) : b.op(dropout.op, {number, draw});
  const int factor = b.op(ScalarOp::select, {seen, b.number(dropout.yes), b.number(dropout.no)});
  if (dropout.draw_is_used_again) b.convert(draw, DType::f32);
  b.kernel.attention.emplace().returned = {factor, factor};
  return b.kernel;
}

/// Of every draw near the number, and of the ends.
void expect_kept(const Dropout& dropout, auto keeps) {
  const std::optional<KeptDraws> kept = kept_draws(body_of(dropout));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->factor, 1.25);
  for (const int draw : {0, 1, 6552, 6553, 6554, 65534, 65535})
    EXPECT_EQ((draw >= kept->from) == kept->keeps_from, keeps(draw)) << draw;
}

TEST(WgmmaBody, ComparisonsSayWhichDrawsKeepAWeight) {
  expect_kept({.op = ScalarOp::ge}, [](int draw) { return draw >= 6553; });
  expect_kept({.op = ScalarOp::gt}, [](int draw) { return draw > 6553; });
  expect_kept({.op = ScalarOp::lt}, [](int draw) { return draw < 6553; });
  expect_kept({.op = ScalarOp::le}, [](int draw) { return draw <= 6553; });
  expect_kept({.op = ScalarOp::le, .draw_is_first = false}, [](int draw) { return 6553 <= draw; });
  expect_kept({.op = ScalarOp::gt, .draw_is_first = false}, [](int draw) { return 6553 > draw; });
}

TEST(WgmmaBody, TheZeroMayStandFirst) {
  expect_kept({.op = ScalarOp::lt, .yes = 0, .no = 1.25}, [](int draw) { return draw >= 6553; });
}

TEST(WgmmaBody, NumbersNeedNotBeDraws) {
  expect_kept({.number = 6552.5}, [](int draw) { return draw >= 6553; });
  expect_kept({.number = -3}, [](int) { return true; });
  expect_kept({.op = ScalarOp::gt, .number = 65535}, [](int) { return false; });
  expect_kept({.op = ScalarOp::lt, .number = 1e12}, [](int) { return true; });
}

TEST(WgmmaBody, OtherFactorsMayBeAnything) {
  EXPECT_FALSE(kept_draws(body_of({.no = 0.5})));
  EXPECT_FALSE(kept_draws(body_of({.yes = -1.25})));
  EXPECT_FALSE(kept_draws(body_of({.op = ScalarOp::eq})));
  EXPECT_FALSE(kept_draws(body_of({.draw_is_used_again = true})));
}

}  // namespace
}  // namespace smelt::test
