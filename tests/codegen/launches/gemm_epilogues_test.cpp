// Which matmuls and kernels become one kernel for sm_90a, and what stays as it was.
#include "codegen/launches/launch_passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace smelt {
namespace {

/// A bias is added to a matmul's result #3, in #4. `between` are steps, `kernel` is the reader's body.
struct Case {
  std::string between = "", behind = "", kernel = "", axes = "parallel r = M, column c = 256";
  std::string gemm = "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {m = M, n = 256, k = 64}";
  std::string reader = "launch @body(#2, #3, #4) {reads = [2, 3], writes = [4], may_alias = [[4, 3]]}";
};

constexpr const char* kAddsBias = R"(  column {
    %0 = load %x[r*256 + c] : bf16
    %1 = load %b[c] : f32
    %2 = add %0, %1 : f32
    store %y[r*256 + c] = %2 : bf16
  })";

Program program_of(const Case& c) {
  return parse_program(fmt::format(
      R"(symbols M <= 65536
buffer 0 "a" {{role = input}} : bf16[64*M]
buffer 1 "w" {{role = input}} : bf16[16384]
buffer 2 "bias" {{role = input}} : f32[256]
buffer 3 "h" {{role = temporary}} : bf16[256*M]
buffer 4 "y" {{role = temporary}} : bf16[256*M]
buffer 5 "sums" {{role = workspace}} : f32[67584]
buffer 6 "other" {{role = temporary}} : bf16[256*M]

kernel @body(%b: f32, %x: bf16, out %y: bf16)
    {} {{
{}
}}

kernel @sums(%x: bf16, out %y: bf16, out partial %p: f32[256])
    parallel r = M, column c = 256 {{
  column {{
    %0 = load %x[r*256 + c] : bf16
    accumulate %p[c] += %0 : f32
    store %y[r*256 + c] = %0 : bf16
  }}
}}

entry @e {{
  {} {{reads = [0, 1], writes = [3], sources = ["product"]}}
  {}
  {}
  {}
}}
)",
      c.axes, c.kernel.empty() ? kAddsBias : c.kernel, c.gemm, c.between, c.reader, c.behind));
}

Target target_of(GemmEpilogues bodies, const char* name = "sm_90") {
  Target target = parse_target(name);
  target.gemm_epilogues = bodies;
  return target;
}

/// Steps by their choice: "gemm 0.0, body 0.0, gemm_body 0.1".
std::string steps_of(const Program& program) {
  std::string text;
  for (const Step& step : program.entries[0].steps) {
    const auto* launch = std::get_if<KernelStep>(&step.what);
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        launch ? program.kernels[static_cast<size_t>(launch->kernel)].name
                        : std::holds_alternative<GemmStep>(step.what) ? "gemm"
                                                                      : "other");
    if (step.choice >= 0) text += fmt::format(" {}.{}", step.choice, step.alternative);
  }
  return text;
}

std::string offered(const Case& c, GemmEpilogues bodies = GemmEpilogues::measured,
                    const char* target = "sm_90") {
  Program program = program_of(c);
  offer_gemm_epilogues(program, target_of(bodies, target));
  return steps_of(program);
}

constexpr const char *kChoice = "gemm 0.0, body 0.0, gemm_body 0.1, gemm_body 0.2", *kNone = "gemm, body";

TEST(GemmEpilogues, AreAlternatives) { EXPECT_EQ(offered({}), kChoice); }

TEST(GemmEpilogues, TakeTheStepsPlaceWhereNothingIsMeasured) {
  EXPECT_EQ(offered({}, GemmEpilogues::only), "gemm_body");
  EXPECT_EQ(offered({}, GemmEpilogues::off), kNone);
  Program program = program_of({});
  Target cpu;  // which has no template
  cpu.gemm_epilogues = GemmEpilogues::only;
  EXPECT_FALSE(offer_gemm_epilogues(program, cpu));
}

TEST(GemmEpilogues, KeepWhatAnAlternativeReads) {
  Program program = program_of({});
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::measured)));
  const auto& steps = program.entries[0].steps;
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(steps[1].may_alias, (Pairs{{4, 3}})) << "its own result's memory";
  EXPECT_EQ(steps[2].may_alias, Pairs{});
  EXPECT_EQ(steps[2].reads, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(steps[2].writes, (std::vector<int>{4}));
  EXPECT_EQ(steps[2].sources.front(), "product");
}

TEST(GemmEpilogues, HandTheRoundedResult) {
  Program program = program_of({});
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::only)));
  const std::string text = print(program.kernels.back());
  EXPECT_NE(text.find("gemm {a = [2, false, 64], b = [3, false, 64], m = M, n = 256, k = 64}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("%0 = handed 0 : bf16"), std::string::npos) << text;
  EXPECT_EQ(text.find("%x"), std::string::npos) << text;
  EXPECT_EQ(print(parse_kernel(text)), text);
}

TEST(GemmEpilogues, StoreAResultThatOthersRead) {
  const Case c{.behind = "launch @body(#2, #3, #6) {reads = [2, 3], writes = [6]}"};
  Program program = program_of(c);
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::measured)));
  EXPECT_EQ(steps_of(program), std::string(kChoice) + ", body");
  const auto& steps = program.entries[0].steps;
  EXPECT_TRUE(steps[1].may_alias.empty());
  EXPECT_EQ(steps[2].writes, (std::vector<int>{3, 4}));
  EXPECT_NE(print(program.kernels.back()).find("store %x[r*256 + c] = %0 : bf16"), std::string::npos);
}

TEST(GemmEpilogues, TransposedOperands) {
  EXPECT_EQ(offered({.gemm = "gemm bf16 #3(256, 1) = #0(1, 8*M) * #1(256, 1) {m = M, n = 256, k = 64}"}),
            kChoice);
  EXPECT_EQ(offered({.gemm = "gemm bf16 #3(256, 1) = #0(1, M) * #1(256, 1) {m = M, n = 256, k = 64}"}), kNone)
      << "rows that begin off 16 bytes";
  EXPECT_EQ(offered({.gemm = "gemm bf16 #3(256, 1) = #0[4](64, 1) * #1(1, 64) {m = M, n = 256, k = 64}"}),
            kNone);
}

TEST(GemmEpilogues, OtherMatmulsStay) {
  EXPECT_EQ(
      offered({.gemm = "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {m = M, n = 256, k = 64, alpha = 2.0}"}),
      kNone);
  EXPECT_EQ(
      offered({.gemm = "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {m = M, n = 256, k = 64, beta = 1.0}"}),
      kNone);
}

// ---- the template for sm_80 and later

TEST(MmaGemmEpilogues, AreAlternativesOnEveryGpuWithoutWgmma) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_100"}) {
    Program program = program_of({});
    ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::measured, target)));
    EXPECT_EQ(steps_of(program), kChoice);
    EXPECT_EQ(
        program.entries[0].choices.at(0).alternatives,
        (std::vector<std::string>{"a library's call and a kernel", "one kernel, mma tiles of 128 by 128",
                                  "one kernel, mma tiles of 128 by 256"}));
    for (const Kernel& kernel : program.kernels) EXPECT_TRUE(!kernel.gemm || kernel.gemm->mma);
  }
}

TEST(MmaGemmEpilogues, AreTakenOnSm90IfAskedFor) {
  for (const GemmEpilogues bodies : {GemmEpilogues::mma, GemmEpilogues::mma_wide}) {
    Program program = program_of({});
    ASSERT_TRUE(offer_gemm_epilogues(program, target_of(bodies)));
    EXPECT_EQ(steps_of(program), "gemm_body");
    ASSERT_TRUE(program.kernels.back().gemm->mma);
    EXPECT_EQ(program.kernels.back().gemm->mma->columns, bodies == GemmEpilogues::mma ? 128 : 256);
  }
}

TEST(MmaGemmEpilogues, ScaleTheProduct) {
  const Case c{.gemm = "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {m = M, n = 256, k = 64, alpha = 2.0}"};
  EXPECT_EQ(offered(c, GemmEpilogues::measured, "sm_80"), kChoice);
  Program program = program_of(c);
  offer_gemm_epilogues(program, target_of(GemmEpilogues::mma));
  const std::string text = print(program.kernels.back());
  EXPECT_NE(text.find("alpha = 2.0"), std::string::npos) << text;
  EXPECT_EQ(print(parse_kernel(text)), text);
}

TEST(MmaGemmEpilogues, ColumnSumsHaveNoWideTiles) {
  Program program = program_of({.reader = "launch @sums(#3, #4, #5) {reads = [3], writes = [4, 5]}"});
  program.symbols = Symbols();
  program.symbols.bound({"M"}, 216 * 128);
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::mma_wide)));
  EXPECT_EQ(program.kernels.back().gemm->mma->columns, 128);
}

TEST(MmaGemmEpilogues, BatchesWhoseRowsHaveOnePitch) {
  const auto batch = [](const char* c_stride, const char* a_stride = "512") {
    const std::string gemm = fmt::format(
        "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {{m = 8, n = 256, k = 64}} batch {{extent = M, a = {}, "
        "b = "
        "0, c = {}}}",
        a_stride, c_stride);
    return Case{.axes = "parallel r = 8*M, column c = 256", .gemm = gemm};
  };
  const std::string made = offered(batch("2048"), GemmEpilogues::mma);
  EXPECT_EQ(made, "gemm_body");
  EXPECT_EQ(offered(batch("2048"), GemmEpilogues::only), kNone) << "the template for sm_90a has no batches";
  EXPECT_EQ(offered(batch("4096"), GemmEpilogues::mma), kNone) << "gaps between the results";
  EXPECT_EQ(offered(batch("2048", "516"), GemmEpilogues::mma), kNone) << "operands that begin off 16 bytes";
}

TEST(MmaGemmEpilogues, LongPitchesStay) {
  EXPECT_EQ(offered({.gemm = "gemm bf16 #3(256, 1) = #0(8388608, 1) * #1(1, 64) {m = M, n = 256, k = 64}"},
                    GemmEpilogues::mma),
            kNone);
}

TEST(GemmEpilogues, MatricesThatMayBeEmptyStay) {
  EXPECT_EQ(offered({.axes = "parallel r = M - 1, column c = 256",
                     .gemm = "gemm bf16 #3(256, 1) = #0(64, 1) * #1(1, 64) {m = M - 1, n = 256, k = 64}"}),
            kNone);
}

TEST(GemmEpilogues, OperandsKeepTheirMemory) {
  Program program = program_of(
      {.reader = "launch @body(#2, #3, #4) {reads = [0, 2, 3], writes = [4], may_alias = [[4, 3], [4, 0]]}"});
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::only)));
  EXPECT_TRUE(program.entries[0].steps[0].may_alias.empty()) << "other tiles still read what is multiplied";
}

TEST(GemmEpilogues, SmallOnesStayUnlessAskedFor) {
  Program program = program_of({});
  program.symbols = Symbols();
  program.symbols.bound({"M"}, 4096);
  EXPECT_FALSE(offer_gemm_epilogues(program, target_of(GemmEpilogues::measured)));
  EXPECT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::only)));
}

TEST(GemmEpilogues, KernelsOfWholeRowsStay) {
  EXPECT_EQ(offered({.kernel = R"(  column {
    %0 = load %x[r*256 + c] : bf16
    %1 = reduce add %0 : f32
  }
  column {
    %2 = load %x[r*256 + c] : bf16
    %3 = mul %2, %1 : f32
    store %y[r*256 + c] = %3 : bf16
  })"}),
            kNone);
  EXPECT_EQ(offered({.kernel = R"(  column {
    %0 = load %x[r*256] : bf16
    store %y[r*256 + c] = %0 : bf16
  })"}),
            kNone)
      << "another element than its own";
}

TEST(GemmEpilogues, AKernelWithoutRowsGetsThem) {
  EXPECT_EQ(offered({.kernel = R"(  column {
    %0 = load %x[c] : bf16
    %1 = mul %0, %0 : f32
    store %y[c] = %1 : bf16
  })",
                     .axes = "column c = 256*M"}),
            kChoice);
}

TEST(GemmEpilogues, StepsComeTogether) {
  EXPECT_EQ(offered({.between = "fill #6 = 0.0 of 256*M"}), std::string(kChoice) + ", other");
  EXPECT_EQ(offered({.between = "fill #2 = 0.0 of 256"}), "other, " + std::string(kChoice));
  EXPECT_EQ(offered({.between = "copy bf16[M] #2(1) = #0(1)\n  fill #0 = 0.0 of M"}),
            "gemm, other, other, body");
}

TEST(GemmEpilogues, ColumnSumsNeedARowOfPartsForEachTile) {
  const Case c{.reader = "launch @sums(#3, #4, #5) {reads = [3], writes = [4, 5]}"};
  Program program = program_of(c);
  EXPECT_FALSE(offer_gemm_epilogues(program, target_of(GemmEpilogues::measured)))
      << "512 rows of tiles, 264 parts";
  program.symbols = Symbols();
  program.symbols.bound({"M"}, 264 * 128);
  ASSERT_TRUE(offer_gemm_epilogues(program, target_of(GemmEpilogues::only)));
  EXPECT_EQ(steps_of(program), "gemm_sums");
}

}  // namespace
}  // namespace smelt
