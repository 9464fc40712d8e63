// order_steps and plan_memory on random programs: played step by step over bytes of one arena, every read
// finds what the last write to its buffer left, in the order as written and in the order chosen.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "passes/program/memory/buffer_parts.h"
#include "passes/program/memory/memory_passes.h"
#include "passes/program/memory/plan_memory.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

/// Steps write new buffers or one of two states and read what was written before; some may work in place.
Program random_program(uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
  Program program;
  for (int i = 0; i < 2; ++i) {
    program.states.emplace_back().name = "s" + std::to_string(i);
    program.states.back().shape = {7};
    program.buffers.push_back(
        {.name = program.states.back().name, .role = Role::state, .elements = 7, .state = i});
  }
  PlanEntry entry{.name = "g"};
  for (int i = 0; i < count; ++i) {
    Step step;
    step.sources = {std::to_string(i)};
    for (int reads = below(4); reads > 0; --reads) step.reads.push_back(below(program.buffers.size()));
    const bool state = below(6) == 0;
    step.writes.push_back(state ? below(2) : static_cast<int>(program.buffers.size()));
    if (!state) program.buffers.push_back({.name = std::to_string(i), .elements = 1 + below(900)});
    if (!state && below(2) == 0)
      for (int read : step.reads) step.may_alias.emplace_back(step.writes[0], read);
    step.what = FillStep{{step.writes[0], 0}, program.buffers[static_cast<size_t>(step.writes[0])].elements};
    entry.steps.push_back(std::move(step));
  }
  program.entries.push_back(std::move(entry));
  return program;
}

/// The same with a flat buffer between the others, of which one step in three writes a piece and the last
/// reads all.
Program with_flat_buffer(Program program, uint64_t seed) {
  constexpr int64_t kPiece = 100;
  std::mt19937_64 random(seed);
  const int flat = static_cast<int>(program.buffers.size());
  program.buffers.push_back({.name = "flat", .elements = 0});
  std::vector<Step>& steps = program.entries[0].steps;
  std::vector<int64_t> places(steps.size() / 3);
  std::iota(places.begin(), places.end(), 0);
  std::ranges::shuffle(places, random);
  program.buffers.back().elements = static_cast<int64_t>(places.size()) * kPiece;
  for (size_t i = 0; i < places.size(); ++i) {
    Step step;
    step.sources = {"piece " + std::to_string(i)};
    step.writes = {flat};
    step.what = FillStep{{flat, places[i] * kPiece}, kPiece};
    steps.insert(steps.begin() + static_cast<int64_t>(4 * i + 2), std::move(step));
  }
  Step all;
  all.sources = {"all"}, all.reads = {flat}, all.writes = {0}, all.what = FillStep{{0, 0}, 7};
  steps.push_back(std::move(all));
  return program;
}

/// For every step by its name the writer of each buffer that it reads; states begin with nobody.
std::map<std::string, std::vector<std::string>> values_read(const Program& program) {
  std::map<int, std::string> writer;
  std::map<std::string, std::vector<std::string>> result;
  for (const Step& step : program.entries[0].steps) {
    auto& read = result[step.sources[0]];
    for (int buffer : step.reads) read.push_back(writer[buffer]);
    for (int buffer : step.writes) writer[buffer] = step.sources[0];
  }
  return result;
}

/// Every byte of the arena holds the buffer that wrote it last. What a step reads is there until it has
/// written all, where it may not work in place.
void play(const Program& program) {
  const PlanEntry& entry = program.entries[0];
  std::vector<int> owner(static_cast<size_t>(entry.arena_bytes), -1);
  const auto range = [&](int buffer) {
    const Buffer& b = program.buffers[static_cast<size_t>(buffer)];
    EXPECT_EQ(b.bytes, bytes_at_bounds(program, b));
    EXPECT_EQ(b.offset_bytes % 256, 0);
    return std::span(owner).subspan(static_cast<size_t>(b.offset_bytes), static_cast<size_t>(b.bytes));
  };
  const auto written = [&](const Step& step, int buffer) {
    const auto& fill = std::get<FillStep>(step.what);
    return range(buffer).subspan(static_cast<size_t>(*fill.to.offset.constant()) * 4,
                                 static_cast<size_t>(*fill.elements.constant()) * 4);
  };
  const auto in = [&](int buffer) { return in_arena(program.buffers[static_cast<size_t>(buffer)]); };
  for (const Step& step : entry.steps) {
    const auto expect_reads = [&] {
      for (int buffer : step.reads)
        if (in(buffer)) {
          for (int holds : range(buffer)) ASSERT_EQ(holds, buffer) << "step " << step.sources[0];
        }
    };
    ASSERT_NO_FATAL_FAILURE(expect_reads());
    for (int buffer : step.writes)
      if (in(buffer)) std::ranges::fill(written(step, buffer), buffer);
    if (step.may_alias.empty()) {
      ASSERT_NO_FATAL_FAILURE(expect_reads());
    }
  }
}

class RandomPrograms : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, PlayOverOneArena) {
  Program program = random_program(GetParam(), 40);
  std::vector<MemoryReport> report;
  plan_memory(program, {.report = &report});
  play(program);
  EXPECT_GE(report[0].arena, report[0].lower_bound);
  EXPECT_LT(report[0].arena, report[0].without_reuse);
  EXPECT_EQ(report[0].arena, program.entries[0].arena_bytes);
}

/// Pieces of a flat buffer take memory from their first write on: less than if it were there from the first
/// of them.
TEST_P(RandomPrograms, PiecesShareTheArena) {
  Program program = with_flat_buffer(random_program(GetParam(), 40), GetParam());
  std::vector<MemoryReport> report;
  plan_memory(program, {.report = &report});
  play(program);
  const Buffer& flat = program.buffers.back();
  EXPECT_EQ(flat.parts.size(), 13u);
  const size_t steps = program.entries[0].steps.size();
  std::map<int, Lifetime> lives = lifetimes(program, program.entries[0].steps);
  const auto all = [&] {
    const std::vector<int64_t> live = live_bytes(lives, steps);
    return std::accumulate(live.begin(), live.end(), int64_t{0});
  };
  const int64_t whole = all();
  find_parts(program, program.entries[0].steps, lives);
  EXPECT_LT(all(), whole);
}

TEST_P(RandomPrograms, ReadTheSameInTheNewOrder) {
  Program program = random_program(GetParam(), 40);
  const auto expected = values_read(program);
  const auto peak = [](const Program& p) {
    return peak_live_bytes(lifetimes(p, p.entries[0].steps), p.entries[0].steps.size());
  };
  const int64_t before = peak(program);
  order_steps(program, {});
  EXPECT_EQ(values_read(program), expected);
  EXPECT_LE(peak(program), before);
  plan_memory(program, {});
  play(program);
}

/// A plan in which any buffer is moved onto one that is live is found out.
TEST_P(RandomPrograms, OverlapsAreFound) {
  Program program = random_program(GetParam(), 40);
  for (Step& step : program.entries[0].steps) step.may_alias.clear();
  plan_memory(program, {});
  const std::map<int, Lifetime> lives = lifetimes(program, program.entries[0].steps);
  int moved = 0;
  for (const auto& [a, life] : lives)
    for (const auto& [b, other] : lives) {
      if (a == b || life.last < other.first || other.last < life.first) continue;
      Program broken = program;
      broken.buffers[static_cast<size_t>(a)].offset_bytes =
          broken.buffers[static_cast<size_t>(b)].offset_bytes;
      EXPECT_THROW(check_memory(broken), Error) << a << " onto " << b;
      ++moved;
    }
  EXPECT_GT(moved, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, ::testing::Range<uint64_t>(0, 24));

/// Reordering is worth something on some of them, or the tests above see nothing.
TEST(RandomPrograms, SomeOrdersChange) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    Program program = random_program(seed, 40);
    changed += order_steps(program, {});
  }
  EXPECT_GT(changed, 6);
}

/// One buffer of each of these sizes, all written.
Program filled_buffers(const std::vector<int64_t>& elements) {
  Program program;
  PlanEntry entry{.name = "g"};
  for (const int64_t count : elements) {
    const auto number = static_cast<int>(program.buffers.size());
    program.buffers.push_back({.name = "b" + std::to_string(number), .elements = count});
    Step step;
    step.writes = {number};
    step.what = FillStep{{number, 0}, count};
    entry.steps.push_back(std::move(step));
  }
  program.entries.push_back(std::move(entry));
  return program;
}

TEST(ProgramMemory, SizesBeyondAnyMachineAreErrorsByName) {
  const auto fault = [](std::vector<int64_t> elements, bool order) {
    Program program = filled_buffers(elements);
    try {
      order ? order_steps(program, {}) : plan_memory(program, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("planned");
  };
  for (const bool order : {true, false}) {
    EXPECT_EQ(fault({7, int64_t{1} << 50}, order), "planned");
    EXPECT_NE(fault({7, int64_t{1} << 62}, order)
                  .find("the buffer of 'b1' holds 4611686018427387904 elements of f32"),
              std::string::npos);
    EXPECT_NE(
        fault(std::vector<int64_t>(300, int64_t{1} << 53), order).find("the buffers up to that of 'b2' hold"),
        std::string::npos);
  }
}

}  // namespace
}  // namespace smelt
