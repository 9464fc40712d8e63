// Steps that ranks do together, with threads for ranks.
#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "runtime/cpu/executor.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_validate.h"
#include "tests/runtime/example_plan.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

using Numbers = std::vector<float>;
constexpr int64_t kRanks = 3, kPart = 2, kAll = kRanks * kPart;

CollectiveStep collective(CollectiveKind kind, int from, int to) {
  return {.kind = kind,
          .axis = "data",
          .from = {from, 0},
          .to = {to, 0},
          .elements = kind == CollectiveKind::all_reduce ? kAll : kPart,
          .ranks = kRanks};
}

enum Place { x, sum, part, all, swapped, highest };

/// Of every kind one, over an axis of three in a mesh of six.
Plan plan() {
  Plan p;
  p.target = "cpu";
  p.mesh = parse_mesh("model=2,data=3");
  const auto output = [&](const char* name, int64_t count) {
    p.buffers.push_back(example::buffer(name, Role::output, DType::f32, count, count));
  };
  p.buffers = {example::buffer("x", Role::input, DType::f32, kAll, kAll)};
  output("sum", kAll), output("part", kPart), output("all", kAll), output("swapped", kAll);
  output("highest", kAll);
  PlanEntry entry{.name = "run", .inputs = {{"x", DType::f32, {kAll}, x}}};
  for (int i = sum; i <= highest; ++i)
    entry.outputs.push_back({p.buffers[static_cast<size_t>(i)].name,
                             DType::f32,
                             {p.buffers[static_cast<size_t>(i)].elements},
                             i});
  CollectiveStep in_place = collective(CollectiveKind::all_reduce, highest, highest);
  in_place.sum = CollectiveSum::max;
  const auto step = [&](const CollectiveStep& what) {
    entry.steps.push_back(example::step(what, {what.from.buffer}, {what.to.buffer}, "together"));
  };
  step(collective(CollectiveKind::all_reduce, x, sum));
  step(collective(CollectiveKind::reduce_scatter, x, part));
  step(collective(CollectiveKind::all_gather, part, all));
  step(collective(CollectiveKind::all_to_all, x, swapped));
  entry.steps.push_back(
      example::step(CopyStep{{x, 0}, {highest, 0}, {kAll}, {1}, {1}, DType::f32}, {x}, {highest}, "copied"));
  step(in_place);
  p.entries = {entry};
  return p;
}

/// Of a rank: element i is 10 * rank + i, negative at odd places.
Numbers numbers_of(int64_t rank) {
  Numbers numbers;
  for (int64_t i = 0; i < kAll; ++i)
    numbers.push_back(static_cast<float>((10 * rank + i) * (i % 2 == 0 ? 1 : -1)));
  return numbers;
}

/// `ranks`: null where the process runs alone.
std::vector<Numbers> run(const std::shared_ptr<const Plan>& plan, RankGroups* ranks) {
  CpuExecutor executor(plan, {.threads = 1, .poison = true, .ranks = ranks});
  const Numbers given = numbers_of(ranks ? ranks->rank() : 0);
  std::vector<Numbers> made;
  for (const Port& output : plan->entries[0].outputs)
    made.emplace_back(static_cast<size_t>(*output.shape[0].constant()));
  std::vector<void*> outputs;
  for (Numbers& numbers : made) outputs.push_back(numbers.data());
  const std::vector<const void*> inputs = {given.data()};
  executor.run(plan->entries[0], {}, inputs, outputs, {});
  return made;
}

/// Of the ranks that differ along the axis data alone, element by element.
Numbers expected_sum(const Mesh& mesh, int64_t rank, bool highest) {
  Numbers total = numbers_of(mesh.group(rank, 1).front());
  for (const int64_t member : mesh.group(rank, 1)) {
    if (member == mesh.group(rank, 1).front()) continue;
    const Numbers other = numbers_of(member);
    for (size_t i = 0; i < total.size(); ++i)
      total[i] = highest ? std::max(total[i], other[i]) : total[i] + other[i];
  }
  return total;
}

Numbers expected_swap(const Mesh& mesh, int64_t rank) {
  Numbers swapped;
  const auto own = static_cast<ptrdiff_t>(mesh.coordinates(rank)[1] * kPart);
  for (const int64_t member : mesh.group(rank, 1)) {
    const Numbers other = numbers_of(member);
    swapped.insert(swapped.end(), other.begin() + own, other.begin() + own + kPart);
  }
  return swapped;
}

TEST(Collectives, OfEveryKindAreDoneByTheRanksAlongAnAxis) {
  const std::string file = serialize_plan(plan());
  const auto shared = std::make_shared<const Plan>(parse_plan(std::as_bytes(std::span(file)), "x"));
  EXPECT_EQ(shared->mesh, plan().mesh);
  test::ThreadRanks(shared->mesh).run([&](RankGroups& ranks) {
    const std::vector<Numbers> made = run(shared, &ranks);
    const Numbers total = expected_sum(shared->mesh, ranks.rank(), false);
    const auto own =
        total.begin() + static_cast<ptrdiff_t>(shared->mesh.coordinates(ranks.rank())[1] * kPart);
    EXPECT_EQ(made[sum - 1], total);
    EXPECT_EQ(made[part - 1], Numbers(own, own + kPart));
    EXPECT_EQ(made[all - 1], total);
    EXPECT_EQ(made[swapped - 1], expected_swap(shared->mesh, ranks.rank()));
    EXPECT_EQ(made[highest - 1], expected_sum(shared->mesh, ranks.rank(), true));
  });
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing is refused";
}

TEST(Collectives, NeedTheRanksOfTheirMesh) {
  const auto shared = std::make_shared<const Plan>(plan());
  const std::string alone = refusal([&] { run(shared, nullptr); });
  EXPECT_NE(alone.find("for 6 ranks (mesh model = 2, data = 3)"), alone.npos) << alone;
  EXPECT_NE(alone.find("smelt launch -n 6"), alone.npos) << alone;
  test::ThreadRanks(parse_mesh("data=2")).run([&](RankGroups& ranks) {
    const std::string others = refusal([&] { run(shared, &ranks); });
    EXPECT_NE(others.find("there are 2 (mesh data = 2)"), others.npos) << others;
  });
}

TEST(Collectives, OfOneRankAreCopies) {
  Plan alone = plan();
  alone.mesh = parse_mesh("data=1");
  for (Step& step : alone.entries[0].steps)
    if (auto* what = std::get_if<CollectiveStep>(&step.what)) what->ranks = 1;
  std::get<CollectiveStep>(alone.entries[0].steps[0].what).elements = kAll;
  const auto shared = std::make_shared<const Plan>(alone);
  CpuExecutor executor(shared);
  const Numbers given = numbers_of(4);
  Numbers total(kAll), first(kPart), gathered(kAll), exchanged(kAll), largest(kAll);
  const std::vector<const void*> inputs = {given.data()};
  const std::vector<void*> outputs = {total.data(), first.data(), gathered.data(), exchanged.data(),
                                      largest.data()};
  executor.run(shared->entries[0], {}, inputs, outputs, {});
  EXPECT_EQ(total, given);
  EXPECT_EQ(first, Numbers(given.begin(), given.begin() + kPart));
  EXPECT_EQ(largest, given);
}

/// What is wrong with a plan whose first collective is edited.
std::string fault(const std::function<void(Plan&, Step&, CollectiveStep&)>& edit) {
  Plan edited = plan();
  Step& step = edited.entries[0].steps[1];
  edit(edited, step, std::get<CollectiveStep>(step.what));
  return refusal([&] { validate(edited); });
}

void expect_fault(const std::string& expected,
                  const std::function<void(Plan&, Step&, CollectiveStep&)>& edit) {
  const std::string found = fault(edit);
  EXPECT_NE(found.find(expected), found.npos) << found;
}

TEST(Collectives, AreValidated) {
  EXPECT_EQ(fault([](Plan&, Step&, CollectiveStep&) {}), "nothing is refused");
  expect_fault("the axis 'stage' of the mesh", [](Plan&, Step&, CollectiveStep& c) { c.axis = "stage"; });
  expect_fault("is of 2 ranks along the axis data = 3", [](Plan&, Step&, CollectiveStep& c) { c.ranks = 2; });
  expect_fault("from reaches element 8 of buffer 'x'",
               [](Plan&, Step&, CollectiveStep& c) { c.elements = 3; });
  expect_fault("from begins at element -1", [](Plan&, Step&, CollectiveStep& c) { c.from.offset = -1; });
  expect_fault("from is not f64", [](Plan&, Step&, CollectiveStep& c) { c.dtype = DType::f64; });
  expect_fault("sums bool", [](Plan& p, Step&, CollectiveStep&) {
    for (Buffer& buffer : p.buffers) buffer.dtype = DType::boolean;
    for (auto* ports : {&p.entries[0].inputs, &p.entries[0].outputs})
      for (Port& port : *ports) port.dtype = DType::boolean;
    for (Step& step : p.entries[0].steps)
      if (auto* what = std::get_if<CollectiveStep>(&step.what)) what->dtype = DType::boolean;
  });
  expect_fault("in place", [](Plan&, Step& s, CollectiveStep&) { s.may_alias = {{part, x}}; });
  expect_fault("writes over what it reads", [](Plan&, Step& s, CollectiveStep& c) {
    c.from = {all, 0}, c.to = {all, 1};
    s.reads = s.writes = {all};
  });
  expect_fault("expected such as data = 2", [](Plan& p, Step&, CollectiveStep&) { p.mesh.axes[1].size = 0; });
  expect_fault("stands there twice", [](Plan& p, Step&, CollectiveStep&) { p.mesh.axes[0].name = "data"; });
}

TEST(Collectives, ThatDifferBetweenRanksEndAll) {
  Plan other = plan();
  std::get<CollectiveStep>(other.entries[0].steps[0].what).elements = 1;
  const auto same = std::make_shared<const Plan>(plan()), differs = std::make_shared<const Plan>(other);
  const std::string why = refusal([&] {
    test::ThreadRanks(same->mesh).run([&](RankGroups& ranks) {
      run(ranks.rank() == 4 ? differs : same, &ranks);
    });
  });
  EXPECT_NE(why.find("all_reduce of 4 bytes"), why.npos) << why;
}

}  // namespace
}  // namespace smelt
