// Support for tests of the pass rewrite_reductions: graphs with reductions over rows, their data, and checks
// that results are as exact after the pass as before.
#pragma once

#include <cmath>

#include "passes/analysis.h"
#include "passes/graph/simplify/simplify.h"
#include "tests/passes/support.h"

namespace smelt::testing::reductions {

/// A test graph. C is the width of a row. `body` is text that defines %y: f32[B,T,C] from the inputs %x, %t:
/// f32[B,T,C], %w, %b: f32[C] and %k: i32[B,T]. The loss is the sum of y * t.
struct Case {
  std::string name, body;
  int forward = 1, backward = 1;  // expected reduction_depth of each phase after the pass; -1: any
  bool offset = true;             // also tests rows with a large common offset
};
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// Returns the text of the module, with `width` in place of C and 1 / width in place of INVERSE.
inline std::string text_of(const Case& c, int width) {
  std::string text =
      "symbols B <= 64, T <= 64\n"
      "graph @g(%x: f32[B,T,C], %t: f32[B,T,C], %w: f32[C], %b: f32[C], %k: i32[B,T]) {\n" +
      c.body +
      "%loss_terms = mul %y, %t : f32[B,T,C]\n"
      "%loss = reduce add %loss_terms {axes = [0, 1, 2]} : f32[]\n"
      "return y = %y, loss = %loss\n}\n";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("INVERSE", fmt::format("{}", 1.0 / width) + (width == 1 ? ".0" : ""));
  replace(",C]", fmt::format(",{}]", width));
  replace("f32[C]", fmt::format("f32[{}]", width));
  return text;
}

/// Returns a module of primitive operations, before the pass, that computes y and the loss. If `gradients`,
/// it also computes the gradients of the loss with respect to x and, if `body` uses %w, to w.
inline std::unique_ptr<Module> primitives_of(const Case& c, int width, bool gradients = true) {
  auto module = parse_module(text_of(c, width), c.name);
  Graph& graph = *module->graphs[0];
  const bool affine = c.body.find("%w") != std::string::npos;
  if (gradients)
    differentiate(graph,
                  {"loss", affine ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"}, 1});
  decompose(graph, {});
  simplify(graph, {});
  return module;
}

/// Returns random inputs, rounded to f32. The elements of x are random numbers plus `offset`, and some
/// elements of w are zero or nearly zero.
inline Tensors data_of(const Graph& graph, int width, const EvaluateOptions& options, double offset,
                       uint64_t seed) {
  Tensors inputs = testing::random_inputs(graph, seed, options.symbols, width);
  for (double& x : inputs.at("x").data) x += offset;
  for (size_t i = 0; i < inputs.at("w").data.size(); i += 3) inputs.at("w").data[i] *= i % 2 ? 1e-12 : 0;
  for (auto& [name, tensor] : inputs)
    for (double& x : tensor.data) x = static_cast<float>(x);
  return inputs;
}

/// Returns options for these values of B and T. `single`: evaluates in f32.
inline EvaluateOptions sizes(int64_t batch, int64_t length, bool single = false) {
  EvaluateOptions options;
  options.symbols = {{"B", batch}, {"T", length}};
  options.single = single;
  return options;
}

/// Sums of squared relative errors over several draws of random data, by output.
using Errors = std::map<std::string, double>;

inline void add_errors(Errors& errors, const Tensors& actual, const Tensors& expected) {
  for (const auto& [name, tensor] : expected)
    errors[name] += std::pow(relative_error(actual.at(name), tensor), 2);
}

/// Expects that the root mean square of the errors of each output is at most 1e-6, or at most four times that
/// before the pass. Ignores the loss, because its terms cancel.
inline void expect_as_precise(const Errors& after, const Errors& before, int draws, const Graph& graph) {
  for (const auto& [name, error] : before) {
    if (name == "loss") continue;
    const double old_error = std::sqrt(error / draws), new_error = std::sqrt(after.at(name) / draws);
    EXPECT_LE(new_error, std::max(4 * old_error, 1e-6)) << name << "\n" << print(graph);
  }
}

/// Expects that the two graphs compute the same in f64, and that `after` is as precise as `before` in f32.
inline void expect_as_exact(const Graph& before, const Graph& after, llvm::ArrayRef<Tensors> draws,
                            EvaluateOptions options) {
  Errors old_errors, new_errors;
  EvaluateOptions single = options;
  single.single = true;
  for (const Tensors& inputs : draws) {
    const Tensors exact = evaluate(before, inputs, {}, options).outputs;
    EXPECT_LT(relative_error(evaluate(after, inputs, {}, options).outputs, exact), 1e-8) << print(after);
    add_errors(old_errors, evaluate(before, inputs, {}, single).outputs, exact);
    add_errors(new_errors, evaluate(after, inputs, {}, single).outputs, exact);
  }
  expect_as_precise(new_errors, old_errors, static_cast<int>(draws.size()), after);
}

inline std::vector<Tensors> draws_of(const Graph& graph, int width, const EvaluateOptions& options,
                                     double offset) {
  std::vector<Tensors> draws;
  for (uint64_t seed : {1, 2, 3, 4}) draws.push_back(data_of(graph, width, options, offset, seed));
  return draws;
}

/// Text that defines %d, the deviations of x from the means of its rows.
inline const std::string kMean = R"(
  %sum = reduce add %x {axes = [2]} : f32[B,T]
  %each = constant {value = INVERSE} : f32[B,T]
  %mean = mul %sum, %each : f32[B,T]
  %means = broadcast %mean {axes = [0, 1]} : f32[B,T,C]
  %d = sub %x, %means : f32[B,T,C]
)";

}  // namespace smelt::testing::reductions
