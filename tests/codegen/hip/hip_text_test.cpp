// HIP C++ of kernels: what differs from their CUDA text, kernels that are refused, and code for GPUs of AMD.
#include <gtest/gtest.h>

#include "codegen/cuda/device_text.h"
#include "codegen/cuda/prelude.h"
#include "codegen/gpu/lower/lower_launch.h"
#include "codegen/gpu/thread_ir/body_builder.h"
#include "codegen/hip/group_barriers.h"
#include "codegen/hip/hip_language.h"
#include "codegen/hip/hip_pieces.h"
#include "codegen/hip/missing_functions.h"
#include "codegen/printers/device_text.h"
#include "codegen/printers/print_expression.h"
#include "codegen/printers/print_statements.h"
#include "codegen/scheduling/schedule.h"
#include "runtime/base/error.h"
#include "tests/codegen/llvm_kernel_builder.h"
#include "tests/support/hip/compile_hip.h"

namespace smelt::test {
namespace {

using gpu::Expr;
using gpu::Scalar;

Expr hip_real(const char* name) { return gpu::variable(name, Scalar::real); }

TEST(HipPrinter, FunctionsOfTheLanguageHaveItsNames) {
  const Expr mask = gpu::variable("mask", Scalar::bits), d = gpu::variable("d", Scalar::int32);
  EXPECT_EQ(print(kHip, gpu::shuffled(mask, hip_real("x"), d)), "sm_shuffle_xor(mask, x, d)");
  EXPECT_EQ(print(kHip, gpu::rounded_difference(hip_real("x"), hip_real("y"))), "sm_difference(x, y)");
  EXPECT_EQ(print(kHip, gpu::cast(hip_real("x"), Scalar::int32)), "sm_to_int32(x)");
  EXPECT_EQ(print(kHip, gpu::cast(hip_real("x"), Scalar::int64)), "sm_to_int64(x)");
  gpu::BodyBuilder out;
  out.append(gpu::Barrier{.of = gpu::Barrier::Of::warp, .mask = mask});
  EXPECT_EQ(print(kHip, out.body()), "sm_lanes_barrier(mask);\n");
}

/// The pieces of a file of the prelude.
std::set<std::string> pieces_in(std::string_view text) {
  std::set<std::string> names;
  for (size_t at = text.find("// ==== "); at != std::string_view::npos; at = text.find("// ==== ", at + 1))
    names.emplace(text.substr(at + 8, text.find('\n', at) - at - 8));
  return names;
}

/// A piece without text is one that every language must define.
TEST(HipPrelude, HasAllPiecesButTheWaitsForLaunches) {
  const std::set<std::string> without = {"sm_allow_next_launch", "sm_wait_for_launches"};
  for (const std::string_view file :
       {shared_device::kPreludeMemory, shared_device::kPreludeFunctions, device::kPreludeThreads})
    for (const std::string& name : pieces_in(file)) {
      EXPECT_TRUE(all_cuda_pieces().defines(name)) << name;
      EXPECT_EQ(hip_pieces().defines(name), !without.contains(name)) << name;
    }
}

TEST(HipPrelude, PiecesComeAfterThoseThatTheyCall) {
  PreludeNeeds needs = {"sm_combine_lanes_max_sumexp"};
  const std::string text = hip_pieces().text(needs);
  const size_t shuffle = text.find("SM T sm_shuffle_xor("), use = text.find("SM void sm_combine_lanes");
  ASSERT_NE(shuffle, std::string::npos);
  EXPECT_LT(shuffle, use);
  EXPECT_EQ(text.find("__CUDA_ARCH__"), std::string::npos);
}

// ---- kernels

/// y = softmax of the rows of x, of N columns.
Kernel softmax_rows(int64_t columns) {
  KernelBuilder b("softmax");
  const int r = b.parallel(Dim::symbol("M")), c = b.column(columns);
  const int x = b.input(DType::bf16), y = b.output(DType::bf16);
  const auto element = [&] { return b.convert(b.load(x, {{r, columns}, {c, 1}}), DType::f32); };
  b.column_block();
  const int pair = b.reduce(ReduceOp::max_sumexp, element());
  const int sum = b.second(pair);
  b.column_block();
  const int e = b.op(ScalarOp::exp, {b.op(ScalarOp::sub, {element(), pair})});
  b.store(y, {{r, columns}, {c, 1}}, b.convert(b.op(ScalarOp::div, {e, sum}), DType::bf16));
  return b.kernel;
}

Kernel scheduled_rows(Kernel kernel, int threads, int team) {
  Schedule schedule;
  schedule.vector_width = 4, schedule.threads = threads, schedule.team = team, schedule.index32 = true;
  schedule.grain = threads / team;
  const int64_t columns = kernel.axes.back().extent.constant().value();
  schedule.vectors = static_cast<int>((columns + 4 * team - 1) / (4 * team));
  for (KernelParam& param : kernel.params) param.alignment = 16;
  take_schedule(kernel, schedule);
  return kernel;
}

std::string refusal_of(const Kernel& kernel) {
  try {
    emit_hip(kernel);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unavailable);
    return error.what();
  }
}

TEST(HipText, HasNoInstructionsOfNvidia) {
  const std::string text = emit_hip(scheduled_rows(softmax_rows(500), 256, 32));
  for (const char* word :
       {"__CUDA_ARCH__", "asm", "_sync(", "__syncwarp", "__grid_constant__", "_rn(", "sm_barrier"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_NE(text.find("sm_shuffle_xor(mask, "), std::string::npos);
}

/// Groups of several waves count their arrivals in shared memory, which has no values at the beginning.
TEST(HipText, BarriersOfGroupsAreStarted) {
  const std::string text = emit_hip(scheduled_rows(softmax_rows(3000), 512, 128));
  const size_t launch = text.find("extern \"C\""), start = text.find("sm_start_group_barriers();", launch),
               barrier = text.find("sm_barrier(", launch);
  ASSERT_NE(barrier, std::string::npos) << text;
  EXPECT_LT(start, barrier);
}

TEST(HipText, TemplatesAreRefusedByName) {
  Kernel kernel = scheduled_rows(softmax_rows(500), 256, 32);
  kernel.attention.emplace().tiles = WgmmaTiles{};
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it is the attention template with wgmma and TMA");
  kernel.attention->tiles = AttentionTiles{};
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it is an attention template with mma.sync");
  kernel.attention->tiles = FewTiles{};
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it is the decode attention template with PTX");
  kernel.attention.reset();
  kernel.gemm.emplace();
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it is a matmul template with wgmma and TMA");
  kernel.gemm->few.emplace();
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it is the small-M matmul template with mma.sync");
}

TEST(HipText, DependentLaunchesAreRefusedByName) {
  Kernel kernel = scheduled_rows(softmax_rows(500), 256, 32);
  kernel.waits = true;
  EXPECT_EQ(refusal_of(kernel),
            "kernel 'softmax' has no HIP text: it waits for previous launches (griddepcontrol)");
  EXPECT_EQ(missing_function(gpu::lower_launch(kernel), hip_pieces()), "sm_allow_next_launch");
}

/// Wherever a call is: in a condition, in an operand, or in a device function.
TEST(HipText, FunctionsThatTheLanguageLacksAreFound) {
  const Expr call = gpu::call("sm_new", {hip_real("x")}, Scalar::real);
  gpu::Launch launch;
  EXPECT_EQ(missing_function(launch, hip_pieces()), "");
  gpu::BodyBuilder out;
  out.open_unrolled("i", 3);
  out.where(gpu::real_number(1) + call < hip_real("y"), [&] { out.leave(); });
  out.close();
  launch.functions.push_back({"inner", {}, out.body()});
  EXPECT_EQ(missing_function(launch, hip_pieces()), "sm_new");
  launch.functions.push_back({"sm_new", {}, {}});
  EXPECT_EQ(missing_function(launch, hip_pieces()), "");
}

TEST(HipText, GroupsAreWholeWaves) {
  const auto reason = [](int threads) {
    gpu::BodyBuilder out;
    out.open_scope();
    out.append(gpu::Barrier{.of = gpu::Barrier::Of::group, .group = 1, .threads = threads});
    out.close();
    gpu::Launch launch;
    launch.code = out.body();
    return why_no_group_barriers(launch);
  };
  EXPECT_EQ(reason(64), "");
  EXPECT_EQ(reason(256), "");
  EXPECT_EQ(reason(96), "a group of 96 threads that has a barrier does not consist of whole waves");
  EXPECT_NE(reason(32), "");
}

// ---- code

class HipCode : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (*SMELT_HIP_COMPILER == '\0') GTEST_SKIP() << "there is no Clang for amdgcn";
  }
  static std::string code_of(const Kernel& kernel) {
    return compile_hip(SMELT_HIP_COMPILER, hip_unit({&kernel}), GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Gpus, HipCode, ::testing::Values("gfx90a", "gfx942", "gfx1100"));

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// Lanes of a row exchange values without memory, and need no barrier.
TEST_P(HipCode, RowsOfAWarpHaveShufflesAndNoBarrier) {
  const std::string code = code_of(scheduled_rows(softmax_rows(500), 256, 32));
  EXPECT_NE(code.find("softmax:"), std::string::npos);
  EXPECT_EQ(count_of(code, "ds_bpermute_b32"), 10U) << "5 distances, of the maximum and of the sum";
  EXPECT_EQ(count_of(code, "\ts_barrier"), 0U);
}

TEST_P(HipCode, GroupsOfSeveralWavesWaitInALoop) {
  const std::string code = code_of(scheduled_rows(softmax_rows(3000), 512, 128));
  EXPECT_GT(count_of(code, "s_sleep"), 0U);
  EXPECT_EQ(count_of(code, "\ts_barrier"), 1U) << "after the counters have been set to 0";
}

/// A product and a difference are two roundings, though the compiler contracts others to one.
TEST_P(HipCode, DifferencesAreNoFusedMultiplyAdds) {
  const auto code_of_value = [](const Expr& value) {
    const std::string text = fmt::format(
        "#include \"tests/support/hip/hip_device.h\"\n#define SM static __device__ __forceinline__\n{}"
        "extern \"C\" __global__ void k(float x, float y, float z, float* to) {{ *to = {}; }}\n",
        hip_pieces().text({"sm_difference"}), print(kHip, value));
    return compile_hip(SMELT_HIP_COMPILER, text, GetParam());
  };
  const Expr product = hip_real("x") * hip_real("y");
  EXPECT_EQ(count_of(code_of_value(gpu::rounded_difference(product, hip_real("z"))), "v_fma"), 0U);
  EXPECT_EQ(count_of(code_of_value(product - hip_real("z")), "v_fma"), 1U);
}

}  // namespace
}  // namespace smelt::test
