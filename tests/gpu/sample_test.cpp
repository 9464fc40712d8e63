// sample on the GPU draws the CPU's tokens; and how long it takes, as top_k does. Skipped where there is no
// GPU.
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "runtime/cpu/library_steps.h"
#include "tests/gpu/small_model.h"
#include "tests/support/random_sample.h"

namespace smelt {
namespace {

using GpuSample = GpuTest;

Session session_of(const std::string& graph) {
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda";
  return Session(std::make_shared<const Plan>(compile(parse_module(graph), options).plan), {.poison = true});
}

Session sample_session(int64_t rows, int64_t count) {
  return session_of(
      fmt::format("graph @g(%x: f32[{0},{1}], %n: f32[{0},3], %i: i32[{0},4]) {{\n"
                  "  %t, %l = sample %x, %n, %i\n  return t = %t, l = %l\n}}\n",
                  rows, count));
}

TEST_F(GpuSample, TokensAreTheCpus) {
  uint32_t seed = 0;
  for (const auto& [rows, count] : {std::pair(500, 1), std::pair(500, 33), std::pair(500, 777),
                                    std::pair(500, 5003), std::pair(500, 8191), std::pair(500, 8192),
                                    std::pair(300, 20001), std::pair(200, 128256), std::pair(20, 262144)}) {
    const test::RandomSample c(rows, count, ++seed);
    Session session = sample_session(rows, count);
    std::vector<int32_t> tokens(static_cast<size_t>(rows));
    std::vector<float> logs(tokens.size());
    sample(c.sizes, c.scores.data(), c.numbers.data(), c.integers.data(), tokens.data(), logs.data());
    const InputTensor inputs[] = {{"x", DType::f32, {rows, count}, c.scores.data()},
                                  {"n", DType::f32, {rows, 3}, c.numbers.data()},
                                  {"i", DType::i32, {rows, 4}, c.integers.data()}};
    for (int time = 0; time < 3; ++time) {  // the first is not a graph
      const auto found = session.run("g", inputs);
      for (size_t row = 0; row < tokens.size(); ++row) {
        EXPECT_EQ(found[0].as<int32_t>()[row], tokens[row]) << "row " << row << " of " << count << " words";
        const float log = found[1].as<float>()[row];
        const bool both_none = std::isnan(log) && std::isnan(logs[row]);
        EXPECT_TRUE(both_none || log == logs[row] || std::abs(log - logs[row]) <= 1e-6F * (1 + std::abs(log)))
            << log;
      }
    }
  }
}

// ---- times

/// Milliseconds of a run, inputs and outputs moved and waited for.
double milliseconds_of(Session& session, std::span<const InputTensor> inputs) {
  for (int warm = 0; warm < 5; ++warm) session.run("g", inputs);
  double best = 1e9;
  for (int time = 0; time < 30; ++time) {
    const auto begin = std::chrono::steady_clock::now();
    session.run("g", inputs);
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Microseconds of one of many equal steps, by the difference to a tenth of them: what is around the steps is
/// the same, and one sum of their results %r0, %r1, ... leaves the device. `step` writes its number's lines.
template <typename Text>
double microseconds_of(const std::string& parameters, std::span<const InputTensor> inputs, const Text& step) {
  const auto graph = [&](int steps) {
    std::string text = fmt::format("graph @g({}) {{\n", parameters), sum = "%r0";
    for (int i = 0; i < steps; ++i) text += step(i);
    for (int i = 1; i < steps; ++i) {
      text += fmt::format("  %sum{} = add {}, %r{}\n", i, sum, i);
      sum = fmt::format("%sum{}", i);
    }
    return fmt::format("{}  return {}\n}}\n", text, sum);
  };
  Session many = session_of(graph(50)), few = session_of(graph(5));
  return (milliseconds_of(many, inputs) - milliseconds_of(few, inputs)) * 1000 / 45;
}

/// Of one step, among such as have inputs of their own: equal ones would be one.
TEST_F(GpuSample, Microseconds) {
  constexpr int64_t kWords = 128256;
  const struct {
    const char* name;
    std::vector<float> numbers;
    int32_t top_k;
  } settings[] = {{"greedy", {0, 1, 0}, 0},
                  {"top-k 50", {1, 1, 0}, 50},
                  {"top-k 50, top-p 0.9", {1, 0.9F, 0}, 50},
                  {"top-p 0.9", {1, 0.9F, 0}, 0}};
  for (const int64_t rows : {1, 8, 32})
    for (const auto& s : settings) {
      std::mt19937 random(5);
      std::normal_distribution<float> normal(0, 2.5F);
      std::vector<float> x(static_cast<size_t>(rows * kWords)), n;
      for (float& score : x) score = normal(random);
      std::vector<int32_t> integers;
      for (int64_t row = 0; row < rows; ++row) {
        n.insert(n.end(), s.numbers.begin(), s.numbers.end());
        integers.insert(integers.end(), {s.top_k, 1, 2, static_cast<int32_t>(row)});
      }
      const InputTensor inputs[] = {{"x", DType::f32, {rows, kWords}, x.data()},
                                    {"n", DType::f32, {rows, 3}, n.data()},
                                    {"i", DType::i32, {rows, 4}, integers.data()}};
      const double time =
          microseconds_of(fmt::format("%x: f32[{0},{1}], %n: f32[{0},3], %i: i32[{0},4]", rows, kWords),
                          inputs, [&](int step) {
                            return fmt::format(
                                "  %c{0} = constant {{value = {0}}} : i32[{1},4]\n  %i{0} = add %i, %c{0}\n"
                                "  %r{0}, %l{0} = sample %x, %n, %i{0}\n",
                                step, rows);
                          });
      fmt::print("sample {} x {}, {}: {:.1f} microseconds\n", rows, kWords, s.name, time);
    }
}

/// Each reads what a copy of the scores would be: parts of one long input, so that no two steps are equal.
TEST_F(GpuSample, MicrosecondsOfTopK) {
  constexpr int64_t kColumns = 128000, kLater = 64;
  for (const int64_t k : {8, 32})
    for (const int64_t rows : {1, 8, 16, 32, 128}) {
      std::mt19937 random(5);
      std::normal_distribution<float> normal(0, 2.5F);
      const int64_t width = kColumns + 50 * kLater;
      std::vector<float> x(static_cast<size_t>(rows * width));
      for (float& score : x) score = normal(random);
      const InputTensor inputs[] = {{"x", DType::f32, {rows, width}, x.data()}};
      const double time = microseconds_of(fmt::format("%x: f32[{},{}]", rows, width), inputs, [&](int step) {
        return fmt::format(
            "  %s{0} = slice %x {{axis = 1, begin = {1}}} : f32[{2},{3}]\n  %v{0}, %r{0} = top_k %s{0} "
            "{{k = {4}}}\n",
            step, step * kLater, rows, kColumns, k);
      });
      fmt::print("top_k {} of {} x {}: {:.1f} microseconds\n", k, rows, kColumns, time);
    }
}

}  // namespace
}  // namespace smelt
