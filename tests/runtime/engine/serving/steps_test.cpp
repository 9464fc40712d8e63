// Steps that are started before the host has seen the tokens of those in front, on a device that is late.
#include "runtime/engine/serving/steps.h"

#include <set>

#include "tests/runtime/engine/serving/crowd.h"
#include "tests/runtime/engine/serving/late_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// By most tokens of a mixed run; 0: runs do not mix.
class StepsOf : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Runs, StepsOf, testing::Values(0, 24));

Tokens run_to_end(ContinuousBatch& batch, Id id) {
  Tokens found;
  for (Progress progress; progress.finish == Finish::none;) {
    batch.step();
    progress = batch.poll(id);
    for (const int32_t token : ids_of(progress)) found.push_back(token);
  }
  while (batch.step()) continue;
  return found;
}

/// One that would go on for long, but for its tenth new token.
Request request_that_ends() {
  Request request = request_of(Tokens(20, 4), 60);
  const Tokens all = alone(request);
  for (size_t i = 9; request.options.eos_token_id.empty(); ++i)
    if (std::count(all.begin(), all.begin() + static_cast<ptrdiff_t>(i), all[i]) == 0)
      request.options.eos_token_id = {all[i]};
  return request;
}

TEST_P(StepsOf, EachOfManyRequestsGetsWhatItGetsAlone) {
  for (const size_t ahead : {0, 1, 3})
    for (const bool shares : {true, false}) {
      LateModel model(4, 96, 13, GetParam());
      ContinuousBatch batch(
          *model.session,
          {.most_waiting = 300, .chunk = 21, .shares_prefixes = shares, .ahead = std::optional(ahead)});
      Crowd crowd(batch, 300, 5);
      expect_alone(crowd);
      while (batch.step()) continue;
      expect_nothing_held(batch);
      const ContinuousBatchCounts counts = batch.counts();
      EXPECT_GT(counts.plan_tokens, 300U);
      EXPECT_LT(counts.plan_tokens, counts.new_tokens) << "some that the host chooses for are among them";
      EXPECT_EQ(counts.failed, 0U);
      EXPECT_EQ(counts.ended + counts.cancelled, 300U);
    }
}

/// Constrains two of three texts: some have to end soon, some alternate between letters, some are free.
void constrain_some(Request& request) {
  static const std::shared_ptr<structured::Constraint> kConstraints[] = {letters("[a-f]{1,9}"),
                                                                         letters("([a-k]+[l-w]{2})*")};
  const size_t kind = request.prompt.size() % 3;
  if (kind == 2) return;
  GenerationOptions& options = request.options;
  options.no_repeat_ngram_size = 0, options.min_new_tokens = 0, options.eos_token_id.clear();
  request.constrained = std::make_shared<structured::ConstrainedText>(kConstraints[kind], Tokens());
}

/// Those that the host restricts stay in the steps that are started ahead.
TEST_P(StepsOf, ConstrainedTextsGetWhatTheyGetAlone) {
  for (const size_t ahead : {0, 1, 3}) {
    LateModel model(4, 96, 13, GetParam());
    ContinuousBatch batch(*model.session, {.most_waiting = 150, .chunk = 21, .ahead = std::optional(ahead)});
    Crowd crowd(batch, 150, 5, constrain_some);
    expect_alone(crowd);
    while (batch.step()) continue;
    expect_nothing_held(batch);
    const ContinuousBatchCounts counts = batch.counts();
    EXPECT_GT(counts.plan_tokens, counts.new_tokens / 2);
    EXPECT_EQ(counts.failed, 0U);
  }
}

/// One run per step reads the tokens, and another one samples; the host waits for neither to end.
TEST_P(StepsOf, ConstrainedTextsDoNotWaitForTheDevice) {
  LateModel model(4, 96, 13, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 1});
  Request request = request_of({1, 2, 3}, 40);
  request.constrained = std::make_shared<structured::ConstrainedText>(letters("[a-f]*"), Tokens());
  const Tokens expected = alone(request);
  const Id id = batch.submit(request);
  for (int i = 0; i < 5; ++i) batch.step();
  const size_t waits = model.executor->waits;
  for (int i = 0; i < 20; ++i) batch.step();
  EXPECT_EQ(model.executor->waits, waits);
  Tokens found = ids_of(batch.poll(id));
  for (const int32_t token : run_to_end(batch, id)) found.push_back(token);
  EXPECT_EQ(found, expected);
}

/// Makes texts repeat few tokens: always, often or seldom.
void repeat_tokens(Request& request) {
  const double bias = 4.0 * static_cast<double>(request.prompt.size() % 4);
  request.options.sequence_bias = {{{1}, bias}, {{2}, bias}, {{3}, bias / 2}};
  request.options.no_repeat_ngram_size = 0, request.options.max_new_tokens += 10;
}

/// Drafts are read by steps of which the plan samples the tokens.
TEST(StepsWithDrafts, GiveEachRequestWhatItGetsAlone) {
  for (const size_t ahead : {0, 1, 3}) {
    LateModel model(16, 96, 24, 24);
    ContinuousBatch batch(
        *model.session,
        {.slots = 4, .most_waiting = 300, .chunk = 21, .ahead = std::optional(ahead), .draft = 3});
    Crowd crowd(batch, 300, 11, repeat_tokens);
    expect_alone(crowd);
    while (batch.step()) continue;
    expect_nothing_held(batch);
    const ContinuousBatchCounts counts = batch.counts();
    EXPECT_GT(counts.kept_draft_tokens, 20U);
    EXPECT_GT(counts.draft_tokens, counts.kept_draft_tokens);
    EXPECT_GT(counts.plan_tokens, 300U);
    EXPECT_EQ(counts.failed, 0U);
  }
}

TEST_P(StepsOf, ThePlanChoosesNothingWhereItIsNotAskedTo) {
  LateModel model(4, 96, 24, GetParam());
  ContinuousBatch batch(*model.session, {.most_waiting = 50, .plan_chooses = false});
  Crowd crowd(batch, 50, 7);
  expect_alone(crowd);
  EXPECT_EQ(batch.counts().plan_tokens, 0U);
}

/// The device does nothing while two more steps are started.
TEST_P(StepsOf, BeginBeforeTheTokensInFrontAreSeen) {
  LateModel model(4, 96, 24, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 2});
  const std::vector<Request> requests = {request_of(Tokens(5, 1), 40), request_of(Tokens(9, 2), 40)};
  const std::vector<Id> ids = {batch.submit(requests[0]), batch.submit(requests[1])};
  for (int i = 0; i < 6; ++i) batch.step();
  for (int i = 0; i < 10; ++i) {
    model.executor->synchronize();
    model.executor->hold(true);
    const size_t waits = model.executor->waits, seen = batch.counts().new_tokens;
    batch.step(), batch.step();
    EXPECT_EQ(model.executor->under_way(), 2U);
    EXPECT_EQ(model.executor->waits, waits);
    EXPECT_EQ(batch.counts().new_tokens - seen, 4U);
    model.executor->hold(false);
  }
  while (batch.step()) continue;
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(ids_of(batch.poll(ids[i])), alone(requests[i]));
}

/// Steps that were started write to these pages: nobody else gets them before they have ended.
TEST_P(StepsOf, KeepThePagesOfARowThatHasEnded) {
  LateModel model(4, 96, 5, GetParam());
  ContinuousBatch batch(*model.session, {.shares_prefixes = false, .ahead = 2});
  const Request first = request_that_ends(), second = request_of(Tokens(30, 8), 35);
  const Id id = batch.submit(first), other = batch.submit(second);
  Tokens found;
  for (Progress progress; progress.finish == Finish::none;) {
    batch.step();
    progress = batch.poll(id);
    for (const int32_t token : ids_of(progress)) found.push_back(token);
  }
  EXPECT_EQ(found, alone(first));
  EXPECT_EQ(batch.counts().running, 1U);
  EXPECT_GT(batch.counts().pages.used, 0U) << "by two steps that were started before the end was seen";
  EXPECT_EQ(batch.counts().waiting, 1U);
  EXPECT_EQ(run_to_end(batch, other), alone(second));
  expect_nothing_held(batch);
}

TEST_P(StepsOf, OneThatIsCancelledLeavesWhenItsStepsHaveEnded) {
  LateModel model(2, 96, 12, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 1});
  const Id id = batch.submit(request_of(Tokens(20, 4), 60));
  for (int i = 0; i < 5; ++i) batch.step();
  batch.cancel(id);
  EXPECT_EQ(batch.poll(id).finish, Finish::cancelled);
  EXPECT_EQ(batch.counts().running, 1U);
  const Request next = request_of(Tokens(20, 5), 30);
  EXPECT_EQ(run_to_end(batch, batch.submit(next)), alone(next));
  EXPECT_EQ(batch.counts().cancelled, 1U);
  expect_nothing_held(batch);
}

/// A slot keeps nothing of who had it before: no biases, no penalties, no tokens.
TEST_P(StepsOf, SlotsBeginAnew) {
  LateModel model(1, 96, 12, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 1});
  RandomRequests random(3);
  for (int i = 0; i < 40; ++i) {
    Request request = request_of(random.tokens(1 + i % 20), 12);
    if (i % 3 == 0) request.options.repetition_penalty = 1.7;
    if (i % 4 == 0) request.options.sequence_bias = {{{static_cast<int32_t>(i % 20)}, 2.3}};
    if (i % 5 == 0) request.options.suppress_tokens = random.tokens(4);
    if (i % 7 == 0) request.options.allowed_token_ids = random.tokens(9);
    EXPECT_EQ(run_to_end(batch, batch.submit(request)), alone(request)) << i;
  }
  EXPECT_EQ(batch.counts().plan_tokens, 40U * (GetParam() == 0 ? 11 : 12));
}

TEST_P(StepsOf, LogProbabilitiesComeWithTheTokens) {
  LateModel model(1, 96, 12, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 1});
  Request request = request_of({3, 1}, 9);
  request.log_probabilities = 0;
  const Id id = batch.submit(request);
  while (batch.step()) continue;
  Tokens tokens = request.prompt;
  for (const NewToken& token : batch.poll(id).tokens) {
    EXPECT_EQ(token.log_probability, log_probability(remembered_logits(tokens), token.id));
    tokens.push_back(token.id);
  }
  EXPECT_EQ(tokens.size(), 11U);
}

TEST_P(StepsOf, AFaultOfTheDeviceFailsThoseUnderWay) {
  LateModel model(2, 96, 12, GetParam());
  ContinuousBatch batch(*model.session, {.ahead = 1});
  const Request request = request_of(Tokens(20, 4), 60);
  const Id id = batch.submit(request);
  for (int i = 0; i < 5; ++i) batch.step();
  model.executor->synchronize();
  model.executor->breaks = true;
  Progress progress;
  while (progress.finish == Finish::none) batch.step(), progress = batch.poll(id);
  EXPECT_EQ(progress.finish, Finish::failed);
  EXPECT_HAS(progress.error, "the device is gone");
  expect_nothing_held(batch);
  EXPECT_EQ(run_to_end(batch, batch.submit(request)), alone(request));
}

TEST_P(StepsOf, ABatchThatGoesLeavesNothingUnderWay) {
  LateModel model(2, 96, 12, GetParam());
  {
    ContinuousBatch batch(*model.session, {.ahead = 3});
    batch.submit(request_of(Tokens(20, 4), 60));
    for (int i = 0; i < 6; ++i) batch.step();
  }
  EXPECT_EQ(model.executor->under_way(), 0U);
}

TEST(MixedSteps, ReadPromptsOfSeveralRequestsInOneRun) {
  LateModel model(4, 96, 24, 32);
  ContinuousBatch batch(*model.session, {.shares_prefixes = false, .ahead = 0});
  const std::vector<Request> requests = {request_of(Tokens(30, 1), 6), request_of(Tokens(30, 2), 6),
                                         request_of(Tokens(3, 3), 6)};
  std::vector<Id> ids;
  for (const Request& request : requests) ids.push_back(batch.submit(request));
  while (batch.step()) continue;
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids_of(batch.poll(ids[i])), alone(requests[i]));
  // 30 and 2 tokens; one token, 28 and 3; then one token of each.
  const std::vector<std::pair<int64_t, int64_t>> begin = {{2, 32}, {3, 32}, {3, 3}};
  ASSERT_GE(model.executor->shapes.size(), begin.size());
  EXPECT_TRUE(std::ranges::equal(begin, std::span(model.executor->shapes).first(begin.size())));
  EXPECT_EQ(batch.counts().prompt_tokens, 63U);
  EXPECT_EQ(batch.counts().new_tokens, 18U);
}

TEST(MixedSteps, ReadNoMoreOfPromptsThanTheChunk) {
  LateModel model(4, 96, 24, 40);
  ContinuousBatch batch(*model.session, {.chunk = 7, .shares_prefixes = false, .ahead = 0});
  batch.submit(request_of(Tokens(20, 1), 5)), batch.submit(request_of(Tokens(20, 2), 5));
  while (batch.step()) continue;
  for (const auto& [rows, tokens] : model.executor->shapes) EXPECT_LE(tokens, 7 + 2);
  EXPECT_EQ(model.executor->shapes[0], std::pair(int64_t{1}, int64_t{7}));
}

/// A CPU keeps the bits of up to 32 rows apart.
TEST(MixedSteps, ReadNoMoreOnACpuThanHasTheBitsOfEachAlone) {
  LateModel model(4, 96, 24, 90, "cpu");
  ContinuousBatch batch(*model.session, {.shares_prefixes = false, .ahead = 0});
  for (int32_t i = 0; i < 4; ++i) batch.submit(request_of(Tokens(50, i), 9));
  while (batch.step()) continue;
  for (const auto& [rows, tokens] : model.executor->shapes) EXPECT_LE(tokens, 32);
}

/// A device that captures runs sees few sizes, all of which were prepared.
TEST(MixedSteps, HaveSizesThatWereRunBefore) {
  struct Case {
    int64_t rows;
    size_t slots, draft;
  };
  for (const Case& each : {Case{1, 1, 0}, Case{3, 3, 0}, Case{4, 4, 0}, Case{29, 29, 0}, Case{5, 1, 4},
                           Case{30, 10, 2}, Case{40, 4, 9}}) {
    LateModel model(each.rows, 96, 200, 100, "sm_90");
    ContinuousBatch batch(*model.session,
                          {.slots = each.slots, .most_waiting = 200, .prepares = true, .draft = each.draft});
    model.executor->synchronize();
    const std::set<std::pair<int64_t, int64_t>> prepared(model.executor->shapes.begin(),
                                                         model.executor->shapes.end());
    EXPECT_EQ(model.executor->read_tokens, 0U);
    Crowd crowd(batch, 100, 5, repeat_tokens);
    expect_alone(crowd);
    model.executor->synchronize();  // a run whose results are not needed may be in progress
    EXPECT_EQ(batch.counts().kept_draft_tokens > 0, each.draft > 0);
    for (const auto& shape : model.executor->shapes)
      EXPECT_TRUE(prepared.contains(shape)) << shape.first << " " << shape.second;
  }
}

}  // namespace
}  // namespace smelt
