// bucket_collectives and overlap_collectives on random programs: played over the bytes of one arena, with
// every collective at the moment it may begin or when it is waited for, states end as in the program that was
// given.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "passes/program/memory/memory_passes.h"
#include "passes/program/memory/plan_memory.h"
#include "passes/program/sharding/bucket_collectives.h"
#include "passes/program/sharding/overlap_collectives.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_checks.h"

namespace smelt {
namespace {

Step step_of(decltype(Step::what) what, std::vector<int> reads, std::vector<int> writes) {
  Step step;
  step.what = std::move(what), step.reads = std::move(reads), step.writes = std::move(writes);
  return step;
}

constexpr int64_t kPiece = 64, kRanks = 2;

class ProgramWithSum {
 public:
  ProgramWithSum(uint64_t seed, int64_t pieces) : random_(seed), pieces_(pieces) {
    state("sum", pieces * kPiece), state("parts", pieces * kPiece / kRanks), state("others", 1);
    program.mesh = {{{"data", kRanks}}};
    program.entries.push_back({.name = "g"});
    const int gradient = buffer("gradient", pieces * kPiece), summed = buffer("summed", pieces * kPiece);
    fill_pieces(gradient);
    sum(gradient, summed);
    fill_others();
    copy(summed, 0, pieces * kPiece);
    scatter(summed);
  }
  Program program;

 private:
  std::vector<Step>& steps() { return program.entries[0].steps; }
  int buffer(const std::string& name, int64_t elements) {
    program.buffers.push_back({.name = name, .elements = elements});
    return static_cast<int>(program.buffers.size()) - 1;
  }
  void state(const std::string& name, int64_t elements) {
    State& made = program.states.emplace_back();
    made.name = name, made.shape = {Dim(elements)};
    const auto index = static_cast<int>(program.states.size()) - 1;
    program.buffers.push_back({.name = name, .role = Role::state, .elements = elements, .state = index});
  }
  void fill(int to, int64_t at, int64_t elements) {
    steps().push_back(step_of(FillStep{{to, at}, elements, static_cast<double>(random_() % 1000)}, {}, {to}));
    steps().back().sources = {"fill"};
  }
  /// A buffer of its own whose first number goes to a state.
  void other() {
    const int made = buffer("other", static_cast<int64_t>(1 + random_() % 200));
    fill(made, 0, *program.buffers.back().elements.constant());
    copy(made, 2, 1);
  }
  void fill_others() {
    for (int count = static_cast<int>(random_() % 3); count > 0; --count) other();
  }
  void copy(int from, int to, int64_t elements) {
    steps().push_back(step_of(CopyStep{{from, 0}, {to, 0}, {Dim(elements)}, {1}, {1}}, {from}, {to}));
    steps().back().sources = {"copy"};
  }
  void fill_pieces(int to) {
    std::vector<int64_t> order(static_cast<size_t>(pieces_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    for (const int64_t piece : order) fill(to, piece * kPiece, kPiece), fill_others();
  }
  void collective(CollectiveKind kind, int from, int to, int64_t elements) {
    const CollectiveStep step{kind, "data", {from, 0}, {to, 0}, elements, kRanks};
    steps().push_back(step_of(step, {from}, {to}));
    steps().back().sources = {"collective"};
  }
  void sum(int from, int to) {
    collective(CollectiveKind::all_reduce, from, to, pieces_ * kPiece);
    steps().back().may_alias = {{to, from}};
  }
  void scatter(int from) {
    const int part = buffer("part", pieces_ * kPiece / kRanks);
    collective(CollectiveKind::reduce_scatter, from, part, pieces_ * kPiece / kRanks);
    fill_others();
    copy(part, 1, pieces_ * kPiece / kRanks);
    fill_others();
  }

  std::mt19937_64 random_;
  int64_t pieces_;
};

enum class Moment { earliest, latest };

/// Runs a program of ranks that all hold the same.
class Player {
 public:
  Player(const Program& program, Moment moment) : program_(program), moment_(moment) {
    arena_.resize(static_cast<size_t>(program.entries[0].arena_bytes) / sizeof(float));
    for (const State& state : program.states)
      states_.emplace_back(static_cast<size_t>(*state.shape[0].constant()), 0.0f);
  }

  std::vector<std::vector<float>> run() {
    const std::vector<Step>& steps = program_.entries[0].steps;
    for (size_t i = 0; i < steps.size(); ++i) {
      finish(static_cast<int>(i));
      const auto* collective = std::get_if<CollectiveStep>(&steps[i].what);
      if (collective && collective->waited_at >= 0 && moment_ == Moment::latest)
        pending_.push_back(collective);
      else
        std::visit([&](const auto& what) { play(what); }, steps[i].what);
    }
    finish(static_cast<int>(steps.size()));
    return states_;
  }

 private:
  void finish(int step) {
    for (const CollectiveStep*& pending : pending_)
      if (pending->waited_at <= step) play(*std::exchange(pending, nullptr));
    std::erase(pending_, nullptr);
  }
  float* at(const BufferRef& ref) {
    const Buffer& b = program_.buffers[static_cast<size_t>(ref.buffer)];
    float* base = b.state >= 0 ? states_[static_cast<size_t>(b.state)].data()
                               : arena_.data() + b.offset_bytes / static_cast<int64_t>(sizeof(float));
    return base + *ref.offset.constant();
  }
  void play(const FillStep& s) { std::fill_n(at(s.to), *s.elements.constant(), static_cast<float>(s.value)); }
  void play(const CopyStep& s) { std::copy_n(at(s.from), *s.extents[0].constant(), at(s.to)); }
  void play(const CollectiveStep& s) {
    std::transform(at(s.from), at(s.from) + *s.elements.constant(), at(s.to),
                   [](float x) { return kRanks * x; });
  }
  template <typename Kind>
  void play(const Kind&) {
    FAIL() << "a kind of step that these programs do not have";
  }

  const Program& program_;
  Moment moment_;
  std::vector<float> arena_;
  std::vector<std::vector<float>> states_;
  std::vector<const CollectiveStep*> pending_;
};

std::vector<std::vector<float>> played(Program program, Moment moment = Moment::earliest) {
  plan_memory(program, {});
  check_waits(program.entries[0], program.symbols);
  return Player(program, moment).run();
}

std::vector<const CollectiveStep*> collectives_of(const Program& program) {
  std::vector<const CollectiveStep*> found;
  for (const Step& step : program.entries[0].steps)
    if (const auto* collective = std::get_if<CollectiveStep>(&step.what)) found.push_back(collective);
  return found;
}

class ProgramCollectives : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr int64_t kPieces = 12;
  Program program_ = ProgramWithSum(GetParam(), kPieces).program;
};

TEST_P(ProgramCollectives, LeaveTheSameStates) {
  const auto expected = played(program_);
  for (const int64_t pieces : {1, 3, 5, 100}) {
    Program made = program_;
    bucket_collectives(made, {.bytes = pieces * kPiece * 4});
    EXPECT_EQ(played(made), expected) << pieces;
    order_steps(made, {});
    EXPECT_TRUE(overlap_collectives(made, {}));
    EXPECT_EQ(played(made), expected) << pieces;
    EXPECT_EQ(played(made, Moment::latest), expected) << pieces;
  }
}

/// Parts of three pieces: at most four, in place, each of them begun behind its own last piece.
TEST_P(ProgramCollectives, BeginWhenTheirPiecesAreThere) {
  EXPECT_TRUE(bucket_collectives(program_, {.bytes = 3 * kPiece * 4}));
  overlap_collectives(program_, {});
  std::map<int64_t, int64_t> parts;
  for (const CollectiveStep* sum : collectives_of(program_))
    if (sum->kind == CollectiveKind::all_reduce) {
      EXPECT_EQ(sum->from, sum->to);
      parts[*sum->from.offset.constant()] = *sum->elements.constant();
    }
  EXPECT_EQ(parts.size(), 4u);
  int64_t end = 0;
  for (const auto& [begin, elements] : parts) EXPECT_EQ(begin, std::exchange(end, begin + elements));
  EXPECT_EQ(end, kPieces * kPiece);
  int pieces = 0, early = 0;
  for (const Step& step : program_.entries[0].steps) {
    const auto* fill = std::get_if<FillStep>(&step.what);
    pieces += fill && *fill->elements.constant() == kPiece &&
              program_.buffers[static_cast<size_t>(fill->to.buffer)].name == "gradient";
    early += std::holds_alternative<CollectiveStep>(step.what) && pieces < kPieces;
  }
  EXPECT_GE(early, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProgramCollectives, ::testing::Range<uint64_t>(0, 20));

/// What a later step uses may not be waited for behind it, and a wait has a place.
TEST(ProgramCollectives, WaitsAreChecked) {
  Program program = ProgramWithSum(1, 4).program;
  overlap_collectives(program, {});
  std::vector<Step>& steps = program.entries[0].steps;
  const auto sum = std::ranges::find_if(
      steps, [](const Step& step) { return std::holds_alternative<CollectiveStep>(step.what); });
  auto& collective = std::get<CollectiveStep>(sum->what);
  for (const int late : {0, static_cast<int>(sum - steps.begin()), static_cast<int>(steps.size()),
                         static_cast<int>(steps.size()) + 1, 1 << 30}) {
    collective.waited_at = late;
    EXPECT_THROW(check_waits(program.entries[0], program.symbols), Error) << late;
  }
}

/// What lies between rows counts as theirs.
TEST(ProgramCollectives, WaitsOfRowsReachToTheLast) {
  Program program;
  program.mesh = {{{"data", kRanks}}};
  program.symbols.bound({"B"}, 3);
  for (const char* name : {"rows", "gathered"}) program.buffers.push_back({.name = name, .elements = 64});
  CollectiveStep gather{CollectiveKind::all_gather, "data", {0, 0}, {1, 0}, 4, kRanks};
  gather.rows = Dim::symbol("B"), gather.from_stride = 4, gather.to_stride = 10, gather.waited_at = 2;
  program.entries.push_back({.name = "g"});
  std::vector<Step>& steps = program.entries[0].steps;
  steps = {step_of(gather, {0}, {1}), step_of(FillStep{{1, 0}, 1, 0}, {}, {1})};
  for (const auto& [at, buffer, refused] :
       {std::tuple(0, 1, true), {27, 1, true}, {28, 1, false}, {11, 0, true}, {12, 0, false}}) {
    std::get<FillStep>(steps[1].what).to = {buffer, at};
    steps[1].writes = {buffer};
    const auto check = [&] { check_waits(program.entries[0], program.symbols); };
    if (refused)
      EXPECT_THROW(check(), Error) << at;
    else
      EXPECT_NO_THROW(check()) << at;
  }
}

/// A sum of several rows stays whole: only one run of elements is parted.
TEST(ProgramCollectives, SumsOfRowsAreNotParted) {
  Program program;
  program.mesh = {{{"data", kRanks}}};
  program.buffers.push_back({.name = "sum", .elements = 4 * kPiece});
  CollectiveStep sum{CollectiveKind::all_reduce, "data", {0, 0}, {0, 0}, kPiece, kRanks};
  sum.rows = 2, sum.from_stride = sum.to_stride = 2 * kPiece;
  program.entries.push_back({.name = "g"});
  for (const int64_t at : {int64_t{0}, kPiece / 2})
    program.entries[0].steps.push_back(step_of(FillStep{{0, at}, kPiece / 2, 1}, {}, {0}));
  program.entries[0].steps.push_back(step_of(sum, {0}, {0}));
  EXPECT_FALSE(bucket_collectives(program, {.bytes = 64}));
  EXPECT_EQ(collectives_of(program).size(), 1u);
}

/// Parts of a layer are put together one layer ahead of their use, not all at the beginning.
/// Layers that gather a whole in so many pieces, and use all of it; 'g' and 'u' in the order that comes of
/// it.
std::string order_of_gathers(int64_t pieces) {
  Program program;
  program.mesh = {{{"data", kRanks}}};
  program.states.emplace_back().name = "part";
  program.states.back().shape = {8};
  program.buffers.push_back({.name = "part", .role = Role::state, .elements = 8, .state = 0});
  PlanEntry entry{.name = "g"};
  constexpr int kLayers = 4;
  for (int layer = 0; layer < kLayers; ++layer) {
    const int whole = static_cast<int>(program.buffers.size());
    program.buffers.push_back({.name = "whole", .elements = 16});
    program.buffers.push_back({.name = "used", .elements = 16});
    for (int64_t piece = 0; piece < pieces; ++piece)
      entry.steps.push_back(step_of(CollectiveStep{CollectiveKind::all_gather,
                                                   "data",
                                                   {0, piece * 8 / pieces},
                                                   {whole, piece * 16 / pieces},
                                                   8 / pieces,
                                                   kRanks},
                                    {0}, {whole}));
    entry.steps.push_back(
        step_of(CopyStep{{whole, 0}, {whole + 1, 0}, {16}, {1}, {1}}, {whole}, {whole + 1}));
  }
  program.entries.push_back(std::move(entry));
  overlap_collectives(program, {});
  std::string order;
  for (const Step& step : program.entries[0].steps)
    order += std::holds_alternative<CollectiveStep>(step.what) ? 'g' : 'u';
  return order;
}

/// Layers that add to their sum over ranks what they leave in memory of their own: how many later layers may
/// have begun before it is waited for, at the most.
int layers_before_wait(int layers, int64_t bytes_taken) {
  Program program;
  program.mesh = {{{"data", kRanks}}};
  program.buffers.push_back({.name = "sum", .elements = 8 * layers});
  PlanEntry entry{.name = "g"};
  for (int layer = 0; layer < layers; ++layer) {
    const int own = layer + 1;
    program.buffers.push_back({.name = "own", .elements = 16});
    entry.steps.push_back(step_of(FillStep{{own, 0}, 16, 1}, {}, {own}));
    entry.steps.push_back(
        step_of(CollectiveStep{CollectiveKind::reduce_scatter, "data", {own, 0}, {0, 8 * layer}, 8, kRanks},
                {own}, {0}));
  }
  program.entries.push_back(std::move(entry));
  overlap_collectives(program, {.bytes_taken = bytes_taken});
  int most = 0;
  for (size_t i = 0; i < program.entries[0].steps.size(); ++i)
    if (const auto* sum = std::get_if<CollectiveStep>(&program.entries[0].steps[i].what))
      most = std::max(most, (sum->waited_at - static_cast<int>(i)) / 2);
  return most;
}

TEST(ProgramCollectives, OperandsOfSumsAreFreedGroupByGroup) {
  EXPECT_EQ(layers_before_wait(64, 64), 2);
  EXPECT_EQ(layers_before_wait(64, 2 * 64), 4);
  EXPECT_EQ(layers_before_wait(64, int64_t{1} << 30), 8) << "a sixteenth of all are a group";
}

TEST(ProgramCollectives, GathersAreOneAhead) { EXPECT_EQ(order_of_gathers(1), "gguguguu"); }

/// All that a layer needs is under way while the layer before it works.
TEST(ProgramCollectives, GathersForOneStepBeginTogether) { EXPECT_EQ(order_of_gathers(2), "gggguggugguu"); }

}  // namespace
}  // namespace smelt
