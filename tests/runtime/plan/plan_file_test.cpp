#include "runtime/plan/plan_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "runtime/base/error.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/system/file.h"
#include "tests/runtime/example_plan.h"
#include "tests/runtime/plan/validation_fault.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using testing::fault_of;

Plan small_plan() {
  Plan plan = example::plan();
  plan.binary = std::vector<std::byte>(300, std::byte{42});
  return plan;
}

Plan parse_text(const std::string& file) { return parse_plan(std::as_bytes(std::span(file)), "test.plan"); }

/// A plan with one fault, as validate() sees it.
std::string fault(const std::function<void(Plan&)>& damage) {
  Plan plan = small_plan();
  damage(plan);
  return fault_of([&] { validate(plan); });
}

#define EXPECT_FAULT(text, ...) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text, fault([](Plan& p) { __VA_ARGS__; }))

TEST(PlanFile, RoundTrip) {
  const Plan plan = small_plan();
  const std::string file = serialize_plan(plan);
  const Plan again = parse_text(file);
  EXPECT_EQ(serialize_plan(again), file);
  EXPECT_EQ(again.states, plan.states);
  EXPECT_EQ(again.symbols, plan.symbols);
  EXPECT_EQ(again.binary, plan.binary);
  EXPECT_EQ(again.model, plan.model);
  EXPECT_EQ(again.buffers[example::ones].data, plan.buffers[example::ones].data);
  EXPECT_EQ(std::get<GemmStep>(again.entries[0].steps[5].what).m, Dim::parse("B*T"));
  EXPECT_EQ(again.entries[0].inputs[0].ids, std::nullopt);
  EXPECT_EQ(again.entries[0].inputs[1].ids, (IdRange{9, -1}));
  EXPECT_EQ(write_manifest(again).json, write_manifest(plan).json);
}

TEST(PlanFile, KeepsNumbersThatJsonHasNot) {
  Plan plan = small_plan();
  for (const double value : {-HUGE_VAL, 0.1, 1e300}) {
    std::get<FillStep>(plan.entries[0].steps[0].what).value = value;
    EXPECT_EQ(std::get<FillStep>(parse_text(serialize_plan(plan)).entries[0].steps[0].what).value, value);
  }
}

TEST(PlanFile, SavesAndLoads) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "a.plan";
  save_plan(small_plan(), path);
  EXPECT_EQ(serialize_plan(*load_plan(path)), serialize_plan(small_plan()));
  EXPECT_TRUE(is_plan_file(path));
  EXPECT_FALSE(is_plan_file(directory.path() / "none"));
  EXPECT_THROW(load_plan(directory.path() / "none"), Error);
  EXPECT_THROW(save_plan(small_plan(), directory.path() / "none" / "a.plan"), Error);
}

TEST(PlanFile, EveryTruncationIsAnError) {
  const std::string file = serialize_plan(small_plan());
  for (size_t size = 0; size < file.size(); size += size < 200 ? 1 : 37)
    EXPECT_NE(fault_of([&] { parse_text(file.substr(0, size)); }), "accepted") << size;
  EXPECT_NE(fault_of([&] { parse_text(file + '\0'); }), "accepted");
}

TEST(PlanFile, TwoThousandCorruptionsAreErrors) {
  const std::string good = serialize_plan(small_plan());
  std::mt19937 random(17);
  for (int i = 0; i < 2000; ++i) {
    std::string file = good;
    for (uint32_t n = 1 + random() % 3; n > 0; --n)
      file[random() % file.size()] ^= static_cast<char>(1 + random() % 255);
    if (file == good) continue;
    EXPECT_NE(fault_of([&] { parse_text(file); }), "accepted") << i;
  }
}

/// Faults behind valid checksums: the manifest's own checks and validate() must hold.
TEST(PlanFile, TwoThousandCorruptManifestsAreErrorsOrValid) {
  const Plan plan = small_plan();
  const Manifest manifest = write_manifest(plan);
  const std::string good = manifest.json.dump();
  std::mt19937 random(23);
  const std::string letters = "0123456789-+*,\"[]{}:eBT.";
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    for (uint32_t n = 1 + random() % 2; n > 0; --n)
      text[random() % text.size()] = letters[random() % letters.size()];
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) continue;
    try {
      validate(read_manifest(json, manifest.blobs, "test.plan"));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

/// Every number, size and list of the manifest in its turn, edited as no compiler would, behind checksums
/// that are right: refused or read, at once.
TEST(PlanFile, EditedManifestsAreErrorsOrValid) {
  const Plan plan = small_plan();
  const Manifest manifest = write_manifest(plan);
  const std::vector<nlohmann::json> numbers = {0,         -1,        1,    1000000, int64_t{1} << 40,
                                               INT64_MAX, "B*B*B*B", "0*B"};
  int edits = 0, refused = 0;
  const auto check = [&](const nlohmann::json& json) {
    const auto begin = std::chrono::steady_clock::now();
    ++edits;
    try {
      validate(read_manifest(json, manifest.blobs, "test.plan"));
    } catch (const Error&) {
      ++refused;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << json.dump();
  };
  const nlohmann::json flat = manifest.json.flatten();
  for (const auto& [path, value] : flat.items()) {
    nlohmann::json json = manifest.json;
    nlohmann::json& place = json[nlohmann::json::json_pointer(path)];
    if (value.is_number() || value.is_string())
      for (const nlohmann::json& number : numbers) place = number, check(json);
    const nlohmann::json::json_pointer around = nlohmann::json::json_pointer(path).parent_pointer();
    if (nlohmann::json cut = manifest.json; cut[around].is_array()) {
      cut[around].erase(cut[around].begin());
      check(cut);
    }
  }
  EXPECT_GT(edits, 2000);
  EXPECT_GT(refused, edits / 2);
}

TEST(PlanFile, NamesBothVersions) {
  std::string file = serialize_plan(small_plan());
  file[8] = 99;
  EXPECT_EQ(fault_of([&] { parse_text(file); }),
            fmt::format("'test.plan' has plan format 99, this Smelt reads format {}: compile its model again "
                        "with this version, as with smelt compile MODEL --mode=infer -o 'test.plan'",
                        kPlanFormat));
  EXPECT_EQ(
      fault_of([&] { parse_text("once upon a time there was a file that was no plan at all, and long"); }),
      "'test.plan' is no plan: expected a file made by smelt compile");
}

TEST(PlanValidate, AcceptsTheExample) { EXPECT_NO_THROW(validate(small_plan())); }

TEST(PlanValidate, States) {
  EXPECT_FAULT("expected a name of its own", p.states[1].name = "parameters");
  EXPECT_FAULT("has the role saved", p.states[1].role = Role::saved);
  EXPECT_FAULT("segment 'b' at 11", p.states[0].segments[1].offset = 11);
  EXPECT_FAULT("within 16 elements", p.states[0].segments[1].shape = {5});
  EXPECT_FAULT("extent below 0", p.states[0].segments[1].shape = {-1});
  EXPECT_FAULT("more than 2^63", p.states[0].segments[1].shape = {INT64_MAX, 3});
  EXPECT_FAULT("expected two dims", p.states[0].segments[1].transposed = true);
  EXPECT_FAULT("not finite", p.states[0].init.a = NAN);
  EXPECT_FAULT("copy of 'nothing'", p.states[1].copy_of = "nothing");
  EXPECT_FAULT("expected an f32 state of its shape", p.states[1].copy_of = "parameters");
  EXPECT_FAULT("scales of 'nothing': expected a number for each row", p.states[1].scales_of = "nothing");
  EXPECT_FAULT("each row of each segment of an i8 state", p.states[1].scales_of = "parameters");
  EXPECT_FAULT("too many", p.states[1].shape = {Dim(int64_t{1} << 60)});
  EXPECT_FAULT("overflow", p.states[1].shape = {Dim(int64_t{1} << 62) * Dim::symbol("B")});
  EXPECT_FAULT("symbol X", p.states[1].shape = {Dim::symbol("X")});
}

TEST(PlanValidate, Symbols) {
  EXPECT_FAULT("9 symbols: expected at most 8",
               for (int i = 0; i < 7; ++i) p.symbols.bound({"S" + std::to_string(i)}, 3));
  EXPECT_FAULT("a bound on a product of 16 symbols", p.symbols.bound(std::vector<std::string>(16, "B"), 3));
  EXPECT_FAULT("the states up to 'large1' have",
               for (int i = 0; i < 3; ++i) p.states.push_back(
                   {"large" + std::to_string(i), Role::state, DType::f32, {Dim(int64_t{1} << 53)}, {}, {}}));
}

TEST(PlanValidate, Buffers) {
  using namespace example;
  EXPECT_FAULT("expected at least 336", p.buffers[z].bytes = 335);
  EXPECT_FAULT("expected a multiple of 64", p.buffers[z].offset_bytes = 4);
  EXPECT_FAULT("expected a multiple of 64", p.buffers[z].offset_bytes = -64);
  EXPECT_FAULT("exceeds the arena", p.buffers[zt].offset_bytes = 768);
  EXPECT_FAULT("below 0", p.buffers[z].elements = Dim::parse("B - 2"));
  EXPECT_FAULT("expected one of 2", p.buffers[weights].state = 2);
  EXPECT_FAULT("does not fit state 'step'", p.buffers[weights].state = 1);
  EXPECT_FAULT("is a state with the role temporary", p.buffers[z].state = 0);
  EXPECT_FAULT("bytes of data", p.buffers[ones].data.pop_back());
  EXPECT_FAULT("bytes of data", p.buffers[z].data.resize(4));
}

TEST(PlanValidate, Kernels) {
  EXPECT_FAULT("expected a name of letters", p.kernels[0].name = "../x");
  EXPECT_FAULT("grain 0", p.kernels[0].grain = 0);
  EXPECT_FAULT("splits -1", p.kernels[0].splits = -1);
  EXPECT_FAULT("-1 random ids: expected at least 0", p.kernels[0].random_ids = -1);
  EXPECT_FAULT("an access with 3 strides: expected at most 2",
               p.kernels[0].parameters[0].accesses[0].strides.push_back(1));
  EXPECT_FAULT("indices in f32: expected integers", p.kernels[0].parameters[0].indices.emplace());
  EXPECT_FAULT("0 copies", p.kernels[0].copies = 0);
  EXPECT_FAULT("-2 copies", p.kernels[0].copies = -2);
  EXPECT_FAULT("expected 1 to 256 arguments in all", p.kernels[0].copies = 129);
  EXPECT_FAULT("2 copies of 0 arguments", p.kernels[0].copies = 2, p.kernels[0].parameters.clear());
  EXPECT_FAULT("2 arguments and 0 random ids: expected 6 and 0", p.kernels[0].copies = 3);
  EXPECT_FAULT("symbol X", p.kernels[0].dims = {Dim::symbol("X")});
  EXPECT_FAULT("the range", p.kernels[0].range = Dim(-1));
  EXPECT_FAULT("no target", p.target = "");
}

TEST(PlanValidate, Ports) {
  using namespace example;
  EXPECT_FAULT("buffer 99", p.entries[0].inputs[0].buffer = 99);
  EXPECT_FAULT("buffer -1", p.entries[0].outputs[0].buffer = -1);
  EXPECT_FAULT("with the role temporary", p.entries[0].inputs[0].buffer = z);
  EXPECT_FAULT("exceeds its buffer", p.entries[0].outputs[1].shape = {Dim(85)});
  EXPECT_FAULT("is i32, its buffer 'x' f32", p.entries[0].inputs[0].dtype = DType::i32);
  EXPECT_FAULT("holds ids below 0: expected at least 1", p.entries[0].inputs[1].ids = IdRange{0});
  EXPECT_FAULT("input 'x' of f32 holds ids: expected an input of integers",
               p.entries[0].inputs[0].ids = IdRange{9});
  EXPECT_FAULT("output 'sorted' of i32 holds ids: expected an input",
               p.entries[0].outputs[4].ids = IdRange{9});
  EXPECT_FAULT("is no port", p.entries[0].inputs.pop_back());
  EXPECT_FAULT("expected a name of its own", p.entries[0].outputs[1].name = "y");
  EXPECT_FAULT("is bound twice", p.entries[0].inputs.push_back({"again", DType::f32, {}, x}));
  EXPECT_FAULT("expected it to live to the end", p.buffers[total].last_step = 6);
}

TEST(PlanValidate, Steps) {
  using namespace example;
  EXPECT_FAULT("kernel 3: expected one of 3", std::get<KernelStep>(p.entries[0].steps[1].what).kernel = 3);
  EXPECT_FAULT("expected 2 and 0", std::get<KernelStep>(p.entries[0].steps[1].what).arguments.pop_back());
  EXPECT_FAULT("2 arguments and 1 random ids: expected 2 and 0",
               std::get<KernelStep>(p.entries[0].steps[1].what).random_ids.push_back(3));
  EXPECT_FAULT(
      "argument 1 begins at element",
      std::get<KernelStep>(p.entries[0].steps[1].what).arguments[1].offset = Dim::parse("4*B*T + 1"));
  EXPECT_FAULT("argument 1 begins at element -1",
               std::get<KernelStep>(p.entries[0].steps[1].what).arguments[1].offset = -1);
  EXPECT_FAULT("expected it among those it reads or writes", p.entries[0].steps[1].reads.clear());
  EXPECT_FAULT("expected it among those it writes",
               std::swap(p.entries[0].steps[5].reads, p.entries[0].steps[5].writes));
  EXPECT_FAULT("writes buffer 'x' with the role input", p.entries[0].steps[1].writes.push_back(x));
  EXPECT_FAULT("buffer 12", p.entries[0].steps[1].reads.push_back(12));
  EXPECT_FAULT("buffer -3", p.entries[0].steps[1].may_alias.push_back({z, -3}));
}

TEST(PlanValidate, Ranges) {
  EXPECT_FAULT("a reaches element", std::get<GemmStep>(p.entries[0].steps[5].what).a.base.offset = 1);
  EXPECT_FAULT("b reaches element", std::get<GemmStep>(p.entries[0].steps[5].what).b.row_stride = 6);
  EXPECT_FAULT("c reaches element", std::get<GemmStep>(p.entries[0].steps[5].what).c.base.offset = 1);
  EXPECT_FAULT("stride below 0", std::get<GemmStep>(p.entries[0].steps[5].what).a.row_stride = -4);
  EXPECT_FAULT("overflows", std::get<GemmStep>(p.entries[0].steps[5].what).a.row_stride = INT64_MAX / 2);
  EXPECT_FAULT("a reaches element",
               std::get<GemmStep>(p.entries[0].steps[5].what).batch.push_back({2, 4 * 21, 0, 0, true}));
  EXPECT_FAULT("a is not bf16", std::get<GemmStep>(p.entries[0].steps[5].what).dtype = DType::bf16);
  EXPECT_FAULT("has tf32, which is for operands of f32, not bf16",
               std::get<GemmStep>(p.entries[0].steps[5].what).tf32 = true,
               std::get<GemmStep>(p.entries[0].steps[5].what).dtype = DType::bf16);
  EXPECT_FAULT("adds in order, which is for operands of bf16 or f16, not f32",
               std::get<GemmStep>(p.entries[0].steps[5].what).in_order = true);
  EXPECT_FAULT("is -1", std::get<GemmStep>(p.entries[0].steps[5].what).k = -1);
  EXPECT_FAULT("to reaches element", std::get<CopyStep>(p.entries[0].steps[2].what).to_strides[1] = 30);
  EXPECT_FAULT("from reaches element", std::get<CopyStep>(p.entries[0].steps[2].what).from_strides[0] = 5);
  EXPECT_FAULT("2 extents with 1", std::get<CopyStep>(p.entries[0].steps[2].what).from_strides.pop_back());
  EXPECT_FAULT("to reaches element", std::get<FillStep>(p.entries[0].steps[0].what).elements = 2);
  EXPECT_FAULT("c reaches element 3298534883327 of buffer 'y'",
               std::get<GemmStep>(p.entries[0].steps[5].what).m = int64_t{1} << 40,
               std::get<GemmStep>(p.entries[0].steps[5].what).batch.push_back({0, 0, 0, 0, true}));
  EXPECT_FAULT(
      "sums the same elements 1099511627776 times",
      std::get<GemmStep>(p.entries[0].steps[5].what).batch.push_back({int64_t{1} << 40, 0, 0, 0, true}));
  EXPECT_FAULT(
      "writes 1099511627776 elements of c to one place",
      std::get<GemmStep>(p.entries[0].steps[5].what).batch.push_back({int64_t{1} << 40, 0, 0, 0, false}));
  EXPECT_FAULT("writes 4 elements of to to one place",
               std::get<CopyStep>(p.entries[0].steps[2].what).to_strides[1] = 0);
  EXPECT_FAULT("begins reaches element", p.buffers[example::begins].elements = 0,
               p.entries[0].outputs[5].shape = {Dim(0)},
               std::get<SortIndexStep>(p.entries[0].steps[4].what).rows = 0);
  EXPECT_FAULT("two operands in one buffer",
               std::get<SortIndexStep>(p.entries[0].steps[4].what).begins =
                   std::get<SortIndexStep>(p.entries[0].steps[4].what).permutation);
  EXPECT_FAULT("begins reaches element", std::get<SortIndexStep>(p.entries[0].steps[4].what).rows = 10);
  EXPECT_FAULT("indices reaches element", std::get<SortIndexStep>(p.entries[0].steps[4].what).count += 1);
  using Workspace = SortIndexStep::Workspace;
  EXPECT_FAULT(
      "workspace is not i32: buffer 'total'",
      std::get<SortIndexStep>(p.entries[0].steps[4].what).workspace = Workspace({example::total, 0}, 1),
      p.entries[0].steps[4].writes.push_back(example::total));
  EXPECT_FAULT(
      "expected it among those it writes",
      std::get<SortIndexStep>(p.entries[0].steps[4].what).workspace = Workspace({example::ids, 0}, 1));
  EXPECT_FAULT("begins is not i32", p.buffers[example::begins].dtype = DType::f32,
               p.entries[0].outputs[5].dtype = DType::f32);
}

TEST(PlanValidate, SharedMemory) {
  using namespace example;
  EXPECT_FAULT("share memory", p.buffers[zt].offset_bytes = 256);
  EXPECT_FAULT("share memory", p.buffers[split_sums].offset_bytes = 320);
  EXPECT_FAULT("which lives from step 2 to 7", p.buffers[z].first_step = 2);
  EXPECT_FAULT("which lives from step 1 to 9", p.buffers[z].last_step = 9);
  const auto in_place = [](bool declared, bool ends) {
    return fault([&](Plan& p) {  // zt takes the place of z, which is no output and not read after step 3
      p.entries[0].outputs.erase(p.entries[0].outputs.begin() + 1);
      p.entries[0].steps.erase(p.entries[0].steps.begin() + 5);
      p.entries[0].outputs.erase(p.entries[0].outputs.begin());
      std::swap(p.entries[0].steps[2], p.entries[0].steps[3]);
      for (Buffer& b : p.buffers) b.last_step = std::min(b.last_step, 6);
      p.buffers[split_sums].first_step = 2, p.buffers[zt].first_step = 3;
      p.buffers[z].last_step = ends ? 3 : 4, p.buffers[zt].offset_bytes = 0;
      if (declared) p.entries[0].steps[3].may_alias = {{zt, z}};
    });
  };
  EXPECT_EQ(in_place(true, true), "accepted");
  EXPECT_NE(in_place(false, true), "accepted");
  EXPECT_NE(in_place(true, false), "accepted");
}

/// One entry, whose output "y" is the third buffer.
Plan plan_of(std::vector<Buffer> buffers, std::vector<Step> steps) {
  Plan p;
  p.target = "cpu";
  p.buffers = std::move(buffers);
  PlanEntry e;
  e.name = "run";
  e.outputs = {{"y", DType::f32, {128}, 2}};
  e.steps = std::move(steps);
  e.arena_bytes = 512;
  p.entries = {e};
  return p;
}

Step copy_of_all(int from, int to, const char* name) {
  return example::step(CopyStep{{from, 0}, {to, 0}, {128}, {1}, {1}, DType::f32}, {from}, {to}, name);
}

/// "flat" is written in halves, of which the second has the memory of what the first is copied from.
Plan plan_with_parts() {
  Plan p =
      plan_of({example::arena("flat", DType::f32, 128, 128, 0, 1, 3),
               example::arena("early", DType::f32, 64, 64, 256, 0, 1),
               example::buffer("y", Role::output, DType::f32, 128, 128)},
              {example::step(FillStep{{1, 0}, 64, 1}, {}, {1}, "early"),
               example::step(CopyStep{{1, 0}, {0, 0}, {64}, {1}, {1}, DType::f32}, {1}, {0}, "first half"),
               example::step(FillStep{{0, 64}, 64, 2}, {}, {0}, "second half"), copy_of_all(0, 2, "y")});
  p.buffers[0].parts = {{0, 1, 3}, {256, 2, 3}};
  return p;
}

/// "after" is written in place of "rows", whose padded end nothing wrote before.
Plan plan_with_padded_rows() {
  Plan p = plan_of({example::arena("rows", DType::f32, 128, 128, 0, 0, 1),
                    example::arena("after", DType::f32, 128, 128, 0, 1, 2),
                    example::buffer("y", Role::output, DType::f32, 128, 128)},
                   {example::step(FillStep{{0, 0}, 64, 1}, {}, {0}, "rows"), copy_of_all(0, 1, "after"),
                    copy_of_all(1, 2, "y")});
  p.buffers[0].parts = {{0, 0, 1}, {256, 1, 1}};
  p.entries[0].steps[1].may_alias = {{1, 0}};
  return p;
}

TEST(PlanValidate, WhatHeldNothingGivesWayToWhatIsWrittenInItsPlace) {
  EXPECT_NO_THROW(validate(plan_with_padded_rows()));
  Plan undeclared = plan_with_padded_rows();
  undeclared.entries[0].steps[1].may_alias.clear();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "share memory", fault_of([&] { validate(undeclared); }));
  Plan written = plan_with_padded_rows();  // the step fills the end itself
  written.entries[0].steps[1].writes.push_back(0);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "share memory", fault_of([&] { validate(written); }));
}

TEST(PlanValidate, PartsOfABufferShareMemoryInTheirTurn) {
  const auto broken = [](const auto& change) {
    Plan p = plan_with_parts();
    change(p);
    return fault_of([&] { validate(p); });
  };
  EXPECT_NO_THROW(validate(plan_with_parts()));
  const auto expect = [&](const char* message, const auto& change) {
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, message, broken(change));
  };
  expect("share memory", [](Plan& p) { p.buffers[0].parts[1].first_step = 1; });
  expect("share memory", [](Plan& p) { p.buffers[0].parts.clear(); });
  expect("share memory", [](Plan& p) { p.buffers[1].offset_bytes = 0; });
  expect("uses a part of buffer 'flat', which lives from step 3 to 3",
         [](Plan& p) { p.buffers[0].parts[1].first_step = 3; });
  expect("has a part that does from 0 to 3", [](Plan& p) { p.buffers[0].parts[0].first_step = 0; });
  expect("a part begins at byte 512 of 512", [](Plan& p) { p.buffers[0].parts[1].begin = 512; });
  expect("a part begins at byte 4 of 512", [](Plan& p) { p.buffers[0].parts[0].begin = 4; });
  expect("has parts", [](Plan& p) { p.buffers[2].parts = {{0, 0, 3}}; });
}

/// Nothing keeps others from the memory of a part that no step uses.
TEST(PlanValidate, PartsThatNoStepUsesTakeNoMemory) {
  const auto with_unused_end = [] {
    Plan p =
        plan_of({example::arena("flat", DType::f32, 128, 128, 0, 0, 1),
                 example::arena("other", DType::f32, 64, 64, 256, 0, 1)},
                {example::step(FillStep{{0, 0}, 64, 1}, {}, {0}, "flat"),
                 example::step(CopyStep{{0, 0}, {1, 0}, {64}, {1}, {1}, DType::f32}, {0}, {1}, "other")});
    p.buffers[0].parts = {{0, 0, 1}, {256, -1, -1}};
    p.entries[0].outputs.clear();
    return p;
  };
  EXPECT_NO_THROW(validate(with_unused_end()));
  Plan used = with_unused_end();
  std::get<FillStep>(used.entries[0].steps[0].what).to.offset = 64;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "uses a part of buffer 'flat', which lives from step -1 to -1",
                      fault_of([&] { validate(used); }));
  Plan half = with_unused_end();
  half.buffers[0].parts[1].last_step = 1;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "has a part that does from -1 to 1",
                      fault_of([&] { validate(half); }));
}

TEST(PlanManifest, NamesThePlaceOfAFault) {
  const Plan plan = small_plan();
  Manifest manifest = write_manifest(plan);
  const auto read = [&](const nlohmann::json& json) {
    return fault_of([&] { read_manifest(json, manifest.blobs, "test.plan"); });
  };
  auto json = manifest.json;
  json["entries"][0]["steps"][5]["what"]["m"] = "B**T";
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "entries[0].steps[5].what.m: expected a size", read(json));
  json = manifest.json;
  json["states"][0].erase("role");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "states[0]: expected a field 'role'", read(json));
  json = manifest.json;
  json["buffers"][3]["bytes"] = uint64_t{1} << 63;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "buffers[3].bytes: expected an integer", read(json));
  json = manifest.json;
  json["binary"] = 7;
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "binary: expected an integer from -1 to 1", read(json));
  json = manifest.json;
  json["entries"][0]["steps"][0]["what"]["kind"] = "explode";
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "what: expected a kind of step", read(json));
}

/// The member `kind` of a step's object says which step it is.
TEST(PlanManifest, NoFieldOfAStepTakesThePlaceOfItsKind) {
  const auto field = [](const char* name, const auto&...) { EXPECT_STRNE(name, "kind"); };
  any_step_kind([&](const auto& step) {
    visit_fields(field, step);
    return false;
  });
}

}  // namespace
}  // namespace smelt
