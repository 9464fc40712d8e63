// Steps that are started before the host has seen the tokens of those in front, on a device that is late.
#include "runtime/engine/serving/steps.h"

#include "tests/runtime/engine/serving/crowd.h"
#include "tests/runtime/engine/serving/late_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

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

TEST(Steps, EachOfManyRequestsGetsWhatItGetsAlone) {
  for (const size_t ahead : {0, 1, 3})
    for (const bool shares : {true, false}) {
      LateModel model(4, 96, 13);
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

TEST(Steps, ThePlanChoosesNothingWhereItIsNotAskedTo) {
  LateModel model(4, 96, 24);
  ContinuousBatch batch(*model.session, {.most_waiting = 50, .plan_chooses = false});
  Crowd crowd(batch, 50, 7);
  expect_alone(crowd);
  EXPECT_EQ(batch.counts().plan_tokens, 0U);
}

/// The device does nothing while two more steps are started.
TEST(Steps, BeginBeforeTheTokensInFrontAreSeen) {
  LateModel model(4, 96, 24);
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
TEST(Steps, KeepThePagesOfARowThatHasEnded) {
  LateModel model(4, 96, 5);
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

TEST(Steps, OneThatIsCancelledLeavesWhenItsStepsHaveEnded) {
  LateModel model(2, 96, 12);
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
TEST(Steps, SlotsBeginAnew) {
  LateModel model(1, 96, 12);
  ContinuousBatch batch(*model.session, {.ahead = 1});
  RandomRequests random(3);
  for (int i = 0; i < 40; ++i) {
    Request request = request_of(random.tokens(1 + i % 20), 12);
    if (i % 3 == 0) request.options.repetition_penalty = 1.7;
    if (i % 4 == 0) request.options.sequence_bias = {{{static_cast<int32_t>(i % 20)}, 2.3}};
    if (i % 5 == 0) request.options.suppress_tokens = random.tokens(4);
    EXPECT_EQ(run_to_end(batch, batch.submit(request)), alone(request)) << i;
  }
  EXPECT_EQ(batch.counts().plan_tokens, 40U * 11);
}

TEST(Steps, LogProbabilitiesComeWithTheTokens) {
  LateModel model(1, 96, 12);
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

TEST(Steps, AFaultOfTheDeviceFailsThoseUnderWay) {
  LateModel model(2, 96, 12);
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

TEST(Steps, ABatchThatGoesLeavesNothingUnderWay) {
  LateModel model(2, 96, 12);
  {
    ContinuousBatch batch(*model.session, {.ahead = 3});
    batch.submit(request_of(Tokens(20, 4), 60));
    for (int i = 0; i < 6; ++i) batch.step();
  }
  EXPECT_EQ(model.executor->under_way(), 0U);
}

}  // namespace
}  // namespace smelt
