// Where the integers come from that kernels index tables by.
#include "runtime/plan/plan_checks.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"
#include "tests/runtime/example_plan.h"

namespace smelt {
namespace {

using example::buffer;
using example::step;

enum Place { kIds, kTable, kRows, kShifted, kCopied, kOrder, kBegins };

KernelParameter integers(bool written, std::vector<Dim> strides, std::optional<IndexBounds> indices) {
  return {.dtype = DType::i32,
          .read = !written,
          .written = written,
          .accesses = {{0, std::move(strides)}},
          .indices = std::move(indices)};
}

/// ids -> shifted -> copied -> rows of a table of 9 times 4; the ids sorted, and summed by segments.
Plan look_up() {
  const Dim n = Dim::symbol("N");
  Plan p;
  p.target = "cpu";
  p.symbols.bound({"N"}, 6);
  p.states = {{"table", Role::parameter, DType::f32, {Dim(36)}, {}, {}}};
  const auto i32 = [&](const char* name, Dim elements, int64_t most, int64_t at) {
    return example::arena(name, DType::i32, std::move(elements), most, at, 0, 4);
  };
  p.buffers = {buffer("ids", Role::input, DType::i32, n, 6),
               buffer("table", Role::parameter, DType::f32, 36, 36),
               buffer("rows", Role::output, DType::f32, n * 4, 24),
               i32("shifted", n, 6, 0),
               i32("copied", n, 6, 64),
               i32("order", n, 6, 128),
               i32("begins", 10, 10, 192)};
  p.buffers[kTable].state = 0;
  const KernelParameter table{.table_elements = 36};
  p.kernels = {
      {.name = "shift",
       .text = {},
       .dims = {},
       .range = n,
       .parameters = {integers(false, {1}, IndexBounds{0, 8}), integers(true, {1}, IndexBounds{1, 9})},
       .axes = {n}},
      {.name = "gather",
       .text = {},
       .dims = {},
       .range = n,
       .parameters = {table, integers(false, {1}, IndexBounds{0, 9}), example::writes({4, 1})},
       .axes = {n, 4}},
      {.name = "segments",
       .text = {},
       .dims = {},
       .range = 9,
       .parameters = {integers(false, {0, 1}, IndexBounds{0, n}),
                      integers(false, {1}, IndexBounds{0, n + 1})},
       .axes = {10, n}}};
  PlanEntry e;
  e.name = "look_up";
  e.inputs = {{"ids", DType::i32, {n}, kIds, false, IdRange{8}}};
  e.outputs = {{"rows", DType::f32, {n, 4}, kRows}};
  e.steps = {
      step(KernelStep{0, {{kIds, 0}, {kShifted, 0}}, {}}, {kIds}, {kShifted}, "shift"),
      step(CopyStep{{kShifted, 0}, {kCopied, 0}, {n}, {1}, {1}, DType::i32}, {kShifted}, {kCopied}, "copy"),
      step(KernelStep{1, {{kTable, 0}, {kCopied, 0}, {kRows, 0}}, {}}, {kTable, kCopied}, {kRows}, "look"),
      step(SortIndexStep{{kIds, 0}, {kOrder, 0}, {kBegins, 0}, n, 9}, {kIds}, {kOrder, kBegins}, "sort"),
      step(KernelStep{2, {{kOrder, 0}, {kBegins, 0}}, {}}, {kOrder, kBegins}, {}, "sum")};
  e.arena_bytes = 256;
  p.entries = {e};
  p.binary.assign(64, std::byte{1});
  return p;
}

std::string fault(const std::function<void(Plan&, PlanEntry&, std::vector<Step>&)>& change) {
  Plan plan = look_up();
  change(plan, plan.entries[0], plan.entries[0].steps);
  try {
    validate(plan);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_file) << error.what();
    return error.what();
  }
  return "accepted";
}

#define EXPECT_FAULT_OF(text, ...)                                                      \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, text,                                     \
                      fault([]([[maybe_unused]] Plan& p, [[maybe_unused]] PlanEntry& e, \
                               [[maybe_unused]] std::vector<Step>& s) { __VA_ARGS__; }))

TEST(IndexFlow, FollowsIndicesFromInputsThroughKernelsAndCopies) {
  EXPECT_EQ(fault([](Plan&, PlanEntry&, std::vector<Step>&) {}), "accepted");
}

TEST(IndexFlow, IdsOfInputsStayInTheirTables) {
  EXPECT_FAULT_OF(
      "step 0 (kernel shift): kernel 'shift' indexes by argument 0, buffer 'ids', where element 0 is any "
      "number: expected 0 to 7",
      e.inputs[0].ids.reset());
  EXPECT_FAULT_OF("element 0 is 0 to 1099511627775: expected 0 to 7",
                  e.inputs[0].ids->below = int64_t{1} << 40);
  EXPECT_FAULT_OF("is 0 to 7 or -1: expected 0 to 7", e.inputs[0].ids->ignored = -1);
  EXPECT_FAULT_OF("is -2 to 7: expected 0 to 7", e.inputs[0].ids->least = -2);
  EXPECT_FAULT_OF("input 'ids' is filled with 9: expected an id from 0 to 7", e.inputs[0].optional = true,
                  e.inputs[0].fill = 9);
  EXPECT_EQ(fault([](Plan&, PlanEntry& e, std::vector<Step>&) { e.inputs[0].ids->below = 3; }), "accepted");
}

/// The ids at the front of a buffer to which the kernel writes from `offset` on.
void shift_within(Plan& p, std::vector<Step>& s, const Dim& offset) {
  const Dim n = Dim::symbol("N");
  p.buffers[kShifted] = example::arena("shifted", DType::i32, n * 2, 12, 0, 0, 4);
  s[0] = step(KernelStep{0, {{kShifted, 0}, {kShifted, offset}}, {}}, {kShifted}, {kShifted}, "shift");
  std::get<CopyStep>(s[1].what).from.offset = offset;
  s.insert(s.begin(),
           step(CopyStep{{kIds, 0}, {kShifted, 0}, {n}, {1}, {1}, DType::i32}, {kIds}, {kShifted}, "ids"));
  for (Buffer& buffer : p.buffers)
    if (buffer.last_step == 4) buffer.last_step = 5;
}

TEST(IndexFlow, AKernelMayWriteNextToItsIndices) {
  EXPECT_EQ(fault([](Plan& p, PlanEntry&, std::vector<Step>& s) { shift_within(p, s, Dim::symbol("N")); }),
            "accepted");
  EXPECT_FAULT_OF("writes buffer 'shifted' where the indices of its argument 0 lie: expected them apart",
                  shift_within(p, s, Dim::symbol("N") - 1));
}

TEST(IndexFlow, IndicesAreWrittenBeforeTheyAreReliedOn) {
  EXPECT_FAULT_OF(
      "buffer 'copied', where element 0 is any number: expected 0 to 8",
      std::get<FillStep>((s[0] = step(FillStep{{kShifted, 0}, 0, 0}, {}, {kShifted}, "none")).what));
  EXPECT_FAULT_OF("is any number: expected 0 to 8", std::swap(s[0], s[1]));
  EXPECT_FAULT_OF("where element 1 is any number", std::get<CopyStep>(s[1].what).extents = {1});
  EXPECT_FAULT_OF("element 0 is 9: expected 0 to 8",
                  s[0] = step(FillStep{{kShifted, 0}, Dim::symbol("N"), 9}, {}, {kShifted}, "nine"));
  EXPECT_EQ(fault([](Plan&, PlanEntry&, std::vector<Step>& s) {
              s[0] = step(FillStep{{kShifted, 0}, Dim::symbol("N"), 8}, {}, {kShifted}, "eight");
            }),
            "accepted");
}

TEST(IndexFlow, SegmentsComeFromASort) {
  EXPECT_FAULT_OF("kernel 'segments' indexes by argument 0, buffer 'order', where element 0 is any number",
                  std::swap(s[3], s[4]));
  EXPECT_FAULT_OF("kernel 'segments' indexes by argument 1, buffer 'ids', where element 0 is 0 to 7",
                  p.buffers[kIds].elements = 10, p.buffers[kIds].bytes = 40, e.inputs[0].shape = {Dim(10)},
                  std::get<KernelStep>(s[4].what).arguments[1].buffer = kIds, s[4].reads.push_back(kIds));
}

TEST(IndexFlow, IndicesAreNotOverwrittenWhileTheyAreReliedOn) {
  EXPECT_FAULT_OF("kernel 'shift' writes buffer 'shifted' where the indices of its argument 0 lie",
                  std::get<KernelStep>(s[0].what).arguments[0].buffer = kShifted, s[0].reads = {kShifted});
}

TEST(IndexFlow, TheNextKernelOfALaunchReliesOnWhatTheOneBeforeHasWritten) {
  const auto joined = [](int stage) {
    return fault([&](Plan& p, PlanEntry&, std::vector<Step>& s) {
      for (KernelParameter parameter : p.kernels[1].parameters) {
        parameter.stage = stage;
        for (KernelAccess& access : parameter.accesses) access.strides.insert(access.strides.begin(), 0);
        p.kernels[0].parameters.push_back(parameter);
      }
      p.kernels[0].axes.insert(p.kernels[0].axes.end(), p.kernels[1].axes.begin(), p.kernels[1].axes.end());
      s[0] = step(KernelStep{0, {{kIds, 0}, {kShifted, 0}, {kTable, 0}, {kShifted, 0}, {kRows, 0}}, {}},
                  {kIds, kTable, kShifted}, {kShifted, kRows}, "both");
      s[2] = step(FillStep{{kRows, 0}, 0, 0}, {}, {kRows}, "none");
    });
  };
  EXPECT_EQ(joined(1), "accepted");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "writes buffer 'shifted' where the indices of its argument 3 lie", joined(0));
}

/// Such as a scatter, which leaves rows as they are that nothing is put into.
TEST(IndexFlow, WhatAKernelMayLeaveIsWithinWhatItWrites) {
  const auto after = [](double number) {
    return fault([&](Plan& p, PlanEntry&, std::vector<Step>& s) {
      p.kernels[0].parameters[1].read = true;
      s.insert(s.begin(), step(FillStep{{kShifted, 0}, Dim::symbol("N"), number}, {}, {kShifted}, "fill"));
      for (Buffer& buffer : p.buffers)
        if (buffer.last_step == 4) buffer.last_step = 5;
    });
  };
  EXPECT_EQ(after(8), "accepted");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "kernel 'shift' indexes by argument 1, buffer 'shifted', where element 0 is 9: "
                      "expected 1 to 8",
                      after(9));
  EXPECT_FAULT_OF("argument 1, buffer 'shifted', where element 0 is any number: expected 1 to 8",
                  p.kernels[0].parameters[1].read = true);
}

TEST(IndexFlow, WhatIsWrittenBesideIndicesLeavesThemKnown) {
  const auto with_mark_at = [](const Dim& place) {
    return fault([&](Plan& p, PlanEntry&, std::vector<Step>& s) {
      const int number = static_cast<int>(p.kernels.size());
      p.kernels.push_back({.name = "mark",
                           .text = {},
                           .dims = {},
                           .range = 1,
                           .parameters = {integers(true, {1}, std::nullopt)},
                           .axes = {1}});
      p.buffers[kShifted] = example::arena("shifted", DType::i32, Dim::symbol("N") + 1, 7, 0, 0, 5);
      s.insert(s.begin() + 1, step(KernelStep{number, {{kShifted, place}}, {}}, {}, {kShifted}, "mark"));
      for (Buffer& buffer : p.buffers)
        if (buffer.last_step == 4) buffer.last_step = 5;
    });
  };
  EXPECT_EQ(with_mark_at(Dim::symbol("N")), "accepted");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "buffer 'copied', where element 0 is any number",
                      with_mark_at(0));
}

TEST(IndexFlow, ConstantsAreLookedAt) {
  const auto with = [](int32_t last) {
    return fault([&](Plan& p, PlanEntry& e, std::vector<Step>& s) {
      const int32_t numbers[6] = {1, 2, 3, 4, 5, last};
      p.buffers[kShifted] = buffer("numbers", Role::constant, DType::i32, 6, 6);
      const auto bytes = std::as_bytes(std::span(numbers));
      p.buffers[kShifted].data.assign(bytes.begin(), bytes.end());
      s[0] = step(FillStep{{kRows, 0}, 0, 0}, {}, {kRows}, "none");
      e.inputs[0].ids.reset();
    });
  };
  EXPECT_EQ(with(8), "accepted");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "is 1 to 9: expected 0 to 8", with(9));
}

/// What was written is known where every alternative writes such numbers.
TEST(IndexFlow, OfAlternativesThatHoldsWhichAllWrite) {
  const auto fault_with = [](double first, double second) {
    return fault([&](Plan& p, PlanEntry& e, std::vector<Step>& s) {
      const auto fill = [](double number) {
        return step(FillStep{{kShifted, 0}, Dim::symbol("N"), number}, {}, {kShifted}, "fill");
      };
      s[0] = fill(first);
      s.insert(s.begin() + 1, fill(second));
      s[0].choice = s[1].choice = 0, s[1].alternative = 1;
      e.choices = {{{"first", "second"}}};
      for (Buffer& buffer : p.buffers)
        if (buffer.last_step == 4) buffer.last_step = 5;
    });
  };
  EXPECT_EQ(fault_with(8, 8), "accepted");
  EXPECT_NE(fault_with(8, 9).find("is any number: expected 0 to 8"), std::string::npos);
  EXPECT_NE(fault_with(9, 8).find("is any number: expected 0 to 8"), std::string::npos);
}

}  // namespace
}  // namespace smelt
