// Log-probabilities of prompts, in a batch with other requests, for every kind of rows.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/engine/serving/late_model.h"
#include "tests/runtime/engine/serving/random_requests.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

/// Returns all progress of a request as one.
Progress joined(Progress all, const Progress& fresh) {
  all.prompt.insert(all.prompt.end(), fresh.prompt.begin(), fresh.prompt.end());
  all.tokens.insert(all.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
  all.finish = fresh.finish;
  return all;
}

size_t rank_of(const std::vector<float>& logits, int32_t token) {
  const float own = logits[static_cast<size_t>(token)];
  return 1 + static_cast<size_t>(std::ranges::count_if(logits, [&](float x) { return x > own; }));
}

/// Compares the reports of a prompt with the logits of the model.
void expect_scores(const Request& request, const std::vector<NewToken>& found) {
  ASSERT_EQ(found.size(), request.prompt.size());
  EXPECT_EQ(found[0].id, request.prompt[0]);
  EXPECT_FALSE(found[0].has_log_probability);
  for (size_t i = 1; i < found.size(); ++i) {
    const Tokens before(request.prompt.begin(), request.prompt.begin() + static_cast<ptrdiff_t>(i));
    const std::vector<float> logits = remembered_logits(before);
    EXPECT_EQ(found[i].id, request.prompt[i]);
    EXPECT_TRUE(found[i].has_log_probability);
    EXPECT_EQ(found[i].log_probability, log_probability(logits, request.prompt[i]));
    EXPECT_EQ(found[i].rank, rank_of(logits, request.prompt[i]));
    ASSERT_EQ(found[i].best.size(), *request.prompt_log_probabilities);
    if (!found[i].best.empty()) {
      EXPECT_EQ(found[i].best[0].first, most_probable(logits, 1)[0]);
    }
  }
}

using Ids = std::vector<ContinuousBatch::Id>;

std::map<ContinuousBatch::Id, Progress> run_all(ContinuousBatch& batch, const Ids& ids) {
  std::map<ContinuousBatch::Id, Progress> found;
  for (bool runs = true; runs;) {
    runs = batch.step();
    for (const auto id : ids)
      if (found[id].finish == Finish::none) found[id] = joined(std::move(found[id]), batch.poll(id));
  }
  return found;
}

/// Runs requests of which every second one asks for the log-probabilities of its prompt.
void expect_all_scored(ContinuousBatch& batch) {
  RandomRequests random(3);
  std::vector<Request> requests;
  Ids ids;
  for (size_t i = 0; i < 60; ++i) {
    Request request = random.next();
    if (i % 2 == 0) request.prompt_log_probabilities = i % 3;
    if (i % 10 == 0) request.options.max_new_tokens = 0;
    requests.push_back(request);
    ids.push_back(batch.submit(request));
  }
  const auto found = run_all(batch, ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Progress& progress = found.at(ids[i]);
    EXPECT_EQ(ids_of(progress), alone(requests[i])) << i;
    if (requests[i].prompt_log_probabilities)
      expect_scores(requests[i], progress.prompt);
    else
      EXPECT_TRUE(progress.prompt.empty());
  }
  EXPECT_EQ(batch.counts().pages.used, 0U);
}

TEST(ScoredPrompts, InSlots) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.most_waiting = 60, .chunk = 5});
  expect_all_scored(batch);
}

TEST(ScoredPrompts, InPages) {
  RememberingPagedModel model(4, 96, 20);
  ContinuousBatch batch(*model.session, {.most_waiting = 60, .chunk = 21});
  expect_all_scored(batch);
}

TEST(ScoredPrompts, WhereThePlanSamplesTheOtherRequests) {
  for (const int64_t run_tokens : {0, 24}) {
    LateModel model(4, 96, 20, run_tokens);
    ContinuousBatch batch(*model.session, {.most_waiting = 60, .ahead = 1});
    expect_all_scored(batch);
    EXPECT_GT(batch.counts().plan_tokens, 0U);
  }
}

TEST(ScoredPrompts, NextToDrafts) {
  LateModel model(4, 96, 20, 24);
  ContinuousBatch batch(*model.session, {.most_waiting = 60, .draft = 3});
  expect_all_scored(batch);
}

/// Runs have the sizes that were prepared.
TEST(ScoredPrompts, OnADeviceThatCapturesRuns) {
  LateModel model(4, 96, 20, 24, "sm_90");
  ContinuousBatch batch(*model.session, {.most_waiting = 60, .prepares = true});
  model.executor->synchronize();
  const auto prepared = model.executor->shapes;
  expect_all_scored(batch);
  for (const auto& shape : model.executor->shapes)
    EXPECT_GT(std::ranges::count(prepared, shape), 0) << shape.first << " " << shape.second;
}

/// One token, and then as many as there are rows.
TEST(ScoredPrompts, FillTheRowsThatAreFree) {
  RememberingPagedModel model(4, 96, 20);
  ContinuousBatch batch(*model.session);
  Request request = request_of(Tokens(14, 3), 1);
  request.prompt_log_probabilities = 0;
  const auto id = batch.submit(request);
  run_all(batch, {id});
  using Shapes = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(model.executor->shapes, (Shapes{{1, 1}, {4, 1}, {4, 1}, {4, 1}, {1, 1}}));
  EXPECT_EQ(batch.counts().prompt_tokens, 14U);
  EXPECT_EQ(batch.counts().new_tokens, 1U);
}

TEST(ScoredPrompts, OfOneTokenHaveNone) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  Request request = request_of({5}, 0);
  request.prompt_log_probabilities = 1;
  const Progress found = run_all(batch, {batch.submit(request)}).begin()->second;
  expect_scores(request, found.prompt);
  EXPECT_EQ(found.finish, Finish::length);
}

/// Beginnings of the tokens in the text, and the length of the text, from which the new text is counted on.
TEST(ScoredPrompts, HavePlacesInTheText) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  Request request = request_of({5, 6, 7}, 2);
  request.prompt_log_probabilities = 0, request.prompt_begins = {0, 2, 4, 9};
  request.text = [](std::optional<int32_t> token) { return token ? "xyz" : ""; };
  const Progress found = run_all(batch, {batch.submit(request)}).begin()->second;
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found.prompt[i].text_begin, 2 * i);
  EXPECT_EQ(found.tokens[0].text_begin, 9U);
  EXPECT_EQ(found.tokens[1].text_begin, 12U);
  request.prompt_begins = {0, 2};
  EXPECT_HAS(message_of([&] { batch.submit(request); }), "2 beginnings of 3 tokens");
}

}  // namespace
}  // namespace smelt
