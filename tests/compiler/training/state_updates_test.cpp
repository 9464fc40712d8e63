// A flat state whose segments are written anew from each other in random ways: who may be written in place,
// and in which order, against the evaluator.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>

#include "compiler/driver/compile.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

/// The text of a graph over a state of segments [4,6], some of them side by side.
class RandomUpdates {
 public:
  explicit RandomUpdates(uint64_t seed) : random_(seed) {}

  std::string text() {
    place_segments();
    std::string state = fmt::format("state \"s\" : f32[{}] {{\n", elements_);
    for (int i = 0; i < kSegments; ++i)
      state += fmt::format("  segment \"p{}\" : [4,6] at {}\n", i, offsets_[i]);
    line(fmt::format("%s = state \"s\" : f32[{}]", elements_));
    for (int i = 0; i < kSegments; ++i) {
      line(fmt::format("%h{0} = slice %s {{axis = 0, begin = {1}}} : f32[24]", i, offsets_[i]));
      line(fmt::format("%o{0} = reshape %h{0} : f32[4,6]", i));
    }
    for (int i = 0; i < kSegments;) i += side_by_side(i) && chance(3) ? add_two(i) : add_one(i);
    std::string parts, results;
    for (int i = 0; i < kSegments; ++i) parts += fmt::format("{}%n{}", i > 0 ? ", " : "", i);
    line(fmt::format("%packed = pack {} {{state = \"s\"}} : f32[{}]", parts, elements_));
    line("update %packed {state = \"s\"}");
    if (chance(4)) results = "all = %packed, ";
    for (int i = 0; i < kReaders; ++i) results += fmt::format("{}r{} = %r{}", i > 0 ? ", " : "", i, read(i));
    return fmt::format(
        "{}}}\ngraph @g(%x: f32[4,6], %a: f32[5,4], %b: f32[5,6], %a2: f32[5,8], %ids: i32[3], %u: f32[3,6]) "
        "{{\n{}"
        "  return {}\n}}\n",
        state, body_, results);
  }

 private:
  static constexpr int kSegments = 5, kReaders = 2;

  bool chance(unsigned one_of) { return random_() % one_of == 0; }
  int any() { return static_cast<int>(random_() % kSegments); }
  void line(const std::string& text) { body_ += "  " + text + "\n"; }
  bool side_by_side(int i) const { return i + 1 < kSegments && offsets_[i + 1] == offsets_[i] + 24; }

  void place_segments() {
    for (int i = 0; i < kSegments; ++i) {
      offsets_.push_back(elements_);
      elements_ += chance(2) ? 24 : 32;
    }
  }

  /// %n{i}, of the old and new values at hand.
  int add_one(int i) {
    const int other = any(), made = i > 0 ? static_cast<int>(random_() % static_cast<unsigned>(i)) : -1;
    switch (random_() % 10) {
      case 0:
        line(fmt::format("%n{0} = mul %o{0}, %x : f32[4,6]", i));
        break;
      case 1:
        line(fmt::format("%n{0} = sigmoid %o{1} : f32[4,6]", i, other));
        break;
      case 2:
        line(fmt::format("%n{0} = reshape %h{0} : f32[4,6]", i));
        break;
      case 3:
        line(fmt::format("%n{0} = reshape %h{1} : f32[4,6]", i, other));
        break;
      case 4:
        line(fmt::format("%n{0} = scatter_add %o{0}, %ids, %u {{axis = 0}} : f32[4,6]", i));
        break;
      case 5:
        if (made >= 0) {
          line(fmt::format("%n{0} = add %o{0}, %n{1} : f32[4,6]", i, made));
          break;
        }
        [[fallthrough]];
      case 6:
        if (made >= 0) {
          line(fmt::format("%n{0} = sub %n{1}, %o{2} : f32[4,6]", i, made, other));
          break;
        }
        [[fallthrough]];
      default:
        line(fmt::format("%m{0} = matmul %a, %b {{spec = \"ki,kj->ij\"}} : f32[4,6]", i));
        line(fmt::format("%n{0} = add %o{1}, %m{0} : f32[4,6]", i, chance(4) ? other : i));
    }
    return 1;
  }

  /// Two segments that are slices of one sum.
  int add_two(int i) {
    line(fmt::format("%d{0} = slice %s {{axis = 0, begin = {1}}} : f32[48]", i, offsets_[i]));
    line(fmt::format("%e{0} = reshape %d{0} : f32[8,6]", i));
    line(fmt::format("%m{0} = matmul %a2, %b {{spec = \"ki,kj->ij\"}} : f32[8,6]", i));
    line(fmt::format("%w{0} = add %e{0}, %m{0} : f32[8,6]", i));
    for (int part : {0, 1})
      line(fmt::format("%n{} = slice %w{} {{axis = 0, begin = {}}} : f32[4,6]", i + part, i, 4 * part));
    return 2;
  }

  /// An output of old values, some with new ones.
  int read(int i) {
    line(fmt::format("%t{} = exp %o{} : f32[4,6]", i, any()));
    line(fmt::format("%r{0} = add %t{0}, %{1}{2} : f32[4,6]", i, chance(2) ? 'n' : 'o', any()));
    return i;
  }

  std::mt19937_64 random_;
  std::vector<int64_t> offsets_;
  int64_t elements_ = 0;
  std::string body_;
};

Plan plan_on_host(const Module& module) {
  CompileOptions options;
  options.mode = Mode::infer, options.target = "sm_90";
  return test::plan_on_host(compile(module.clone(), options, Stage::program).program);
}

Plan plan_on_cpu(const Module& module) {
  CompileOptions options;
  options.mode = Mode::infer;
  return compile(module.clone(), options).plan;
}

class StateUpdates : public ::testing::TestWithParam<uint64_t> {
 protected:
  static void expect_as_evaluated(Plan (*plan)(const Module&), uint64_t seed) {
    const auto module = parse_module(RandomUpdates(seed).text());
    const Graph& graph = *module->graphs.front();
    Tensors inputs = testing::random_inputs(graph, seed, {}),
            states = testing::random_states(graph, seed, {});
    testing::round_to_type(inputs), testing::round_to_type(states);
    clear_gaps(*module->find_state("s"), states.at("s"));
    const Evaluation expected = evaluate(graph, inputs, states, {});
    Session session = testing::cpu_session(plan(*module));
    testing::write_states(session, states);
    const Tensors outputs = testing::run_entry(session, "g", {}, inputs);
    for (const auto& [name, reference] : expected.outputs)
      EXPECT_LE(testing::relative_error(outputs.at(name), reference), 1e-6) << name << "\n" << print(*module);
    const Tensor state = to_tensor(session, states.at("s"));
    EXPECT_LE(testing::relative_error(state, expected.states.at("s")), 1e-6) << print(*module);
  }

  /// Padding holds zeros, before as after.
  static void clear_gaps(const State& state, Tensor& values) {
    std::vector<double> padded(values.data.size());
    for (const Segment& segment : state.segments)
      std::copy_n(values.data.begin() + segment.offset, segment.elements(), padded.begin() + segment.offset);
    values.data = padded;
  }

  static Tensor to_tensor(const Session& session, Tensor like) {
    const std::span<const std::byte> bytes = session.state("s");
    for (size_t i = 0; i < like.data.size(); ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      like.data[i] = value;
    }
    return like;
  }
};

TEST_P(StateUpdates, OnTheCpu) {
  for (uint64_t i = 0; i < 20; ++i) expect_as_evaluated(plan_on_cpu, 20 * GetParam() + i);
}

TEST_P(StateUpdates, OfAGpu) { expect_as_evaluated(plan_on_host, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Seeds, StateUpdates, ::testing::Range<uint64_t>(0, 20));

}  // namespace
}  // namespace smelt
