// A continuous batch over caches in pages: memory that requests wait for, and beginnings that they share.
#include <gtest/gtest.h>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/engine/serving/crowd.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

TEST(PagedBatch, EachOfManyRequestsGetsWhatItGetsAlone) {
  for (const bool shares : {true, false}) {
    RememberingPagedModel model(4, 96, 13);
    ContinuousBatch batch(*model.session, {.most_waiting = 400, .chunk = 21, .shares_prefixes = shares});
    Crowd crowd(batch, 400, 5);
    expect_alone(crowd);
    expect_nothing_held(batch);
    const ContinuousBatchCounts counts = batch.counts();
    EXPECT_EQ(counts.pages.total, 13U);
    EXPECT_EQ(counts.prompt_tokens, model.executor->prompt_tokens);
    EXPECT_EQ(counts.pages.found > 100, shares);
    EXPECT_EQ(crowd.most_shared > 0, shares);
    EXPECT_EQ(counts.pages.kept > 0, shares);
  }
}

/// Runs of a prompt end where pages do, and steps have the rows that run alone.
TEST(PagedBatch, PromptsAreReadPageByPage) {
  RememberingPagedModel model(4, 96, 24);
  ContinuousBatch batch(*model.session, {.chunk = 40});
  batch.submit(request_of(Tokens(45, 3), 1));
  while (batch.step()) continue;
  using Shapes = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(model.executor->shapes, (Shapes{{1, 16}, {1, 16}, {1, 13}}));
  batch.submit(request_of(Tokens(45, 3), 2));
  while (batch.step()) continue;
  EXPECT_EQ(model.executor->shapes, (Shapes{{1, 16}, {1, 16}, {1, 13}, {1, 13}, {1, 1}}));
  EXPECT_EQ(batch.counts().pages.found, 2U);
  EXPECT_EQ(batch.counts().prompt_tokens, 45U + 13U);
}

/// The last token is read, for its logits, also where all of a prompt is there.
TEST(PagedBatch, WholePagesOfAPromptAreReadAgainForItsLastToken) {
  RememberingPagedModel model(2, 64, 8);
  ContinuousBatch batch(*model.session);
  const Request request = request_of(Tokens(32, 3), 3);
  for (int i = 0; i < 2; ++i) {
    const Id id = batch.submit(request);
    while (batch.step()) continue;
    EXPECT_EQ(ids_of(batch.poll(id)), alone(request));
  }
  EXPECT_EQ(batch.counts().pages.found, 1U);
}

TEST(PagedBatch, ARequestThatNeverFitsIsRefusedWithBothNumbers) {
  RememberingPagedModel model(4, 96, 3);
  ContinuousBatch batch(*model.session);
  EXPECT_HAS(message_of([&] { batch.submit(request_of(Tokens(40, 1), 10)); }),
             "49 tokens take 4 pages of 16, and the caches have 3");
  const Id id = batch.submit(request_of(Tokens(39, 1), 10));
  while (batch.step()) continue;
  EXPECT_EQ(batch.poll(id).finish, Finish::length);
}

/// Three small requests fit beside the first one, and the large one does not; who comes behind it waits.
TEST(PagedBatch, LargeRequestsAreNotPassedBy) {
  RememberingPagedModel model(4, 96, 6);
  ContinuousBatch batch(*model.session);
  std::vector<Id> ids = {
      batch.submit(request_of(Tokens(5, 1), 12)), batch.submit(request_of(Tokens(80, 2), 12)),
      batch.submit(request_of(Tokens(5, 3), 2)), batch.submit(request_of(Tokens(5, 4), 2))};
  std::vector<Id> ended;
  while (batch.step())
    for (const Id id : ids)
      if (std::ranges::count(ended, id) == 0 && batch.poll(id).finish != Finish::none) ended.push_back(id);
  EXPECT_EQ(ended[0], ids[0]);
  EXPECT_EQ(ended.size(), 4U);
  expect_nothing_held(batch);
}

/// All slots are taken, but not all of memory is promised, and no one that runs waits for it.
TEST(PagedBatch, WhoRunsNeverWaitsForMemory) {
  RememberingPagedModel model(8, 96, 12);
  ContinuousBatch batch(*model.session, {.most_waiting = 40});
  std::vector<Id> ids;
  for (int32_t i = 0; i < 30; ++i) ids.push_back(batch.submit(request_of({i % 20, 2}, 40)));
  size_t most = 0;
  while (batch.step()) most = std::max(most, batch.counts().running);
  EXPECT_EQ(most, 4U) << "three pages each";
  for (const Id id : ids) EXPECT_EQ(batch.poll(id).finish, Finish::length);
  expect_nothing_held(batch);
}

TEST(PagedBatch, AFaultOfTheDeviceForgetsAllPages) {
  RememberingPagedModel model(4, 96, 24);
  ContinuousBatch batch(*model.session);
  const Request request = request_of(Tokens(50, 6), 4);
  batch.submit(request);
  while (batch.step()) continue;
  batch.submit(request);
  batch.step();
  model.executor->breaks = true;
  batch.step();
  expect_nothing_held(batch);
  EXPECT_EQ(batch.counts().pages.kept, 0U);
  const Id id = batch.submit(request);
  while (batch.step()) continue;
  EXPECT_EQ(ids_of(batch.poll(id)), alone(request));
  EXPECT_EQ(batch.counts().pages.found, 3U) << "of the second request alone";
}

TEST(PagedBatch, NumbersThatAreNoPagesAreErrors) {
  RememberingPagedModel model(2, 32, 4);
  const int32_t token = 1, past = 0, pages[] = {4, 0};
  const InputTensor inputs[] = {{"input_ids", DType::i32, {1, 1}, &token},
                                {"pages", DType::i32, {1, 2}, pages},
                                {"past_length", DType::i32, {1}, &past}};
  EXPECT_HAS(message_of([&] { model.session->run(entry::step_pages, inputs); }), "pages");
}

}  // namespace
}  // namespace smelt
