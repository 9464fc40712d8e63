// Batches that differ between ranks, and entries that ranks run by themselves.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "runtime/session/session.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

/// A regression: nothing that is counted stands beside an input.
constexpr const char* kRegression = R"(symbols B <= 8
parameter "w" : f32[4,3]
graph @loss(%x: f32[B,3], %y: f32[B,4]) {
  %w = parameter "w"
  %p = linear %x, %w
  %d = sub %p, %y
  %q = mul %d, %d
  %sum = reduce add %q {axes = [0, 1]}
  %one = constant {value = 1} : f32[B]
  %count = reduce add %one {axes = [0]}
  return loss_sum = %sum, token_count = %count
}
graph @logits(%x: f32[B,3]) {
  %w = parameter "w"
  %p = linear %x, %w
  return logits = %p
}
)";

/// The mesh is the model's own.
std::string over_two_ranks(const std::string& text) { return "mesh {data = 2}\n" + text; }

CompileOptions regression_options() {
  CompileOptions options;
  options.training.optimizer.optimizer = Optimizer::momentum;  // a step is as large as its gradient
  return options;
}

std::shared_ptr<const Plan> regression_plan(const std::string& text) {
  return std::make_shared<const Plan>(compile(parse_module(text), regression_options()).plan);
}

struct Rows {
  int64_t first, count;
};

/// Runs an entry on these of the records.
std::vector<HostTensor> run_rows(Session& session, const std::string& entry, Rows rows) {
  std::vector<float> x, y;
  for (int64_t i = rows.first * 3; i < (rows.first + rows.count) * 3; ++i)
    x.push_back(static_cast<float>(i * 7 % 11) / 8 - 0.5f);
  for (int64_t i = rows.first * 4; i < (rows.first + rows.count) * 4; ++i)
    y.push_back(static_cast<float>(i * 5 % 13) / 8 - 0.5f);
  std::vector<InputTensor> inputs;
  for (const Port& port : session.entry(entry).inputs) {
    const bool is_x = port.name == "x";
    inputs.push_back({port.name, DType::f32, {rows.count, is_x ? 3 : 4}, is_x ? x.data() : y.data()});
  }
  return session.run(entry, inputs);
}

float number_in(const std::vector<HostTensor>& outputs, std::string_view name) {
  return std::ranges::find(outputs, name, &HostTensor::name)->as<float>()[0];
}

std::vector<float> weights(Session& session) {
  const auto bytes = session.state("parameters");
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

constexpr Rows kUnequal[] = {{0, 4}, {4, 3}};

/// Ranks with 4 and 3 records are one rank with two micro-steps.
TEST(RankBatches, OfOtherSizesCountTheirRecords) {
  Session one(regression_plan(kRegression), {.threads = 1, .seed = 3});
  one.initialize(3);
  one.scalar("learning_rate") = 0.1f;
  for (const Rows rows : kUnequal) run_rows(one, "accumulate", rows);
  const auto expected = one.run("apply", {});
  ASSERT_EQ(number_in(expected, "token_count"), 7);
  const auto plan = regression_plan(over_two_ranks(kRegression));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .seed = 3, .ranks = &ranks});
    session.initialize(3);
    session.scalar("learning_rate") = 0.1f;
    const auto made = run_rows(session, "train_step", kUnequal[ranks.rank()]);
    EXPECT_EQ(number_in(made, "token_count"), 7);
    EXPECT_NEAR(number_in(made, "loss"), number_in(expected, "loss"), 1e-5);
    const std::vector<float> actual = weights(session), wanted = weights(one);
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(actual[i], wanted[i], 1e-5) << i;
  });
}

/// Three batches over two ranks, and logits of any batch at one of them: nobody waits for the other.
TEST(RankBatches, AreEvaluatedByOneRank) {
  const auto alone = regression_plan(kRegression), plan = regression_plan(over_two_ranks(kRegression));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session one(alone, {.threads = 1, .seed = 3});
    Session session(plan, {.threads = 1, .seed = 3, .ranks = &ranks});
    one.initialize(3), session.initialize(3);
    for (int64_t batch = ranks.rank(); batch < 3; batch += 2) {
      const Rows rows{batch * 3, 3 - batch};
      const auto expected = run_rows(one, "evaluate", rows), actual = run_rows(session, "evaluate", rows);
      EXPECT_EQ(number_in(actual, "token_count"), static_cast<float>(rows.count));
      EXPECT_NEAR(number_in(actual, "loss_sum"), number_in(expected, "loss_sum"), 1e-5);
    }
    if (ranks.rank() != 0) return;
    for (const int64_t count : {1, 5, 8}) {
      const auto logits = run_rows(session, "logits", {0, count})[0];
      EXPECT_EQ(logits.shape, (std::vector<int64_t>{count, 4}));
      EXPECT_EQ(logits.as<float>()[0], run_rows(one, "logits", {0, count})[0].as<float>()[0]);
    }
  });
}

/// What leads the inputs of @logits is no batch here: nothing of it is cut.
TEST(RankBatches, LeaveEntriesOfOneRecordWhole) {
  std::string text = kRegression;
  text.replace(text.find("B <= 8"), 6, "B <= 8, T <= 5");
  const size_t logits = text.find("@logits(%x: f32[B");
  text.replace(logits, 17, "@logits(%x: f32[T");
  const auto alone = regression_plan(text), plan = regression_plan(over_two_ranks(text));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    if (ranks.rank() != 1) return;
    Session one(alone, {.threads = 1, .seed = 3});
    Session session(plan, {.threads = 1, .seed = 3, .ranks = &ranks});
    one.initialize(3), session.initialize(3);
    const auto expected = run_rows(one, "logits", {0, 5})[0], actual = run_rows(session, "logits", {0, 5})[0];
    EXPECT_EQ(actual.shape, (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(actual.as<float>()[19], expected.as<float>()[19]);
  });
}

/// Passes that somebody chose share batches alike.
TEST(RankBatches, AreSharedWithAPipelineToo) {
  CompileOptions options = regression_options();
  options.pipeline = "decompose,propagate_shardings,partition,simplify";
  const Plan plan = compile(parse_module(over_two_ranks(kRegression)), options).plan;
  const auto collectives = [&](const char* entry) {
    return std::ranges::count_if(plan.find_entry(entry)->steps, [](const Step& step) {
      return std::holds_alternative<CollectiveStep>(step.what);
    });
  };
  EXPECT_EQ(collectives("train_step"), 3);
  EXPECT_EQ(collectives("evaluate"), 0);
}

// ---- refusals

void expect_refusal(const std::string& text, std::initializer_list<const char*> words,
                    CompileOptions options = regression_options()) {
  try {
    compile(parse_module(over_two_ranks(text)), options);
    FAIL() << "nothing is refused";
  } catch (const Error& error) {
    for (const char* word : words)
      EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos) << error.what();
  }
}

/// Each record is compared to all others.
constexpr const char* kAllPairs = R"(symbols B <= 8
parameter "w" : f32[4,3]
graph @loss(%x: f32[B,3]) {
  %w = parameter "w"
  %p = linear %x, %w
  %s = matmul %p, %p {spec = "ac,bc->ab"}
  %q = exp %s
  %sum = reduce add %q {axes = [0, 1]}
  %one = constant {value = 1} : f32[B]
  %count = reduce add %one {axes = [0]}
  return loss_sum = %sum, token_count = %count
}
)";

TEST(RankBatches, ThatNeedEachOtherAreRefused) {
  expect_refusal(kAllPairs, {"all_gather of ", "[2*B,4]", "in @train_step", "in @evaluate", "one rank"});
}

/// The mean over the batch is one number, which train_step can have, and evaluate cannot.
constexpr const char* kMeanOfBatch = R"(symbols B <= 8
parameter "w" : f32[1,3]
graph @loss(%x: f32[B,3]) {
  %w = parameter "w"
  %p = linear %x, %w
  %all = reduce add %p {axes = [0, 1]}
  %sum = mul %all, %all
  %one = constant {value = 1} : f32[B]
  %count = reduce add %one {axes = [0]}
  return loss_sum = %sum, token_count = %count
}
)";

TEST(RankBatches, ThatEvaluationWouldShareAreRefused) {
  expect_refusal(kMeanOfBatch, {"all_reduce of f32[] in @evaluate", "by themselves"});
  CompileOptions options = regression_options();
  options.entries = {"train_step"};
  EXPECT_FALSE(compile(parse_module(over_two_ranks(kMeanOfBatch)), options).plan.mesh.empty());
}

TEST(RankBatches, InputsThatAreNoPartsOfThemAreRefused) {
  const std::string text = R"(symbols B <= 8
parameter "w" : f32[4,3]
graph @loss(%x: f32[B,3], %scale: f32[3], %factor: f32[]) {
  %w = parameter "w"
  %s = broadcast %scale {axes = [1]} : f32[B,3]
  %f = broadcast %factor {axes = []} : f32[B,3]
  %xs = mul %x, %s
  %xf = mul %xs, %f
  %p = linear %xf, %w
  %sum = reduce add %p {axes = [0, 1]}
  %one = constant {value = 1} : f32[B]
  %count = reduce add %one {axes = [0]}
  return loss_sum = %sum, token_count = %count
}
)";
  expect_refusal(text, {"input \"scale\" of @train_step : f32[3]", "whose records are B"});
}

}  // namespace
}  // namespace smelt
