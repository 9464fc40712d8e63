#include <gtest/gtest.h>

#include "ir/kernel/kernel.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr std::string_view kLayerNorm =
    R"(kernel @layer_norm_3(%x: bf16 align 16, %w: f32, %b: f32, out %y: bf16, out partial %p: f32[768] align 4)
    parallel r0 = B*T, column c0 = 768 {
  schedule {vector = 8, tile = 256, grain = 21, splits = 16, cached = [%5], cached_elements = 768, threads = 512, team = 128, vectors = 3, unroll = 2, index32 = true}
  random_slots 1
  row {
    %0 = constant 0.001302083333333333 : f32
    %1 = constant 1e-05 : f32
  }
  column {
    %2 = load %x[r0*768 + c0] : bf16
    %3 = reduce add %2 : f32
    %4 = mul %2, %2 : f32
    %5 = exp %4 : f32
    %6 = reduce max_sumexp %5 : f32
    %7 = result 1 of %6 : f32
  }
  row {
    %8 = mul %3, %0 : f32
    %9 = add %8, %1 : f32
  }
  column {
    repeat %2
    %10 = load %w[c0] : f32
    %11 = random 0[r0*T, c0] : i32
    %12 = lt %11, %11 : bool
    %13 = sub %2, %9 : f32
    store %y[r0*768 + c0] = %13 if %12 : bf16
    accumulate %p[c0] += %13 : f32
  }
}
)";

constexpr std::string_view kGather = R"(kernel @gather(%table: f32, %ids: i32, out %y: f32)
    parallel r0 = B, parallel r1 = T, column c0 = 768 {
  row {
    %0 = load %ids[r0*T + r1 + T] : i32
    %1 = index r1 : i32
    %2 = lt %1, %0 : bool
  }
  column {
    %3 = load %table[c0 + %0*768 + 64] if %2 : f32
    %4 = convert %3 : bf16
    store %y[r0*768*T + r1*(768*T + 64) + c0] = %4 : f32
  }
}
)";

constexpr std::string_view kSegments =
    R"(kernel @segmented_sum(%begins: i32, %order: i32, %x: f32, inout %y: f32)
    parallel r0 = V, reduced k0 = B*T from %0 to %1, column c0 = 64 {
  schedule {tile = 64}
  where %2
  row {
    %0 = load %begins[r0] : i32
    %1 = load %begins[r0 + 1] : i32
    %2 = lt %0, %1 : bool
  }
  reduced {
    %3 = load %order[k0] : i32
    %4 = load %x[c0 + %3*64] : f32
    %5 = reduce add %4 : f32
  }
  column {
    %6 = load %y[r0*64 + c0] : f32
    %7 = add %6, %5 : f32
    store %y[r0*64 + c0] = %7 : f32
  }
}
)";

TEST(KernelText, HandWrittenKernelsRoundTrip) {
  for (std::string_view text : {kLayerNorm, kGather, kSegments}) {
    const Kernel kernel = parse_kernel(text);
    EXPECT_EQ(print(kernel), text);
    const Kernel again = parse_kernel(print(kernel));
    EXPECT_EQ(again.instructions, kernel.instructions);
    EXPECT_EQ(again.blocks, kernel.blocks);
    EXPECT_EQ(again.params, kernel.params);
    EXPECT_EQ(again.axes, kernel.axes);
    EXPECT_EQ(again.schedule, kernel.schedule);
  }
}

TEST(KernelText, ARandomNumberOfOneColumnRoundTrips) {
  constexpr std::string_view text = R"(kernel @pivot(out %y: f32)
    parallel r0 = B {
  random_slots 1
  row {
    %0 = random 0[r0 + 2*N, 3] : i32
    store %y[r0] = %0 : f32
  }
}
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(kernel.instructions[0].random_axis, -1);
  EXPECT_EQ(kernel.instructions[0].random_begin, Dim(3));
}

TEST(KernelText, AttentionByBlocksRoundTrips) {
  constexpr std::string_view text =
      R"(kernel @attention(%q: f32, %k: f32, %v: f32, out %y: f32, out %lse: f32, out %lanes: f32, inout %tile0: f32, %tile1: f32)
    parallel r0 = B, parallel r1 = 4, parallel r2 = T, column c0 = T {
  attention {part = gradients, width = 12, batch = B, heads = 4, key_heads = 4, queries = T, keys = T, matrices = [[0, false, 144*T, 144, 12], [1, true, 144*T, 144, 12], [2, true, 144*T, 144, 12], [3, false, 48*T, 48, 12]], rows = [4], axes = [0, 1, 2, 3], returned = [%0], tile_params = 2, workspace = 5, tiles = blocks [32, 48, 8]}
  column {
    %0 = load %tile0[r2*48 + c0] : f32
    store %tile0[r2*48 + c0] = %0 : f32
  }
}
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(kernel.arguments(), 6u);
  EXPECT_EQ(*kernel.attention->blocked(), (BlockTiles{32, 48, 8}));
  EXPECT_EQ(kernel.range(), Dim::symbol("B") * 4);
}

TEST(KernelText, CopiesAndTailsRoundTrip) {
  constexpr std::string_view text =
      R"(kernel @sum(%x: f32 table 31*T + 4 align 4, out partial %p: f32[1] align 16)
    column c0 = N {
  schedule {splits = 264, threads = 512}
  column {
    %0 = load %x[c0] : f32
    %1 = reduce add %0 : f32
  }
  row {
    accumulate %p[0] += %1 : f32
  }
  tail @finish(%p0: f32 align 16, out %y0: f32)
      reduced split = 264, column c0 = 1 {
    schedule {tile = 1, threads = 512}
    reduced {
      %0 = load %p0[split] : f32
      %1 = reduce add %0 : f32
    }
    column {
      store %y0[0] = %1 : f32
    }
  }
  tail @"a root"(%x0: f32, out %y0: f32) {
    row {
      %0 = load %x0[0] : f32
      %1 = sqrt %0 : f32
      store %y0[0] = %1 : f32
    }
  }
}
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(kernel.arguments(), 6u);
  ASSERT_EQ(kernel.tail.size(), 2u);
  EXPECT_EQ(kernel.tail[1].name, "a root");
  EXPECT_EQ(kernel.tail[0].axes[0].extent, Dim(264));
  EXPECT_EQ(kernel.axes[0].extent, Dim::symbol("N"));
  Kernel other = kernel;
  EXPECT_TRUE(kernel.same_code(other));
  other.tail[0].schedule.threads = 256;
  EXPECT_FALSE(kernel.same_code(other));

  Kernel many = kernel.tail[0];
  many.copies = 5;
  EXPECT_FALSE(many.same_code(kernel.tail[0]));
  EXPECT_EQ(many.arguments(), 10u);
  EXPECT_EQ(print(parse_kernel(print(many))), print(many));
  EXPECT_EQ(parse_kernel(print(many)).copies, 5);
}

TEST(KernelText, KeepsWhatWasWritten) {
  const Kernel k = parse_kernel(kLayerNorm);
  EXPECT_EQ(k.name, "layer_norm_3");
  ASSERT_EQ(k.params.size(), 5u);
  EXPECT_TRUE(k.params[4].partial && k.params[4].output && !k.params[4].input);
  EXPECT_EQ(k.params[4].partial_elements, Dim(768));
  EXPECT_EQ(k.axes[0].extent, Dim::symbol("B") * Dim::symbol("T"));
  EXPECT_EQ(k.schedule.cached, (std::vector<int>{5}));
  EXPECT_EQ(k.random_slots, 1);
  ASSERT_EQ(k.instructions.size(), 16u);
  EXPECT_EQ(k.instructions[2].access.strides, (std::vector<Dim>{768, 1}));
  EXPECT_EQ(k.instructions[11].random_strides[0], Dim::symbol("T"));
  EXPECT_EQ(k.instructions[14].kind, Kind::store);
  EXPECT_EQ(k.instructions[14].predicate, 12);
  EXPECT_EQ(k.blocks[3].instructions, (std::vector<int>{2, 10, 11, 12, 13, 14, 15}));

  const Kernel g = parse_kernel(kGather);
  EXPECT_EQ(g.instructions[3].access.computed, 0);
  EXPECT_EQ(g.instructions[3].access.computed_stride, Dim(768));
  EXPECT_EQ(g.instructions[3].access.offset, Dim(64));
  EXPECT_EQ(g.instructions[5].access.strides[1], Dim::symbol("T") * 768 + 64);

  const Kernel s = parse_kernel(kSegments);
  EXPECT_EQ(s.axes[1].begin, 0);
  EXPECT_EQ(s.axes[1].end, 1);
  EXPECT_EQ(s.row_predicate, 2);
  EXPECT_TRUE(s.params[3].input && s.params[3].output);
}

/// Stores numbered out of order, numbers that no block holds, axes named like symbols, names that are no
/// names.
TEST(KernelText, OddKernelsRoundTrip) {
  Kernel k;
  k.name = "a kernel";
  k.params = {
      {.name = "same"}, {.name = "same", .output = true, .input = false}, {.name = "17", .input = false}};
  k.axes = {{AxisKind::parallel, "T", Dim::symbol("T")}, {AxisKind::column, "T", 5}};
  k.instructions.resize(4);
  k.instructions[2].number = 0.5, k.instructions[3].number = -1e300;
  for (int i : {0, 1}) {
    k.instructions[i].kind = Kind::store;
    k.instructions[i].operands = {2};
    k.instructions[i].access = {.param = 1, .offset = 7 * i, .strides = {Dim::symbol("T"), 1}};
  }
  k.blocks = {{KernelBlock::Scope::column, {2, 1, 0}}};
  const Kernel again = parse_kernel(print(k));
  EXPECT_EQ(print(again), print(k));
  EXPECT_EQ(again.instructions, k.instructions) << print(k);
  EXPECT_EQ(again.blocks, k.blocks);
  EXPECT_EQ(again.params, k.params);
  EXPECT_EQ(again.axes, k.axes);
  EXPECT_EQ(again.name, k.name);
}

struct KernelFaultCase {
  std::string_view text, place, message;
};
void PrintTo(const KernelFaultCase& c, std::ostream* out) { *out << c.message; }
class KernelFault : public ::testing::TestWithParam<KernelFaultCase> {};

TEST_P(KernelFault, IsReportedWithItsPlace) {
  try {
    parse_kernel(GetParam().text, "k");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, message.find(": ")), "k:" + std::string(GetParam().place)) << message;
    EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  }
}

const KernelFaultCase kKernelFaults[] = {
    {"kernal @k() {}", "1:1", "expected 'kernel'"},
    {"kernel @k(%1: f32) {}", "1:11", "begins with a letter"},
    {"kernel @k() rows r = 1 {}", "1:13", "expected parallel, column or reduced"},
    {"kernel @k() { rows {} }", "1:15",
     "expected schedule, attention, gemm, random_slots, waits, in_order, copies, where, row, column, "
     "reduced"},
    {"kernel @k() { row { %0 = ad %1, %2 : f32 } }", "1:26", "there is no instruction 'ad'"},
    {"kernel @k() { row { %0 = neg %1 : f32 } }", "1:30", "%1 is not defined above"},
    {"kernel @k() { row { %0 = constant 1 : f32 %0 = constant 1 : f32 } }", "1:43", "%0 is defined twice"},
    {"kernel @k() { row { %0 = constant 1 : f32 %1 = add %0 : f32 } }", "1:48",
     "add takes 2 operands, 1 are given"},
    {"kernel @k() { row { constant 1 : f32 } }", "1:21", "only a store or an accumulate goes without a name"},
    {"kernel @k() { row { %9 = constant 1 : f32 } }", "1:46", "expected numbers below 1"},
    {"kernel @k() { where %3 }", "1:21", "%3 is not defined in the kernel"},
    {"kernel @k(%x: f32) { row { %0 = load %y[0] : f32 } }", "1:38", "the kernel has no parameter %y"},
    {"kernel @k(%x: f32) column c = 4 { row { %0 = load %x[c*c] : f32 } }", "1:53",
     "expected a sum of axes times"},
    {"kernel @k(%x: f32) column c = 4 { row { %0 = load %x[ceil_div(c, 2)] : f32 } }", "1:53",
     "expected a sum of axes"},
    {"kernel @k(%x: f32) { row { %0 = load %x[$3] : f32 } }", "1:41",
     "expected '$' and the number of one of 0 axes"},
    {"kernel @k(%x: f32) { schedule {fast = true} }", "1:32", "expected one of flat, vector"},
    {"kernel @k() {} x", "1:16", "expected the end of the text"},
};
INSTANTIATE_TEST_SUITE_P(All, KernelFault, ::testing::ValuesIn(kKernelFaults));

/// How instructions are carried out, which blocks wait, what a sum leaves out.
TEST(KernelText, FormsRoundTrip) {
  const std::string text = R"(kernel @softmax(%x: bf16, out %y: bf16, out partial %s: f32[64])
    parallel r0 = R, column c0 = 64 {
  schedule {vector = 8, threads = 128, team = 8, vectors = 1, prefetch_distance = 2, interleaved = true, index32 = true}
  reduced loads_first {
    %0 = load.prefetched %x[r0*64 + c0] : bf16
    %1 = reduce max_sumexp.fast %0 : f32
    %2 = lt %0, %0 : bool
    %3 = reduce add %0 if %2 round 1 columns 4 : f32
  }
  column after_barrier {
    %4 = load.early %x[r0*64 + c0] : bf16
    %5 = sub %4, %1 : f32
    %6 = exp.kept %5 : f32
    %7 = div.inverse %6, %3 : f32
    %8 = div.scaled_inverse %7, %3 : f32
    %9 = tanh.fast_tangent %8 : f32
    store %y[r0*64 + c0] = %9 : bf16
    accumulate.sequential %s[c0] += %9 : f32
    accumulate %s[c0] += %9 if %2 round 2 : f32
  }
}
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(print(kernel), text);
  EXPECT_EQ(kernel.instructions[0].form, Form::prefetched);
  EXPECT_EQ(kernel.instructions[1].form, Form::fast);
  EXPECT_EQ(kernel.instructions[3].predicate, 2);
  EXPECT_EQ(kernel.instructions[3].exchange_round, 1);
  EXPECT_EQ(kernel.instructions[3].exchange_columns, 4);
  EXPECT_TRUE(kernel.blocks[0].loads_first && kernel.blocks[1].after_barrier);
  EXPECT_EQ(kernel.schedule.prefetch_distance, 2);
}

std::string complaint_about(const std::string& instruction, const std::string& schedule = "") {
  try {
    parse_kernel("kernel @k(%x: f32) column c0 = 4 {" + schedule + " column { %0 = load %x[c0] : f32; " +
                 instruction + " } }");
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(KernelText, FormsThatAnInstructionLacksAreErrors) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(complaint_about("%1 = exp.kept %0 : f32"), "none");
  EXPECT_TRUE(has(complaint_about("%1 = log.kept %0 : f32"), "log has no form 'kept'"));
  EXPECT_TRUE(has(complaint_about("%1 = exp.quick %0 : f32"), "there is no form 'quick'"));
  EXPECT_TRUE(has(complaint_about("%1 = reduce max %0 if %0 : f32"), "only a sum leaves elements out"));
  EXPECT_TRUE(has(complaint_about("", "schedule {turns = true}"), "prefetch_distance, interleaved, index32"));
}

TEST(KernelText, TruncatedTextsAreErrors) {
  for (std::string_view text : {kLayerNorm, kGather, kSegments})
    for (size_t length = 0; length + 2 < text.size(); ++length)
      EXPECT_THROW(parse_kernel(text.substr(0, length)), Error) << length;
}

}  // namespace
}  // namespace smelt
