// Maps of a kernel's arguments: what a launch gives the driver, and what is refused.
#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_validate.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

constexpr int kF32 = 7;

/// "descend" of the example also reads x [B,4], by a map.
Plan plan_with_map() {
  Plan plan = linear_plan();
  KernelCode& kernel = plan.kernels[0];
  kernel.parameters.emplace_back();
  kernel.maps = {{2, {kIn, Dim::symbol("B")}, {kIn}, {4, 8}, 32}};
  Step& step = plan.entries[0].steps[1];
  std::get<KernelStep>(step.what).arguments.push_back({0, 0});
  step.reads.push_back(0);
  return plan;
}

std::string refusal(const std::function<void(Plan&)>& change) {
  Plan plan = plan_with_map();
  change(plan);
  try {
    validate(plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file);
    return error.what();
  }
  return "accepted";
}

class TensorMaps : public FakeGpu {
 protected:
  std::vector<KernelCall> calls_;
  TensorMaps() {
    gpu().kernels["descend"] = {6, [this](const KernelCall& call) { calls_.push_back(call); }, 1, 1};
  }
};

TEST_F(TensorMaps, AreTheFirstArguments) {
  const auto made = session(plan_with_map());
  for (const int64_t rows : {5, 8, 5}) train(*made, 0, rows);
  ASSERT_EQ(calls_.size(), 3u);
  for (const KernelCall& call : calls_) {
    const Map& map = call.maps.at(0);
    EXPECT_EQ(map.address, call.argument<void*>(2)) << "of the argument that it is of";
    EXPECT_EQ(map.type, kF32);
    EXPECT_EQ(map.rank, 2u);
    EXPECT_EQ(map.extents[0], 4u);
    EXPECT_EQ(static_cast<int64_t>(map.extents[1]), call.argument<int64_t>(4)) << "the rows of this launch";
    EXPECT_EQ(map.strides[0], 16u) << "bytes";
    EXPECT_EQ(map.box[0], 4u);
    EXPECT_EQ(map.box[1], 8u);
    EXPECT_EQ(map.swizzle, 1);
  }
}

TEST_F(TensorMaps, AreSavedWithThePlan) {
  Plan plan = plan_with_map();
  plan.kernels[0].most_blocks = 2, plan.kernels[0].only_capability = 90;
  save_plan(plan, work_.path() / "maps.plan");
  const KernelCode kernel = load_plan(work_.path() / "maps.plan")->kernels[0];
  ASSERT_EQ(kernel.maps.size(), 1u);
  EXPECT_EQ(kernel.maps[0].parameter, 2);
  EXPECT_EQ(kernel.maps[0].extents, (std::vector<Dim>{kIn, Dim::symbol("B")}));
  EXPECT_EQ(kernel.maps[0].strides, std::vector<Dim>{kIn});
  EXPECT_EQ(kernel.maps[0].box, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(kernel.maps[0].swizzle_bytes, 32);
  EXPECT_EQ(kernel.most_blocks, 2);
  EXPECT_EQ(kernel.only_capability, 90);
}

TEST_F(TensorMaps, ABlockTakesSeveralChunksWhereBlocksAreFew) {
  Plan plan = plan_with_map();
  train(*session(plan), 0);
  plan.kernels[0].most_blocks = 2;
  train(*session(plan), 0);
  plan.kernels[0].most_blocks = 200;
  train(*session(plan), 0);
  ASSERT_EQ(calls_.size(), 3u);
  EXPECT_EQ(calls_[0].blocks, 3u);
  EXPECT_EQ(calls_[1].blocks, 2u);
  EXPECT_EQ(calls_[2].blocks, 3u) << "none without a chunk";
}

#define EXPECT_REFUSED(text, ...)                                               \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, refusal([](Plan& p) {       \
                        [[maybe_unused]] TensorMap& map = p.kernels[0].maps[0]; \
                        [[maybe_unused]] KernelCode& kernel = p.kernels[0];     \
                        __VA_ARGS__;                                            \
                      }))

TEST_F(TensorMaps, OfOtherShapesAreRefused) {
  EXPECT_REFUSED("accepted", map.swizzle_bytes = 0);
  EXPECT_REFUSED("expected a parameter from 0 to 2", map.parameter = 3);
  EXPECT_REFUSED("expected a parameter from 0 to 2", map.parameter = -1);
  EXPECT_REFUSED("that is read alone", map.parameter = 1);
  EXPECT_REFUSED("2 extents, 0 strides and a box of 2", map.strides.clear());
  EXPECT_REFUSED("0 extents, 1 strides", map.extents.clear());
  EXPECT_REFUSED("a box of 3", map.box.push_back(1));
  EXPECT_REFUSED("a box of 257: expected 1 to 256", map.box[1] = 257);
  EXPECT_REFUSED("a box of 0", map.box[0] = 0);
  EXPECT_REFUSED("rows of 12 bytes", map.box[0] = 3);
  EXPECT_REFUSED("rows of 64 bytes, permuted in 32", map.box[0] = 16);
  EXPECT_REFUSED("permuted in 48 bytes", map.swizzle_bytes = 48);
  EXPECT_REFUSED("17 maps of arguments", kernel.maps.assign(17, kernel.maps[0]));
  EXPECT_REFUSED("for sm_90 or later", p.target = "sm_89");
  EXPECT_REFUSED("expected at least 0", kernel.most_blocks = -1);
}

TEST_F(TensorMaps, OutsideOfTheirBuffersAreRefused) {
  EXPECT_REFUSED("reaches element 7 from element 0 of 4", map.extents[1] = map.extents[1] + 1);
  EXPECT_REFUSED("has an extent of 0", map.extents[1] = map.extents[1] - 1);
  EXPECT_REFUSED("a stride of 6 elements", map.strides[0] = 6);
  EXPECT_REFUSED("a stride of 0 elements", map.strides[0] = 0);
  EXPECT_REFUSED("a stride of -4 elements", map.strides[0] = -4);
  EXPECT_REFUSED("begins at element 2", map.extents[1] = 1, map.extents[0] = 1,
                 std::get<KernelStep>(p.entries[0].steps[1].what).arguments[2].offset = 2);
  EXPECT_REFUSED("has a stride of 4611686018427387904", map.strides[0] = int64_t{1} << 62);
}

}  // namespace
}  // namespace smelt::fake
