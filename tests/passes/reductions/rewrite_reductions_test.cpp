// rewrite_reductions: the same values, no more rounding error, and reductions that do not wait for each
// other.
#include "passes/reductions/rewrite_reductions.h"

#include <cmath>

#include "passes/analysis.h"
#include "passes/simplify/simplify.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::relative_error;

/// Text over x, t: f32[B,T,C], w, b: f32[C], k: i32[B,T] that defines %y: f32[B,T,C]; the loss is sum y t.
struct Case {
  std::string name, body;
  int forward = 1, backward = 1;  // depths after the pass; -1: any
  bool offset = true;             // judge rows with a common offset too
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string text_of(const Case& c, int width) {
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

std::unique_ptr<Module> primitives_of(const Case& c, int width, bool gradients = true) {
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

/// Rows of deviation 1 around `offset`; some weights are (nearly) zero; all numbers are float32's.
Tensors data_of(const Graph& graph, int width, const EvaluateOptions& options, double offset, uint64_t seed) {
  Tensors inputs = testing::random_inputs(graph, seed, options.symbols, width);
  for (double& x : inputs.at("x").data) x += offset;
  for (size_t i = 0; i < inputs.at("w").data.size(); i += 3) inputs.at("w").data[i] *= i % 2 ? 1e-12 : 0;
  for (auto& [name, tensor] : inputs)
    for (double& x : tensor.data) x = static_cast<float>(x);
  return inputs;
}

EvaluateOptions sizes(int64_t batch, int64_t length, bool single = false) {
  EvaluateOptions options;
  options.symbols = {{"B", batch}, {"T", length}};
  options.single = single;
  return options;
}

/// Root mean squares of relative errors over several draws of data, by output.
using Errors = std::map<std::string, double>;

void add_errors(Errors& errors, const Tensors& actual, const Tensors& expected) {
  for (const auto& [name, tensor] : expected)
    errors[name] += std::pow(relative_error(actual.at(name), tensor), 2);
}

/// The loss is left out: its terms cancel, so that its error says little.
void expect_as_precise(const Errors& after, const Errors& before, int draws, const Graph& graph) {
  for (const auto& [name, error] : before) {
    if (name == "loss") continue;
    const double old_error = std::sqrt(error / draws), new_error = std::sqrt(after.at(name) / draws);
    EXPECT_LE(new_error, std::max(4 * old_error, 1e-6)) << name << "\n" << print(graph);
  }
}

void expect_as_exact(const Graph& before, const Graph& after, llvm::ArrayRef<Tensors> draws,
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

std::vector<Tensors> draws_of(const Graph& graph, int width, const EvaluateOptions& options, double offset) {
  std::vector<Tensors> draws;
  for (uint64_t seed : {1, 2, 3, 4}) draws.push_back(data_of(graph, width, options, offset, seed));
  return draws;
}

class RewriteReductions : public ::testing::TestWithParam<Case> {};

TEST_P(RewriteReductions, KeepsValuesAndDigits) {
  for (int width : {1, 3, 31, 33, 197, 777}) {
    const auto before = primitives_of(GetParam(), width);
    const auto after = before->clone();
    Graph& graph = *after->graphs[0];
    rewrite_reductions(graph, {});
    testing::expect_valid(graph);
    for (double offset : {0.0, 1000.0, -1000.0}) {
      if (offset != 0 && !GetParam().offset) continue;
      SCOPED_TRACE(fmt::format("{} columns, offset {}", width, offset));
      const EvaluateOptions options = sizes(width > 100 ? 2 : 5, 3);
      expect_as_exact(*before->graphs[0], graph, draws_of(graph, width, options, offset), options);
    }
  }
}

TEST_P(RewriteReductions, NeedsOneSweep) {
  const auto module = primitives_of(GetParam(), 33);
  Graph& graph = *module->graphs[0];
  rewrite_reductions(graph, {});
  if (GetParam().forward >= 0) {
    EXPECT_EQ(reduction_depth(graph), GetParam().forward) << print(graph);
  }
  if (GetParam().backward >= 0) {
    EXPECT_EQ(reduction_depth(graph, Phase::backward), GetParam().backward) << print(graph);
  }
}

TEST_P(RewriteReductions, IsDoneAfterOneRun) {
  const auto module = primitives_of(GetParam(), 33);
  Graph& graph = *module->graphs[0];
  rewrite_reductions(graph, {});
  const std::string text = print(graph);
  EXPECT_FALSE(rewrite_reductions(graph, {})) << "before:\n" << text << "after:\n" << print(graph);
  EXPECT_EQ(print(graph), text);
}

TEST_P(RewriteReductions, ForwardAlone) {
  const auto before = primitives_of(GetParam(), 31, false);
  const auto after = before->clone();
  rewrite_reductions(*after->graphs[0], {});
  const EvaluateOptions options = sizes(3, 7);
  expect_as_exact(*before->graphs[0], *after->graphs[0], data_of(*after->graphs[0], 31, options, 0, 9),
                  options);
}

const std::string kMean = R"(
  %sum = reduce add %x {axes = [2]} : f32[B,T]
  %each = constant {value = INVERSE} : f32[B,T]
  %mean = mul %sum, %each : f32[B,T]
  %means = broadcast %mean {axes = [0, 1]} : f32[B,T,C]
  %d = sub %x, %means : f32[B,T,C]
)";

const std::string kSoftmax = R"(
  %m = reduce max %x {axes = [2]} : f32[B,T]
  %ms = broadcast %m {axes = [0, 1]} : f32[B,T,C]
  %d = sub %x, %ms : f32[B,T,C]
  %e = exp %d : f32[B,T,C]
  %s = reduce add %e {axes = [2]} : f32[B,T]
  %ss = broadcast %s {axes = [0, 1]} : f32[B,T,C]
)";

const Case kCases[] = {
    {"layer_norm", "%y = layer_norm %x, %w, %b {eps = 1e-05} : f32[B,T,C]\n"},
    {"rms_norm", "%y = rms_norm %x, %w {eps = 1e-05} : f32[B,T,C]\n"},
    {"softmax", "%y = softmax %x : f32[B,T,C]\n"},
    {"log_softmax", "%y = log_softmax %x : f32[B,T,C]\n"},
    {"layer_norm_of_a_sum", R"(
  %r = add %x, %t : f32[B,T,C]
  %y = layer_norm %r, %w, %b {eps = 1e-05} : f32[B,T,C]
)"},
    {"layer_norm_twice", R"(
  %z = layer_norm %x, %w, %b {eps = 1e-05} : f32[B,T,C]
  %r = add %z, %t : f32[B,T,C]
  %y = layer_norm %r, %w, %b {eps = 1e-05} : f32[B,T,C]
)",
     -1, -1},
    {"criterion", R"(
  %loss_of = cross_entropy %x, %k {label_smoothing = 0.1, ignore_index = 1} : f32[B,T]
  %y = broadcast %loss_of {axes = [0, 1]} : f32[B,T,C]
)",
     1, 1},
    {"mean_absolute_norm", R"(
  %a = abs %x : f32[B,T,C]
  %sum = reduce add %a {axes = [2]} : f32[B,T]
  %each = constant {value = INVERSE} : f32[B,T]
  %mean = mul %sum, %each : f32[B,T]
  %means = broadcast %mean {axes = [0, 1]} : f32[B,T,C]
  %z = div %x, %means : f32[B,T,C]
  %ws = broadcast %w {axes = [2]} : f32[B,T,C]
  %y = mul %z, %ws : f32[B,T,C]
)"},
    {"rational_norm", R"(
  %q = mul %x, %x : f32[B,T,C]
  %sum = reduce add %q {axes = [2]} : f32[B,T]
  %each = constant {value = INVERSE} : f32[B,T]
  %mean = mul %sum, %each : f32[B,T]
  %one = constant {value = 1.0} : f32[B,T]
  %below = add %one, %mean : f32[B,T]
  %belows = broadcast %below {axes = [0, 1]} : f32[B,T,C]
  %y = div %x, %belows : f32[B,T,C]
)"},
    {"home_made_softmax", kSoftmax + "%y = div %e, %ss : f32[B,T,C]\n", 1, -1},
    {"home_made_log_softmax", kSoftmax + R"(
  %l = log %ss : f32[B,T,C]
  %y = sub %d, %l : f32[B,T,C]
)",
     1, -1},
    {"mean_of_log_softmax", kSoftmax + R"(
  %l = log %ss : f32[B,T,C]
  %z = sub %d, %l : f32[B,T,C]
  %sum = reduce add %z {axes = [2]} : f32[B,T]
  %y = broadcast %sum {axes = [0, 1]} : f32[B,T,C]
)",
     1, -1},
    {"picked_log_softmax", kSoftmax + R"(
  %l = log %ss : f32[B,T,C]
  %z = sub %d, %l : f32[B,T,C]
  %place = iota {axis = 2} : i32[B,T,C]
  %ks = broadcast %k {axes = [0, 1]} : i32[B,T,C]
  %hit = eq %place, %ks : bool[B,T,C]
  %zero = constant {value = 0.0} : f32[B,T,C]
  %picked = select %hit, %z, %zero : f32[B,T,C]
  %sum = reduce add %picked {axes = [2]} : f32[B,T]
  %y = broadcast %sum {axes = [0, 1]} : f32[B,T,C]
)",
     1, -1},
    {"variance_with_another_divisor", kMean + R"(
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %third = constant {value = 0.3} : f32[B,T]
  %v = mul %sum2, %third : f32[B,T]
  %vs = broadcast %v {axes = [0, 1]} : f32[B,T,C]
  %y = mul %d, %vs : f32[B,T,C]
)"},
    {"squares_about_half_the_mean", R"(
  %sum = reduce add %x {axes = [2]} : f32[B,T]
  %half = constant {value = 0.05} : f32[B,T]
  %mean = mul %sum, %half : f32[B,T]
  %means = broadcast %mean {axes = [0, 1]} : f32[B,T,C]
  %d = sub %x, %means : f32[B,T,C]
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)"},
    {"squares_about_the_maximum", R"(
  %m = reduce max %x {axes = [2]} : f32[B,T]
  %ms = broadcast %m {axes = [0, 1]} : f32[B,T,C]
  %d = sub %x, %ms : f32[B,T,C]
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)",
     1, -1},
    {"weighted_squares", kMean + R"(
  %ws = broadcast %w {axes = [2]} : f32[B,T,C]
  %q = mul %d, %d : f32[B,T,C]
  %wq = mul %q, %ws : f32[B,T,C]
  %sum2 = reduce add %wq {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)",
     2, -1},
    {"weighted_deviations", kMean + R"(
  %ws = broadcast %w {axes = [2]} : f32[B,T,C]
  %q = mul %ws, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)"},
    {"sum_of_deviations", kMean + R"(
  %sum2 = reduce add %d {axes = [2]} : f32[B,T]
  %sums = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
  %y = add %sums, %d : f32[B,T,C]
)",
     1, 1, false},
    {"mean_absolute_deviation", kMean + R"(
  %a = abs %d : f32[B,T,C]
  %sum2 = reduce add %a {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)",
     2, -1},
    {"norm_along_a_symbol", R"(
  %sum = reduce add %x {axes = [1]} : f32[B,C]
  %ones = constant {value = 1.0} : f32[T]
  %n = reduce add %ones {axes = [0]} : f32[]
  %ns = broadcast %n {axes = []} : f32[B,C]
  %mean = div %sum, %ns : f32[B,C]
  %means = broadcast %mean {axes = [0, 2]} : f32[B,T,C]
  %d = sub %x, %means : f32[B,T,C]
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [1]} : f32[B,C]
  %v = div %sum2, %ns : f32[B,C]
  %eps = constant {value = 0.001} : f32[B,C]
  %ve = add %v, %eps : f32[B,C]
  %r = rsqrt %ve : f32[B,C]
  %rs = broadcast %r {axes = [0, 2]} : f32[B,T,C]
  %y = mul %d, %rs : f32[B,T,C]
)"},
    {"norm_over_two_axes", R"(
  %sum = reduce add %x {axes = [1, 2]} : f32[B]
  %ones = constant {value = 1.0} : f32[T,C]
  %n = reduce add %ones {axes = [0, 1]} : f32[]
  %ns = broadcast %n {axes = []} : f32[B]
  %mean = div %sum, %ns : f32[B]
  %means = broadcast %mean {axes = [0]} : f32[B,T,C]
  %d = sub %x, %means : f32[B,T,C]
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [1, 2]} : f32[B]
  %v = div %sum2, %ns : f32[B]
  %vs = broadcast %v {axes = [0]} : f32[B,T,C]
  %y = mul %d, %vs : f32[B,T,C]
)"},
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Cases, RewriteReductions, ::testing::ValuesIn(kCases), name_of);

std::vector<ReductionRule> rules_of(const std::string& name) {
  const auto it =
      std::find_if(std::begin(kCases), std::end(kCases), [&](const Case& c) { return c.name == name; });
  const auto module = primitives_of(*it, 33);
  std::vector<ReductionRewrite> log;
  rewrite_reductions(*module->graphs[0], {.log = &log});
  std::vector<ReductionRule> rules;
  for (const ReductionRewrite& rewrite : log) rules.push_back(rewrite.rule);
  return rules;
}

TEST(RewriteReductionsLog, SaysWhatWasRewritten) {
  using enum ReductionRule;
  EXPECT_EQ(rules_of("layer_norm"), (std::vector{shift, centred_squares, linear}));
  EXPECT_EQ(rules_of("softmax"), (std::vector{max_sumexp, log_sum_exp}));
  const auto vanished = rules_of("sum_of_deviations");
  EXPECT_NE(std::find(vanished.begin(), vanished.end(), zero_sum), vanished.end());
}

TEST(RewriteReductionsDetail, CollectsTermsWithOneFactor) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %h: f32[B,33], %r: f32[B], %s: f32[B]) {
  %rs = broadcast %r {axes = [0]} : f32[B,33]
  %ss = broadcast %s {axes = [0]} : f32[B,33]
  %a = mul %rs, %x : f32[B,33]
  %b = mul %x, %ss : f32[B,33]
  %c = mul %h, %ss : f32[B,33]
  %d = add %a, %c : f32[B,33]
  %y = sub %d, %b : f32[B,33]
  %m = reduce max %y {axes = [1]} : f32[B]
  return y = %y, m = %m
})");
  const auto before = module->clone();
  Graph& graph = *module->graphs[0];
  std::vector<ReductionRewrite> log;
  ASSERT_TRUE(rewrite_reductions(graph, {.log = &log}));
  EXPECT_EQ(log.at(0).rule, ReductionRule::collect);
  const auto full_products = llvm::count_if(
      graph.nodes(), [](const auto& n) { return n->is(ScalarOp::mul) && n->result()->rank() == 2; });
  EXPECT_EQ(full_products, 2) << print(graph);
  const EvaluateOptions options = sizes(5, 1);
  const Tensors inputs = testing::random_inputs(graph, 3, options.symbols);
  EXPECT_LT(relative_error(evaluate(graph, inputs, {}, options).outputs,
                           evaluate(*before->graphs[0], inputs, {}, options).outputs),
            1e-12);
}

TEST(RewriteReductionsDetail, LeavesIndependentSumsAlone) {
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %h: f32[B,33]) {
  %z = add %x, %h : f32[B,33]
  %d = sub %z, %h : f32[B,33]
  %q = mul %d, %z : f32[B,33]
  %s = reduce add %q {axes = [1]} : f32[B]
  return s = %s
})");
  const std::string text = print(*module);
  EXPECT_FALSE(rewrite_reductions(*module->graphs[0], {}));
  EXPECT_EQ(print(*module), text);
}

TEST(RewriteReductionsDetail, SquaresBesideARowValueStayTogether) {
  const Case beside{"beside", kMean + R"(
  %q = mul %d, %d : f32[B,T,C]
  %r = add %q, %means : f32[B,T,C]
  %sum2 = reduce add %r {axes = [2]} : f32[B,T]
  %y = broadcast %sum2 {axes = [0, 1]} : f32[B,T,C]
)"};
  const auto before = primitives_of(beside, 33);
  const auto after = before->clone();
  ASSERT_TRUE(rewrite_reductions(*after->graphs[0], {}));
  EXPECT_EQ(reduction_depth(*after->graphs[0]), 1);
  const EvaluateOptions options = sizes(2, 3);
  expect_as_exact(*before->graphs[0], *after->graphs[0], draws_of(*before->graphs[0], 33, options, 0),
                  options);
}

TEST(RewriteReductionsDetail, AMatmulBetweenTwoSumsSeparatesThem) {
  // The second sum is in another kernel anyway: taking it apart would only cost digits.
  const auto module = parse_module(R"(symbols B <= 8
graph @g(%x: f32[B,33], %w: f32[33,33]) {
  %s = reduce add %x {axes = [1]} : f32[B]
  %ss = broadcast %s {axes = [0]} : f32[B,33]
  %y = sub %x, %ss : f32[B,33]
  %h = matmul %y, %w {spec = "bc,dc->bd"} : f32[B,33]
  %r = add %y, %h : f32[B,33]
  %t = reduce add %r {axes = [1]} : f32[B]
  return y = %y, t = %t
})");
  EXPECT_FALSE(rewrite_reductions(*module->graphs[0], {})) << print(*module);
}

/// Backward reads `largest` and `sum` of a softmax's rows through one statistic.
TEST(RewriteReductionsDetail, BackwardOfSoftmaxReadsOneStatistic) {
  const Case softmax{"softmax", "%y = softmax %x : f32[B,T,C]\n"};
  const auto module = primitives_of(softmax, 31);
  Graph& graph = *module->graphs[0];
  rewrite_reductions(graph, {});
  std::set<const Value*> statistics;
  for (const auto& node : graph.nodes())
    for (const Value* operand : node->operands())
      if (in_backward(*node) && !in_backward(*operand->node()) && operand->rank() == 2)
        statistics.insert(operand);
  EXPECT_EQ(statistics.size(), 1u) << print(graph);
}

/// A row of masked scores first: the shift must not take the mask for the row's level.
TEST(RewriteReductionsDetail, MaskedFirstElementsKeepDigits) {
  for (double mask : {-1e30, -std::numeric_limits<double>::infinity(), -10000.0}) {
    const auto before = primitives_of({"softmax", "%y = softmax %x : f32[B,T,C]\n"}, 33);
    const auto after = before->clone();
    rewrite_reductions(*after->graphs[0], {});
    const EvaluateOptions options = sizes(2, 3);
    Tensors inputs = data_of(*before->graphs[0], 33, options, 0, 3);
    for (size_t i = 0; i < inputs.at("x").data.size(); i += 11) inputs.at("x").data[i] = mask;
    expect_as_exact(*before->graphs[0], *after->graphs[0], inputs, options);
  }
}

/// Equal elements: the variance is 0, and must not become negative.
TEST(RewriteReductionsDetail, ConstantRowsHaveNoNegativeVariance) {
  const Case variance{"variance", kMean + R"(
  %q = mul %d, %d : f32[B,T,C]
  %sum2 = reduce add %q {axes = [2]} : f32[B,T]
  %root = sqrt %sum2 : f32[B,T]
  %y = broadcast %root {axes = [0, 1]} : f32[B,T,C]
)"};
  const auto module = primitives_of(variance, 33, false);
  Graph& graph = *module->graphs[0];
  ASSERT_TRUE(rewrite_reductions(graph, {}));
  const EvaluateOptions options = sizes(2, 2, true);
  Tensors inputs = data_of(graph, 33, options, 0, 3);
  for (double& x : inputs.at("x").data) x = static_cast<float>(1234.567);
  const Evaluation result = evaluate(graph, inputs, {}, options);
  for (double y : result.outputs.at("y").data) EXPECT_EQ(y, 0);
}

}  // namespace
}  // namespace smelt
