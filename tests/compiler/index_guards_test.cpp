// Gathers by numbers that nothing bounds: whole plans, on the CPU and with a GPU's kernels on the host.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

constexpr const char* kDoubled = R"(symbols B <= 70, V <= 9
graph @look_up(%t: f32[V,3], %x: i32[B]) {
  %i = add %x, %x
  %y = gather %t, %i "table" {axis = 0}
  return y = %y
}
)";

Plan guarded_on_cpu(const Module& module) {
  CompileOptions options;
  options.mode = Mode::infer;
  return compile(module.clone(), options).plan;
}

Plan guarded_on_host(const Module& module) {
  CompileOptions options;
  options.mode = Mode::infer, options.target = "sm_90";
  return test::plan_on_host(compile(module.clone(), options, Stage::program).program);
}

class IndexGuards : public ::testing::TestWithParam<Plan (*)(const Module&)> {
 protected:
  std::vector<double> look_up(std::vector<double> x) {
    Tensor table{DType::f32, {5, 3}, {}};
    for (int i = 0; i < 15; ++i) table.data.push_back(i);
    const auto count = static_cast<int64_t>(x.size());
    const Tensors outputs = testing::run_entry(session_, "look_up", {},
                                               {{"t", table}, {"x", {DType::i32, {count}, std::move(x)}}});
    std::vector<double> rows;
    for (size_t i = 0; i < outputs.at("y").data.size(); i += 3) rows.push_back(outputs.at("y").data[i] / 3);
    return rows;
  }

  std::string fault(std::vector<double> x) {
    try {
      look_up(std::move(x));
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }

  Session session_ = testing::cpu_session(GetParam()(*parse_module(kDoubled)));
};

TEST_P(IndexGuards, TheRunEndsWithAnErrorThatNamesNodeAndIndex) {
  EXPECT_EQ(look_up({0, 2, 1}), (std::vector<double>{0, 4, 2}));
  const auto message = [](const char* index) {
    return fmt::format(
        "@look_up gather \"table\": the index {} is out of bounds: expected 0 to 4; the nearest row "
        "was taken, so results are wrong",
        index);
  };
  EXPECT_EQ(fault({0, 50000000, 1}), message("100000000"));
  EXPECT_EQ(fault({0, 2, -1000000000}), message("-2000000000"));
  EXPECT_EQ(fault(std::vector<double>(70, 3)), message("6"));
  EXPECT_EQ(look_up({1}), std::vector<double>{2}) << "a fault is told once";
}

/// What a run of `op` on ones makes of its row 2 from updates of 2 by the doubled indices, or its error.
std::string spread(Session& session, std::vector<double> x) {
  const Tensor table{DType::f32, {5, 3}, std::vector<double>(15, 1)};
  const auto count = static_cast<int64_t>(x.size());
  const Tensor updates{DType::f32, {count, 3}, std::vector<double>(x.size() * 3, 2)};
  try {
    const Tensors outputs = testing::run_entry(
        session, "spread", {}, {{"t", table}, {"x", {DType::i32, {count}, std::move(x)}}, {"u", updates}});
    return fmt::format("{}", outputs.at("y").data[6]);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_P(IndexGuards, AScattersIndicesThatAreLeftOutAreReported) {
  for (const auto& [op, once, twice] : {std::tuple("scatter_add", "3", "5"), {"scatter", "2", "2"}}) {
    Session session = testing::cpu_session(GetParam()(*parse_module(fmt::format(R"(symbols B <= 9
graph @spread(%t: f32[5,3], %x: i32[B], %u: f32[B,3]) {{
  %i = add %x, %x
  %y = {} %t, %i, %u "rows" {{axis = 0}}
  return y = %y
}}
)",
                                                                                op))));
    EXPECT_EQ(spread(session, {0, 1, 1}), twice);
    for (const auto& [x, index] : {std::pair(3, 6), {-1, -2}})
      EXPECT_EQ(
          spread(session, {0, 1, static_cast<double>(x)}),
          fmt::format("@spread {} \"rows\": the index {} is out of bounds: expected 0 to 4; it was left "
                      "out, so results are wrong",
                      op, index));
    EXPECT_EQ(spread(session, {1}), once) << "a fault is told once";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, IndexGuards, ::testing::Values(&guarded_on_cpu, &guarded_on_host));

constexpr const char* kTwice = R"(symbols B <= 9
graph @look_up(%t: f32[5,3], %x: i32[B], %z: i32[B]) {
  %i = add %x, %x
  %y = gather %t, %i "first" {axis = 0}
  %k = mul %z, %z
  %w = gather %t, %k "second" {axis = 0}
  return y = %y, w = %w
}
)";

class TwoGuards : public ::testing::Test {
 protected:
  std::string fault(double x, double z) {
    Tensor table{DType::f32, {5, 3}, std::vector<double>(15, 1)};
    try {
      testing::run_entry(session_, "look_up", {},
                         {{"t", table}, {"x", {DType::i32, {1}, {x}}}, {"z", {DType::i32, {1}, {z}}}});
    } catch (const Error& error) {
      return error.what();
    } catch (int) {
      return "ended early";
    }
    return "none";
  }
  bool ends_early_ = false;
  Session session_{std::make_shared<const Plan>(guarded_on_cpu(*parse_module(kTwice))),
                   SessionOptions{.after_step = [this](const StepDone& done) {
                     if (ends_early_ && done.step + 1 == static_cast<int>(done.entry.steps.size())) throw 1;
                   }}};
};

TEST_F(TwoGuards, BothPlacesAreToldAndForgotten) {
  EXPECT_EQ(
      fault(9, 9),
      "@look_up gather \"first\": the index 18 is out of bounds: expected 0 to 4; the nearest row was taken; "
      "@look_up gather "
      "\"second\": the index 81 is out of bounds: expected 0 to 4; the nearest row was taken, so results "
      "are wrong");
  EXPECT_EQ(fault(1, 1), "none");
}

TEST_F(TwoGuards, ARunThatEndedEarlyLeavesNothing) {
  ends_early_ = true;
  EXPECT_EQ(fault(9, 9), "ended early");
  ends_early_ = false;
  EXPECT_EQ(fault(1, 1), "none");
}

TEST(IndexGuards, IndicesThatAreWrongForCertainDoNotCompile) {
  const auto module = parse_module(R"(graph @main(%x: f32[4]) {
  %i = constant {values = [100000000, 2]} : i32[2]
  %y = gather %x, %i "pick" {axis = 0}
  return y = %y
}
)");
  try {
    guarded_on_cpu(*module);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("gather \"pick\": the index 100000000 is out of bounds: expected 0 to 3"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace smelt
