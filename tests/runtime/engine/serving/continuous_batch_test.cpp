#include "runtime/engine/serving/continuous_batch.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/error.h"
#include "tests/runtime/engine/serving/random_requests.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Id = ContinuousBatch::Id;

TEST(ContinuousBatch, EachOfManyRequestsGetsWhatItGetsAlone) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.most_waiting = 300, .chunk = 5});
  RandomRequests random;
  std::map<Id, Request> requests;
  std::map<Id, Tokens> found;
  std::map<Id, Finish> ends;
  size_t asked = 0;
  while (ends.size() < 300) {
    for (int64_t i = random.number(3); i-- > 0 && asked < 300; ++asked) {
      const Request request = random.next();
      requests[batch.submit(request)] = request;
    }
    if (random.number(9) == 0 && !requests.empty()) batch.cancel(requests.rbegin()->first);
    batch.step();
    for (const auto& [id, request] : requests) {
      if (ends.contains(id)) continue;
      const Progress progress = batch.poll(id);
      for (const int32_t token : ids_of(progress)) found[id].push_back(token);
      if (progress.finish != Finish::none) ends[id] = progress.finish;
    }
  }
  size_t cancelled = 0;
  for (const auto& [id, request] : requests) {
    Tokens expected = alone(request);
    if (ends[id] == Finish::cancelled) ++cancelled, expected.resize(found[id].size());
    EXPECT_EQ(found[id], expected) << id;
  }
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_GT(cancelled, 5U);
  EXPECT_EQ(counts.cancelled, cancelled);
  EXPECT_EQ(counts.ended, 300 - cancelled);
  EXPECT_EQ(counts.running + counts.waiting, 0U);
  EXPECT_FALSE(batch.step());
  EXPECT_LE(model.executor->copies, 600U);
}

TEST(ContinuousBatch, WhoWaitsBeginsInTheSlotThatIsFree) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.slots = 1});
  std::vector<Id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(batch.submit(request_of({1, i}, 3)));
  while (batch.step()) continue;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ids_of(batch.poll(ids[static_cast<size_t>(i)])), alone(request_of({1, i}, 3)));
  EXPECT_EQ(model.executor->copies, 0U);
}

TEST(ContinuousBatch, RoomIsForAllOrNone) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.most_waiting = 2});
  EXPECT_EQ(batch.most_requests(), 6U);
  EXPECT_HAS(message_of([&] { batch.require_room(7); }), "7 requests at once: expected at most 6");
  batch.require_room(6);
  batch.submit(request_of({1}, 9));
  batch.require_room(5);
  try {
    batch.require_room(6);
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unavailable);
  }
}

TEST(ContinuousBatch, LongPromptsDoNotStallOthers) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.chunk = 4});
  const Id first = batch.submit(request_of({1, 2}, 20));
  batch.step();
  const Id second = batch.submit(request_of(Tokens(30, 3), 2));
  for (int step = 0; step < 8; ++step) {
    batch.step();
    EXPECT_EQ(batch.poll(first).tokens.size(), step == 0 ? 2U : 1U) << step;
    EXPECT_EQ(batch.poll(second).tokens.size(), step == 7 ? 1U : 0U) << step;
  }
  for (const auto& [rows, length] : model.executor->shapes) EXPECT_TRUE(rows == 1 || length == 1);
}

TEST(ContinuousBatch, FirstComeFirstServed) {
  RememberingModel model;
  ContinuousBatch batch(*model.session, {.slots = 2});
  std::vector<Id> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(batch.submit(request_of({1, i}, 3)));
  std::vector<Id> ended;
  while (batch.step())
    for (const Id id : ids)
      if (std::ranges::count(ended, id) == 0 && batch.poll(id).finish != Finish::none) ended.push_back(id);
  EXPECT_EQ(ended, ids);
}

TEST(ContinuousBatch, RequestsOfASmallerPriorityBeginFirst) {
  RememberingModel model(1);
  ContinuousBatch batch(*model.session);
  const auto submit = [&](int32_t priority) {
    Request request = request_of({1, 2}, 2);
    request.priority = priority;
    return batch.submit(request);
  };
  submit(0);
  batch.step();  // the first request runs, and stays
  const std::vector<Id> ids = {submit(1), submit(-3), submit(0), submit(-3), submit(1)};
  std::vector<Id> begun;
  while (batch.step())
    for (const Id id : ids)
      if (std::ranges::count(begun, id) == 0 && batch.poll(id).has_begun) begun.push_back(id);
  EXPECT_EQ(begun, (std::vector<Id>{ids[1], ids[3], ids[2], ids[0], ids[4]}));
}

TEST(ContinuousBatch, RefusesWhatCanNeverRunByName) {
  RememberingModel model(2, 16);
  ContinuousBatch batch(*model.session, {.most_waiting = 2});
  const auto message = [&](Request request) { return message_of([&] { batch.submit(std::move(request)); }); };
  EXPECT_HAS(message(request_of(Tokens(10, 1), 8)), "10 tokens and 8 new ones exceed the 16");
  EXPECT_HAS(message(request_of({}, 1)), "the prompt is empty");
  EXPECT_HAS(message(request_of({23}, 1)), "token 23 of the prompt");
  Request beams = request_of({1}, 1);
  beams.options.num_beams = 3;
  EXPECT_HAS(message(beams), "num_beams 3: expected at most 2");
  Request source = request_of({1}, 1);
  source.source = {1};
  EXPECT_HAS(message(source), "the model has no encoder");
  Request stop = request_of({1}, 1);
  stop.stop = {"x"};
  EXPECT_HAS(message(stop), "no text without a tokenizer");
  EXPECT_HAS(message_of([&] { ContinuousBatch(*model.session, {.slots = 3}); }),
             "3 slots: expected at most 2");
  for (int i = 0; i < 4; ++i) batch.submit(request_of(Tokens(10, 1), 7));
  try {
    batch.submit(request_of({1}, 1));
    ADD_FAILURE() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::unavailable);
    EXPECT_HAS(std::string(error.what()), "0 requests run and 4 wait");
  }
}

TEST(ContinuousBatch, RefusesPlansThatItCannotServe) {
  const auto fault = [](Plan plan) {
    Session session(std::make_shared<const Plan>(std::move(plan)),
                    std::make_unique<RememberingExecutor>(2, 8));
    return message_of([&] { ContinuousBatch batch(session); });
  };
  Plan whole = remembering_plan(2, 8);
  whole.entries.pop_back();
  EXPECT_HAS(fault(std::move(whole)), "without --no-kv-cache");
}

TEST(ContinuousBatch, StopTextsAreNoPartOfTheText) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  const auto letters = [](std::optional<int32_t> token) {
    return token ? std::string(1, static_cast<char>('a' + *token)) : std::string();
  };
  Request request = request_of({4, 2}, 12);
  std::string all;
  for (const int32_t token : alone(request)) all += letters(token);
  request.text = letters, request.stop = {all.substr(5, 3)}, request.log_probabilities = 2;
  const size_t at = all.find(request.stop[0]);
  const Id id = batch.submit(request);
  while (batch.step()) continue;
  const Progress progress = batch.poll(id);
  EXPECT_EQ(progress.text, all.substr(0, at));
  EXPECT_EQ(progress.finish, Finish::stop);
  ASSERT_EQ(progress.tokens.size(), at + 3);
  for (const NewToken& token : progress.tokens) {
    ASSERT_EQ(token.best.size(), 2U);
    EXPECT_EQ(token.best[0], std::pair(token.id, token.log_probability));  // greedy
    EXPECT_LE(token.best[1].second, token.best[0].second);
  }
}

/// The stop text is the first letter that comes again after the tokens that it does not end.
TEST(ContinuousBatch, StopTextsMayCountLaterAndBeShown) {
  RandomRequests random(5);
  for (int round = 0; round < 40; ++round) {
    RememberingModel model;
    ContinuousBatch batch(*model.session);
    const auto letters = [](std::optional<int32_t> token) {
      return token ? std::string(1, static_cast<char>('a' + *token)) : std::string();
    };
    Request request = request_of(random.tokens(3), 15);
    request.options.do_sample = true, request.options.seed = static_cast<uint32_t>(round);
    std::string all;
    for (const int32_t token : alone(request)) all += letters(token);
    request.text = letters, request.stop = {all.substr(static_cast<size_t>(random.number(15)), 1)};
    request.unstopped_tokens = static_cast<size_t>(random.number(10));
    request.includes_stop = random.number(2) == 1;
    const size_t at = all.find(request.stop[0], request.unstopped_tokens);
    const Id id = batch.submit(request);
    while (batch.step()) continue;
    const Progress progress = batch.poll(id);
    const bool is_found = at != std::string::npos;
    EXPECT_EQ(progress.text, is_found ? all.substr(0, at + (request.includes_stop ? 1 : 0)) : all);
    EXPECT_EQ(progress.finish, is_found ? Finish::stop : Finish::length);
  }
}

TEST(ContinuousBatch, AnEndTokensTextMayBeShown) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  Request request = request_of({4, 2}, 12);
  request.options.eos_token_id = {alone(request)[4]};
  request.text = [](std::optional<int32_t> token) { return token ? "x" : "."; };
  const size_t count = alone(request).size();
  for (const bool includes : {false, true}) {
    request.includes_stop = includes;
    const Id id = batch.submit(request);
    while (batch.step()) continue;
    EXPECT_EQ(batch.poll(id).text, std::string(count - (includes ? 0 : 1), 'x') + ".");
  }
}

TEST(ContinuousBatch, OffsetsCountTextThatIsHeldBack) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  Request request = request_of({4, 2}, 6);
  request.text = [](std::optional<int32_t> token) { return token ? "\u00e9a" : ""; };
  request.stop = {"\u00e9a\u00e9a\u00e9ab"};
  const Id id = batch.submit(request);
  while (batch.step()) continue;
  const Progress progress = batch.poll(id);
  ASSERT_EQ(progress.tokens.size(), 6U);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(progress.tokens[i].text_begin, 2 * i);
}

TEST(ContinuousBatch, AFaultOfTheDeviceEndsWhatRunsAndNothingElse) {
  RememberingModel model;
  ContinuousBatch batch(*model.session);
  const Id first = batch.submit(request_of({1}, 9));
  batch.step();
  model.executor->breaks = true;
  batch.step();
  const Progress progress = batch.poll(first);
  EXPECT_EQ(progress.finish, Finish::failed);
  EXPECT_HAS(progress.error, "the device is gone");
  EXPECT_HAS(message_of([&] { batch.poll(first); }), "no request 1");
  const Request next = request_of({5, 6}, 4);
  const Id second = batch.submit(next);
  while (batch.step()) continue;
  EXPECT_EQ(ids_of(batch.poll(second)), alone(next));
}

}  // namespace
}  // namespace smelt
