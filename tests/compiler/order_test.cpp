// scan, top_k and sample through whole plans, against the evaluator: lines along any axis, of any length,
// that lie dense or not.
#include <gtest/gtest.h>

#include "passes/pass_manager.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

void expect_order(const std::string& text, const SymbolValues& symbols, CompileOptions options = {}) {
  SCOPED_TRACE(text);
  testing::expect_cpu_matches(*parse_module(text), {.symbols = symbols}, options);
}

std::string scan_text(const std::string& type, int64_t axis, const std::string& kind, bool exclusive) {
  return fmt::format(
      "symbols B <= 5, T <= 40\ngraph @g(%x: {0}[B,T,7]) {{\n  %y = neg %x\n"
      "  %s = scan %y {{axis = {1}, kind = \"{2}\", exclusive = {3}}}\n  return s = %s\n}}\n",
      type, axis, kind, exclusive);
}

TEST(Order, AScanAlongAnyAxis) {
  for (const char* type : {"f32", "i32"})
    for (const char* kind : {"add", "max", "mul"})
      for (int64_t axis = 0; axis < 3; ++axis)
        for (const bool exclusive : {false, true}) {
          if (exclusive && std::string(kind) == "max" && std::string(type) == "f32")
            continue;  // begins with -inf
          expect_order(scan_text(type, axis, kind, exclusive), {{"B", 3}, {"T", 31}});
        }
  expect_order(scan_text("f32", 2, "add", false), {{"B", 1}, {"T", 1}});
}

/// The values of a row are told apart by small numbers that equal none of the others.
TEST(Order, TheLargestOfRows) {
  for (const int k : {1, 3, 7})
    for (const auto& [b, t] : {std::pair(1, 1), std::pair(3, 33), std::pair(5, 40)})
      expect_order(fmt::format("symbols B <= 5, T <= 40\ngraph @g(%x: f32[B,T,7]) {{\n  %y = exp %x\n"
                               "  %v, %i = top_k %y {{k = {}}}\n  return v = %v, i = %i\n}}\n",
                               k),
                   {{"B", b}, {"T", t}});
}

TEST(Order, OfMatmulsInNarrowTypesIsFoundInF32) {
  CompileOptions options;
  options.mode = Mode::infer, options.storage = DType::bf16;
  const auto plan = testing::compiled(*parse_module(R"(symbols B <= 5
graph @g(%x: f32[B,6], %w: f32[33,6]) {
  %y = matmul %x, %w {spec = "bc,oc->bo"}
  %v, %i = top_k %y {k = 4}
  %s = scan %v {axis = 1, kind = "add"}
  return v = %v, i = %i, s = %s
}
)"),
                                      options);
  int steps = 0;
  for (const Step& step : plan.entries.front().steps)
    if (const auto* top = std::get_if<TopKStep>(&step.what)) {
      EXPECT_EQ(plan.buffers[static_cast<size_t>(top->x.buffer)].dtype, DType::f32);
      ++steps;
    }
  EXPECT_EQ(steps, 1);
}

/// A view that no stride expresses, a transposed one, and results that are other states' content.
TEST(Order, OfViews) {
  expect_order(R"(graph @g(%x: f32[6,5,4]) {
  %t = transpose %x {permutation = [2, 0, 1]}
  %a = scan %t {axis = 1, kind = "add"}
  %v, %i = top_k %t {k = 2}
  %h = slice %x {axis = 2, begin = 1} : f32[6,5,2]
  %b = scan %h {axis = 1, kind = "max"}
  %w, %j = top_k %h {k = 1}
  return a = %a, v = %v, i = %i, b = %b, w = %w, j = %j
}
)",
               {});
}

/// Rows without enough elements, or without any.
TEST(Order, OfShortRows) {
  const auto module = parse_module(R"(graph @g(%x: f32[3,2], %z: f32[2,0]) {
  %v, %i = top_k %x {k = 4}
  %w, %j = top_k %z {k = 1}
  %s = scan %z {axis = 1, kind = "add"}
  %t = scan %z {axis = 0, kind = "add"}
  return v = %v, i = %i, w = %w, j = %j, s = %s, t = %t
}
)");
  const Tensors inputs = {{"x", {DType::f32, {3, 2}, {1, 2, 2, 1, 3, 3}}}, {"z", {DType::f32, {2, 0}, {}}}};
  const Tensors expected = evaluate(*module->graphs.front(), inputs, {}, {}).outputs;
  EXPECT_EQ(expected.at("i").data, (std::vector<double>{1, 0, -1, -1, 0, 1, -1, -1, 0, 1, -1, -1}));
  EXPECT_EQ(expected.at("j").data, (std::vector<double>{-1, -1}));
  const Tensors found = testing::run_on_cpu(*module, {}, inputs, {});
  for (const auto& [name, reference] : expected) EXPECT_EQ(found.at(name).data, reference.data) << name;
}

constexpr std::string_view kSample = R"(symbols B <= 5
graph @g(%x: f32[B,33], %n: f32[B,3], %i: i32[B,4]) {
  %y = neg %x
  %m = mul %n, %n
  %t, %l = sample %y, %m, %i
  return t = %t, l = %l
}
)";

/// From results of kernels, whose rows lie some distance apart.
TEST(Order, ATokenOfEachRow) {
  const auto module = parse_module(std::string(kSample));
  for (const int64_t rows : {1, 3, 5}) {
    Tensors inputs = {{"x", {DType::f32, {rows, 33}, {}}},
                      {"n", {DType::f32, {rows, 3}, {}}},
                      {"i", {DType::i32, {rows, 4}, {}}}};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t j = 0; j < 33; ++j)
        inputs["x"].data.push_back(static_cast<double>((row + 3) * j * j % 41) / 8);
      for (const double number : {1.0 - 0.25 * static_cast<double>(row), 0.75, 0.25})
        inputs["n"].data.push_back(number);
      for (const int64_t number : {int64_t{20}, int64_t{7}, row, int64_t{1}})
        inputs["i"].data.push_back(static_cast<double>(number));
    }
    const Tensors expected =
        evaluate(*module->graphs.front(), inputs, {}, {.symbols = {{"B", rows}}, .philox = {}}).outputs;
    const Tensors found = testing::run_on_cpu(*module, {.symbols = {{"B", rows}}}, inputs, {});
    EXPECT_EQ(found.at("t").data, expected.at("t").data);
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
      EXPECT_NEAR(found.at("l").data[row], expected.at("l").data[row], 1e-6);
  }
}

TEST(Order, PlansOfSampleThatSayOtherwiseAreRefused) {
  CompileOptions inference;
  inference.mode = Mode::infer;
  const Plan plan = testing::compiled(*parse_module(std::string(kSample)), inference);
  validate(plan);
  const auto refused = [&](auto edit) {
    Plan edited = plan;
    for (Step& step : edited.entries.front().steps)
      if (auto* sample = std::get_if<SampleStep>(&step.what)) edit(*sample);
    try {
      validate(edited);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto expect = [&](auto edit, std::string_view message) {
    const std::string found = refused(edit);
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  expect([](SampleStep& s) { s.count = 1 << 24; }, "count is 16777216: expected 0 to 8388608");
  expect([](SampleStep& s) { s.count = 50; }, "scores reaches element");
  expect([](SampleStep& s) { s.numbers_stride = 9; }, "numbers reaches element");
  expect([](SampleStep& s) { s.integers = s.scores; }, "integers is not i32");
  expect([](SampleStep& s) { s.tokens = s.log_probabilities; }, "tokens is not i32");
  expect([](SampleStep& s) { s.log_probabilities = s.tokens; }, "log_probabilities is not f32");
}

TEST(Order, PlansThatSayOtherwiseAreRefused) {
  CompileOptions inference;
  inference.mode = Mode::infer;
  const Plan plan = testing::compiled(*parse_module(R"(graph @g(%x: f32[3,5]) {
  %v, %i = top_k %x {k = 2}
  %s = scan %v {axis = 0, kind = "mul"}
  return i = %i, s = %s
}
)"),
                                      inference);
  validate(plan);
  const auto refused = [&](auto edit) {
    Plan edited = plan;
    for (Step& step : edited.entries.front().steps) {
      if (auto* scan = std::get_if<ScanStep>(&step.what)) edit(*scan);
      if (auto* top = std::get_if<TopKStep>(&step.what)) edit(*top);
    }
    try {
      validate(edited);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto expect = [](const std::string& found, std::string_view message) {
    EXPECT_NE(found.find(message), std::string::npos) << found;
  };
  expect(refused(Overloaded{[](ScanStep& scan) { scan.kind = "min"; }, [](TopKStep&) {}}),
         "combine is 'min': expected add, max or mul");
  expect(refused(Overloaded{[](ScanStep& scan) { scan.count = 4; }, [](TopKStep&) {}}),
         "x reaches element 7");
  expect(refused(Overloaded{[](ScanStep& scan) { scan.y_stride = 0; }, [](TopKStep&) {}}), "to one place");
  expect(refused(Overloaded{[](ScanStep&) {}, [](TopKStep& top) { top.k = 1025; }}),
         "k is 1025: expected 1 to 1024");
  expect(refused(Overloaded{[](ScanStep&) {}, [](TopKStep& top) { top.count = 6; }}), "x reaches element");
  expect(refused(Overloaded{[](ScanStep&) {}, [](TopKStep& top) { top.indices = top.values; }}),
         "is not i32");
}

TEST(Order, AnInsertHasNoDerivative) {
  auto module = parse_module(
      "graph @g(%x: f32[3], %i: i32[]) { %y = insert %x, %x, %i {axis = 0} %z = reduce add %y {axes = [0]} "
      "return z = %z }");
  try {
    PassManager().add("make_backward").run(*module);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is not known; put a stop_gradient"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace smelt
