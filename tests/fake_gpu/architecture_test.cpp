// Plans for one architecture on a GPU of another.
#include "runtime/base/error.h"
#include "runtime/cuda/machine_code.h"
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

using cuda::DeviceInfo;
using cuda::machine_code;

constexpr const char* kSource =
    "extern \"C\" __global__ void descend(float* y, float* w, const unsigned*, long long, long long) { w[0] "
    "= "
    "y[0]; }\n";

/// With a source and machine code that the fake GPU checks as the driver would.
Plan plan_for(int capability) {
  Plan plan = linear_plan();
  plan.target = fmt::format("sm_{}", capability);
  plan.kernels[0].source = kSource;
  plan.kernels[0].binary = compile_cuda(CudaSource{kSource, "descend"}, capability).bytes;
  return plan;
}

DeviceInfo device(int capability) {
  DeviceInfo info;
  info.name = "Some GPU", info.compute_capability = capability;
  return info;
}

class Architecture : public FakeGpu {
 protected:
  void SetUp() override {
    if (!nvrtc_info().available) GTEST_SKIP() << nvrtc_info().problem;
  }
};

TEST_F(Architecture, ItsOwnCodeIsTaken) {
  const Plan plan = plan_for(80);
  for (const int later : {80, 86, 89}) {
    const auto code = machine_code(plan, device(later));
    EXPECT_TRUE(code.made.empty());
    EXPECT_EQ(code.cubins[0].data(), plan.kernels[0].binary.data());
  }
}

TEST_F(Architecture, AnothersIsMadeAgain) {
  const Plan plan = plan_for(80);
  for (const int other : {90, 100}) {
    const auto code = machine_code(plan, device(other));
    ASSERT_EQ(code.made.size(), 1u);
    EXPECT_EQ(code.made[0].bytes, compile_cuda(CudaSource{kSource, "descend"}, other).bytes);
    EXPECT_TRUE(machine_code(plan, device(other)).made[0].from_cache);
  }
  EXPECT_EQ(machine_code(plan_for(86), device(80)).made.size(), 1u) << "an earlier minor version";
}

/// The fake driver refuses cubins of another architecture.
TEST_F(Architecture, SuchAPlanRuns) {
  for (const int capability : {80, 86, 90, 100}) {
    const auto ready = session(plan_for(capability));
    EXPECT_EQ(train(*ready, 0).size(), 15u) << capability;
  }
}

TEST_F(Architecture, ARefusalNamesBothAndWhatToDo) {
  Plan plan = plan_for(80);
  NvrtcInfo none;
  none.problem = "NVRTC is not installed";
  const std::string message = message_of([&] { machine_code(plan, device(90), none); });
  EXPECT_HAS(message, "the plan is for sm_80, this machine's Some GPU is sm_90");
  EXPECT_HAS(message, "NVRTC is not installed");
  EXPECT_HAS(message, "--target=sm_90");
  plan.kernels[0].source.clear();
  EXPECT_HAS(message_of([&] { machine_code(plan, device(90)); }), "has no source of kernel 'descend'");
}

TEST_F(Architecture, CodeForOneAloneIsMadeForNoOther) {
  constexpr const char* kOwn =
      "extern \"C\" __global__ void descend(float*, float*, const unsigned*, long long, long long) {\n"
      "  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 120;\");\n}\n";
  Plan plan = plan_for(90);
  plan.kernels[0].source = kOwn, plan.kernels[0].only_capability = 90;
  EXPECT_ANY_THROW(compile_cuda(CudaSource{kOwn, "descend"}, 90)) << "it needs sm_90a";
  plan.kernels[0].binary = compile_cuda(CudaSource{kOwn, "descend", 90}, 90).bytes;
  EXPECT_TRUE(machine_code(plan, device(90)).made.empty());
  for (const int other : {80, 91, 100})
    EXPECT_HAS(message_of([&] { machine_code(plan, device(other)); }), "kernel descend is for sm_90 alone");
  plan.target = "sm_100";
  EXPECT_HAS(message_of([&] { session(plan); }),
             "kernel 'descend' is for sm_90 alone: the plan is for sm_100");
}

TEST_F(Architecture, SourcesThatDoNotCompileAreNamed) {
  Plan plan = plan_for(80);
  plan.kernels[0].source = "nonsense";
  const std::string message = message_of([&] { session(plan); });
  EXPECT_HAS(message, "the plan is for sm_80, this machine's Fake GPU is sm_90");
  EXPECT_HAS(message, "kernel descend: NVRTC");
}

TEST_F(Architecture, CodeThatIsMissingOrRefused) {
  Plan plan = plan_for(90);
  plan.kernels[0].binary.clear();
  EXPECT_HAS(message_of([&] { session(plan); }), "kernel 'descend' of the plan has no machine code");
  plan = plan_for(80);
  plan.target = "sm_90";  // it lies
  const std::string message = message_of([&] { session(plan); });
  EXPECT_HAS(message, "loading kernel 'descend' failed");
  EXPECT_HAS(message, "the driver is for CUDA 13.0");
  EXPECT_EQ(gpu().blocks_in_use, 0u);
}

}  // namespace
}  // namespace smelt::fake
