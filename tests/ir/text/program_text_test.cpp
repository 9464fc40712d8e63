#include <gtest/gtest.h>

#include "ir/program/program.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr std::string_view kProgram = R"(symbols B <= 8, T <= 64, B*T <= 256
mesh {data = 2, model = 4}
description "{}"
state "parameters" {role = parameter} : f32[64] {
  segment "w" {init = normal(0.02), checkpoint = ["w"], transposed = true} : [8,8] at 0
}
state "step" : f32[]
buffer 0 "parameters" {role = parameter, state = 0, bytes = 256} : f32[64]
buffer 1 "x" {role = input, bytes = 8192} : f32[8*B*T]
buffer 2 "h.0" {role = temporary, offset = 256, bytes = 8192, live = [0, 3]} : f32[8*B*T]
buffer 3 "table" {role = constant, bytes = 4, data = "0000803f"} : f32[1]
buffer 4 "ids" {role = input, bytes = 1024} : i32[B*T]
buffer 5 "labels" {role = input, bytes = 1024} : i32[B*T]

kernel @twice(%x: f32, out %y: f32)
    column c0 = 8*B*T {
  schedule {flat = true, grain = 16384}
  column {
    %0 = load %x[c0] : f32
    %1 = add %0, %0 : f32
    store %y[c0] = %1 : f32
  }
}

entry @train_step {arena = 8448} {
  input "x" : f32[B,T,8] = #1
  input "mask" {fill = 1.0} : f32[] = #3
  input "ids" {below = 50257} : i32[B,T] = #4
  input "labels" {below = 50257, ignored = -100, least = -2} : i32[B,T] = #5
  output "y" : f32[B,T,8] = #2
  choice ["one way", "another"] {last_where = 8*T < 64}
  launch @twice(#1, #2) {phase = "forward", sources = ["h.0", "h.1"], reads = [1], writes = [2], may_alias = [[2, 1]]}
  launch @twice(#1[8*T], #2[64]) ids [3, 4294967295]
  launch @twice(#1, #2) ids [3, 4] part B - 1 of 2 part 0 of 1
  gemm f32 #2(8, 1) = #1(8, 1) * #0[0 + 8](1, 8) {m = B*T, n = 8, k = 8, beta = 1.0} batch {extent = B, a = 8*T, b = 0, c = 8*T} batch {extent = 2, a = 1, b = 1, c = 0, reduced = true} {phase = "backward", recomputed = true}
  gemm f32 #2(8, 1) = #1(8, 1) * #0(1, 8) {m = 1, n = 8, k = 8, alpha = -0.5, bias = #0, tf32 = true, result = f16, in_order = true}
  sort_index #1 -> #2, #2[B*T] of B*T below 64
  sort_index #1 -> #2, #2[B*T] of B*T below 64 by #1[8] of 2*B*T
  scan max exclusive i32 #1(8, 1) = #4(T, 1) of B x T x 1
  scan add f32 #2(8*T, 8) = #1[8](8*T, 8) of B x T x 8
  top_k #1(8) -> #2, #4[B] of B*T x 8 by 3
  sample #1(8), #5[B](3), #3(4) -> #4, #2[B] of B x 8
  copy f32[B,8] #2(8, 1) = #1[8*T - 8](8*T, 1)
  fill #2[B] = 0.0 of 8*B*T
  collective all_reduce max f32 #2 = #1 of 8*B*T over data x 2 {may_alias = [[2, 1]]}
  collective reduce_scatter add f32 #2[B] = #1 of 4*B*T over data x 2
  collective all_gather i32 #5 = #4[B] of 3 over model x 4
  collective all_to_all f32 #2 = #1 of B over model x 4
  collective all_gather f32 #2(16) = #1[B](8) of 8 over data x 2 rows B*T until 19
  collective reduce_scatter max f32 #2(8*T) = #1(16*T) of 8*T over data x 2 rows B
  fill #2 = 0.0 of 8*B*T {writes = [2], choice = [0, 0]}
  fill #2 = 0.0 of 8*B*T {writes = [2], choice = [0, 1]}
}

entry @"another entry" {
}
)";

TEST(ProgramText, RoundTrips) {
  const Program program = parse_program(kProgram);
  const std::string text = print(program);
  EXPECT_EQ(print(parse_program(text)), text);
  std::string expected(kProgram);
  expected.replace(expected.find("#0[0 + 8]"), 9, "#0[8]");
  EXPECT_EQ(text, expected);
}

TEST(ProgramText, KeepsWhatWasWritten) {
  const Program p = parse_program(kProgram);
  ASSERT_EQ(p.entries.size(), 2u);
  const PlanEntry& entry = p.entries[0];
  EXPECT_EQ(entry.arena_bytes, 8448);
  EXPECT_TRUE(entry.inputs[1].optional);
  EXPECT_EQ(entry.inputs[1].fill, 1);
  EXPECT_EQ(entry.inputs[1].ids, std::nullopt);
  EXPECT_EQ(entry.inputs[2].ids, IdRange{50257});
  EXPECT_EQ(entry.inputs[3].ids, (IdRange{50257, -100, -2}));
  ASSERT_EQ(entry.steps.size(), 21u);
  ASSERT_EQ(entry.choices.size(), 1u);
  EXPECT_EQ(entry.choices[0].alternatives, (std::vector<std::string>{"one way", "another"}));
  EXPECT_EQ(entry.steps[7].choice, -1);
  EXPECT_EQ(entry.steps[20].choice, 0);
  EXPECT_EQ(entry.steps[20].alternative, 1);
  EXPECT_EQ(entry.steps[0].may_alias, (std::vector<std::pair<int, int>>{{2, 1}}));
  EXPECT_EQ(entry.steps[0].sources, (std::vector<std::string>{"h.0", "h.1"}));
  EXPECT_EQ(std::get<KernelStep>(entry.steps[1].what).random_ids, (std::vector<uint32_t>{3, 4294967295u}));
  const auto& gemm = std::get<GemmStep>(entry.steps[3].what);
  EXPECT_EQ(gemm.b.base.offset, Dim(8));
  EXPECT_EQ(gemm.b.column_stride, Dim(8));
  EXPECT_EQ(gemm.beta, 1);
  EXPECT_FALSE(gemm.tf32);
  ASSERT_EQ(gemm.batch.size(), 2u);
  EXPECT_TRUE(gemm.batch[1].reduced);
  EXPECT_EQ(std::get<GemmStep>(entry.steps[4].what).alpha, -0.5);
  EXPECT_TRUE(std::get<GemmStep>(entry.steps[4].what).tf32);
  EXPECT_TRUE(std::get<GemmStep>(entry.steps[4].what).in_order);
  EXPECT_FALSE(gemm.in_order);
  EXPECT_EQ(std::get<SortIndexStep>(entry.steps[5].what).rows, Dim(64));
  EXPECT_FALSE(std::get<SortIndexStep>(entry.steps[5].what).workspace);
  const auto& workspace = std::get<SortIndexStep>(entry.steps[6].what).workspace;
  ASSERT_TRUE(workspace);
  EXPECT_EQ(workspace->base, (BufferRef{1, 8}));
  EXPECT_EQ(workspace->elements, Dim::symbol("B") * Dim::symbol("T") * 2);
  const auto& scan = std::get<ScanStep>(entry.steps[7].what);
  EXPECT_TRUE(scan.exclusive);
  EXPECT_EQ(scan.kind, "max");
  EXPECT_EQ(scan.x_outer_stride, Dim::symbol("T"));
  EXPECT_EQ(std::get<ScanStep>(entry.steps[8].what).inner, Dim(8));
  EXPECT_EQ(std::get<TopKStep>(entry.steps[9].what).k, Dim(3));
  EXPECT_EQ(std::get<SampleStep>(entry.steps[10].what).numbers_stride, Dim(3));
  EXPECT_EQ(std::get<SampleStep>(entry.steps[10].what).numbers, (BufferRef{5, Dim::symbol("B")}));
  EXPECT_EQ(std::get<CopyStep>(entry.steps[11].what).from_strides[0], Dim::symbol("T") * 8);
  EXPECT_EQ(std::get<FillStep>(entry.steps[12].what).to.offset, Dim::symbol("B"));
  const auto& parts = std::get<KernelStep>(entry.steps[2].what).random_parts;
  ASSERT_EQ(parts.size(), 2u);
  const auto& gathered = std::get<CollectiveStep>(entry.steps[15].what);
  EXPECT_EQ(gathered.kind, CollectiveKind::all_gather);
  EXPECT_EQ(gathered.axis, "model");
  EXPECT_EQ(gathered.from, (BufferRef{4, Dim::symbol("B")}));
  EXPECT_EQ(gathered.elements, Dim(3));
  EXPECT_EQ(gathered.ranks, Dim(4));
  EXPECT_EQ(gathered.rows, Dim(1));
  EXPECT_EQ(std::get<CollectiveStep>(entry.steps[13].what).sum, CollectiveSum::max);
  const auto& in_rows = std::get<CollectiveStep>(entry.steps[17].what);
  EXPECT_EQ(in_rows.rows, Dim::symbol("B") * Dim::symbol("T"));
  EXPECT_EQ(in_rows.from_stride, Dim(8));
  EXPECT_EQ(in_rows.to_stride, Dim(16));
  EXPECT_EQ(in_rows.waited_at, 19);
  EXPECT_EQ(p.buffers[3].data.size(), 4u);
}

/// Kernels of one name are told apart by number.
TEST(ProgramText, KernelsOfOneName) {
  Program p = parse_program("kernel @k() {}\nkernel @k() { random_slots 2 }\nentry @e { launch 1() }");
  EXPECT_EQ(std::get<KernelStep>(p.entries[0].steps[0].what).kernel, 1);
  EXPECT_NE(print(p).find("launch 1()"), std::string::npos);
  EXPECT_EQ(print(parse_program(print(p))), print(p));
}

struct ProgramFaultCase {
  std::string_view text, place, message;
};
void PrintTo(const ProgramFaultCase& c, std::ostream* out) { *out << c.message; }
class ProgramFault : public ::testing::TestWithParam<ProgramFaultCase> {};

TEST_P(ProgramFault, IsReportedWithItsPlace) {
  try {
    parse_program(GetParam().text, "p");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, message.find(": ")), "p:" + std::string(GetParam().place)) << message;
    EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  }
}

const ProgramFaultCase kProgramFaults[] = {
    {"graph @g() {}", "1:1", "expected symbols, mesh, description, state, buffer, kernel or entry"},
    {"entry @e { launch @k() }", "1:19", "there is no kernel @k above"},
    {"entry @e { launch 0() }", "1:19", "expected one of 0 kernels, found 0"},
    {"entry @e { fill #0 = 1 of 2 }", "1:18", "expected one of 0 buffers, found 0"},
    {"entry @e { input \"x\" {below = 0} : i32[] = #0 }", "1:31", "expected at least 1 id, found 0"},
    {"entry @e { input \"x\" {ignored = 0} : i32[] = #0 }", "1:23", "expected `below = ROWS` beside it"},
    {"entry @e { input \"x\" {lowest = 0} : i32[] = #0 }", "1:23",
     "expected one of fill, below, ignored, least, found 'lowest'"},
    {"entry @e { run }", "1:12",
     "expected input, output, choice, launch, gemm, sort_index, scan, top_k, sample, dequantize, copy, fill, "
     "collective "
     "or '}'"},
    {"buffer 0 \"b\" : f32[1] entry @e { fill #0 = 1 of 1 {choice = [1]} }", "1:64",
     "[choice, alternative] before this"},
    {"buffer 0 \"b\" : f32[1] entry @e { gemm f32 #0(1) = }", "1:43", "the row and the column stride"},
    {"buffer 0 \"b\" : f32[1] entry @e { collective gather f32 #0 = #0 of 1 over data x 2 }", "1:45",
     "expected all_reduce, reduce_scatter, all_gather or all_to_all, found 'gather'"},
    {"buffer 0 \"b\" : f32[1] entry @e { collective all_gather f32 #0(1, 2) = #0 of 1 over data x 2 }",
     "1:64", "expected ')', found ','"},
    {"mesh {data = 2, data = 4}", "1:6", "the axis data stands there twice"},
    {"mesh {data = 0}", "1:6", "'data = 0' is no axis"},
    {"buffer 0 \"b\" {state = 0} : f32[1]", "1:24", "one of 0 states"},
    {"buffer 0 \"b\" {data = \"0g\"} : f32[1]", "1:26", "pairs of hexadecimal digits"},
    {"buffer 0 \"b\" : f32[Q]", "1:20", "symbol 'Q' is not declared"},
};
INSTANTIATE_TEST_SUITE_P(All, ProgramFault, ::testing::ValuesIn(kProgramFaults));

TEST(ProgramText, TruncatedTextsNeverCrash) {
  for (size_t length = 0; length < kProgram.size(); ++length) try {
      parse_program(kProgram.substr(0, length));
    } catch (const Error&) {
    }
}

}  // namespace
}  // namespace smelt
