// Collectives over several rows as one step, with threads for ranks, and what is wrong with damaged ones.
#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/cpu/executor.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_validate.h"
#include "tests/support/row_plans.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

using test::kMostRowsOfPlan;
using test::kRowPart;
using test::RowPlan;

/// What each rank makes of `rows` rows.
std::vector<std::vector<float>> made_rows(const RowPlan& of, int64_t rows) {
  const std::string file = serialize_plan(of.plan("cpu"));
  const auto plan = std::make_shared<const Plan>(parse_plan(std::as_bytes(std::span(file)), "x"));
  std::vector<std::vector<float>> made(static_cast<size_t>(of.ranks));
  const auto work = [&](RankGroups& ranks) {
    CpuExecutor executor(plan, {.threads = 1, .poison = true, .ranks = &ranks});
    const std::vector<float> x = test::numbers_of_rows(ranks.rank(), rows * of.from_stride());
    std::vector<float>& y = made[static_cast<size_t>(ranks.rank())];
    y.resize(static_cast<size_t>(rows * of.to_stride()));
    const std::vector<const void*> inputs = {x.data()};
    const std::vector<void*> outputs = {y.data()};
    executor.run(plan->entries[0], of.as_one ? SymbolValues{{"B", rows}} : SymbolValues{}, inputs, outputs,
                 {});
  };
  test::ThreadRanks(plan->mesh).run(work);
  return made;
}

TEST(CollectiveRows, MakeWhatOneAfterTheOtherDoes) {
  for (const CollectiveKind kind : test::kKindsOfRows)
    for (const int64_t ranks : {2, 4})
      for (const int64_t gap : {0, 3}) {
        const RowPlan one{kind, ranks, true, gap}, several{kind, ranks, false, gap};
        const auto expected = made_rows(several, kMostRowsOfPlan);
        EXPECT_EQ(made_rows(one, kMostRowsOfPlan), expected) << name(kind) << " of " << ranks;
        auto fewer = expected;
        for (std::vector<float>& y : fewer) y.resize(static_cast<size_t>(one.to_stride()));
        EXPECT_EQ(made_rows(one, 1), fewer) << name(kind) << " of " << ranks;
      }
}

TEST(CollectiveRows, LeaveWhatIsBetweenThem) {
  const RowPlan one{CollectiveKind::all_gather, 2, true, 3};
  for (const std::vector<float>& y : made_rows(one, 2))
    for (size_t i = 0; i < y.size(); ++i)
      if (static_cast<int64_t>(i) % one.to_stride() >= 2 * kRowPart) {
        EXPECT_EQ(y[i], test::kBetweenRows) << i;
      }
}

TEST(CollectiveRows, OfOneRankAreCopied) {
  const RowPlan alone{CollectiveKind::reduce_scatter, 1, true, 1};
  const std::vector<float> x = test::numbers_of_rows(0, 3 * alone.from_stride());
  const std::vector<float> y = made_rows(alone, 3)[0];
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t i = 0; i < kRowPart; ++i) {
      const auto at = static_cast<size_t>(row * alone.from_stride() + i);
      EXPECT_EQ(y[at], x[at]);
    }
}

/// What is wrong with a plan whose rows are edited.
std::string fault_of_rows(const RowPlan& of, const std::function<void(Step&, CollectiveStep&)>& edit) {
  Plan plan = of.plan("cpu");
  Step& step = plan.entries[0].steps[1];
  edit(step, std::get<CollectiveStep>(step.what));
  try {
    validate(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is refused";
}

struct RowFault {
  const char* expected;
  void (*edit)(Step&, CollectiveStep&);
};
constexpr int64_t kHuge = int64_t{1} << 62;
/// Of a gather by two ranks of B rows of 2 elements, 3 apart, into rows 5 apart.
const RowFault kRowFaults[] = {
    {"nothing is refused", [](Step&, CollectiveStep&) {}},
    {"nothing is refused", [](Step&, CollectiveStep& c) { c.rows = 0; }},
    {"nothing is refused", [](Step&, CollectiveStep& c) { c.from_stride = 0; }},
    {"the extent -1 is -1", [](Step&, CollectiveStep& c) { c.rows = -1; }},
    {"of 1099511627776 rows: expected at most 4096",
     [](Step&, CollectiveStep& c) { c.rows = int64_t{1} << 40, c.elements = 0; }},
    {"writes rows of 4 elements 3 apart", [](Step&, CollectiveStep& c) { c.to_stride = 3; }},
    {"to has rows -5 elements apart", [](Step&, CollectiveStep& c) { c.to_stride = -5; }},
    {"from has rows -1 elements apart", [](Step&, CollectiveStep& c) { c.from_stride = -1; }},
    {"from has rows 4611686018427387904 elements apart",
     [](Step&, CollectiveStep& c) { c.from_stride = kHuge, c.elements = 0; }},
    {"to has rows 4611686018427387904 elements apart",
     [](Step&, CollectiveStep& c) { c.to_stride = kHuge, c.rows = 1; }},
    {"from reaches element", [](Step&, CollectiveStep& c) { c.rows = c.rows + 1; }},
    {"to reaches element", [](Step&, CollectiveStep& c) { c.rows = c.rows + 1, c.from_stride = 0; }},
    {"writes over what it reads",
     [](Step& s, CollectiveStep& c) {
       c.from = {1, 4}, c.from_stride = 0, c.elements = 1;
       s.reads = s.writes = {1};
     }},
};

TEST(CollectiveRows, AreValidated) {
  for (const RowFault& fault : kRowFaults) {
    const std::string found = fault_of_rows({}, fault.edit);
    EXPECT_NE(found.find(fault.expected), found.npos) << found << "\nexpected: " << fault.expected;
  }
}

TEST(CollectiveRows, MayBeSummedInPlace) {
  const RowPlan sums{CollectiveKind::all_reduce, 2};
  const auto in_place = [](Step& s, CollectiveStep& c) {
    c.from = c.to;
    s.reads = s.writes = {1};
  };
  EXPECT_EQ(fault_of_rows(sums, in_place), "nothing is refused");
  const std::string moved = fault_of_rows(sums, [&](Step& s, CollectiveStep& c) {
    in_place(s, c);
    c.from_stride = kRowPart;
  });
  EXPECT_NE(moved.find("writes over what it reads"), moved.npos) << moved;
}

}  // namespace
}  // namespace smelt
