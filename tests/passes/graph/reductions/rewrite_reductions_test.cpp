// rewrite_reductions: the same values, no more rounding error, and reductions that do not wait for each
// other.
#include "passes/graph/reductions/rewrite_reductions.h"

#include <algorithm>

#include "passes/analysis.h"
#include "tests/passes/graph/reductions/support.h"

namespace smelt {
namespace {

using testing::reductions::Case, testing::reductions::data_of, testing::reductions::draws_of;
using testing::reductions::expect_as_exact, testing::reductions::kMean, testing::reductions::primitives_of;
using testing::reductions::sizes;

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

}  // namespace
}  // namespace smelt
