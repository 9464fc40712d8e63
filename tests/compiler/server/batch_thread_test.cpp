// Many threads that ask one batch, and some that go away.
#ifdef SMELT_SERVER
#include "compiler/server/batch_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/completion_reply.h"
#include "tests/runtime/engine/serving/late_model.h"

namespace smelt::server {
namespace {

using std::chrono::milliseconds;

Request request_of(int32_t first, int64_t fresh) {
  Request request{.prompt = {first, 2, 3}, .options = {}};
  request.options.max_new_tokens = fresh;
  return request;
}

std::vector<int32_t> greedy(const Request& request) {
  std::vector<int32_t> tokens = request.prompt, fresh;
  while (std::ssize(fresh) < request.options.max_new_tokens) {
    const std::vector<float> logits = remembered_logits(tokens);
    fresh.push_back(static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin()));
    tokens.push_back(fresh.back());
  }
  return fresh;
}

/// What is told of one choice until it ends.
Progress all_of(Mailbox& mailbox) {
  Progress all;
  while (all.finish == Finish::none) append(all, std::move(mailbox.wait(milliseconds(1000))[0]));
  return all;
}

void expect_alone(BatchThread& batch, const Request& request) {
  const Progress progress = all_of(*batch.submit({request}));
  std::vector<int32_t> ids;
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  EXPECT_EQ(ids, greedy(request));
}

TEST(BatchThread, AnswersManyThreads) {
  RememberingModel model;
  BatchThread batch(*model.session, {.most_waiting = 100, .chunk = 2});
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < 8; ++t)
    threads.emplace_back([&batch, t] {
      for (int32_t i = 0; i < 20; ++i) {
        expect_alone(batch, request_of((t * 5 + i) % kWords, 1 + (t + i) % 20));
        if (i % 4 == 0) batch.submit({request_of(t, 40), request_of(i, 40)})->abandon();
        EXPECT_LE(batch.counts().running, 4U);
      }
    });
  for (std::thread& thread : threads) thread.join();
  while (batch.counts().running + batch.counts().waiting > 0) std::this_thread::yield();
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_EQ(counts.ended + counts.cancelled, 8U * (20 + 2 * 5));
  EXPECT_EQ(counts.failed, 0U);
}

/// The last step of a request ends behind its end.
TEST(BatchThread, EndsWhatIsUnderWayWhenNobodyWaits) {
  LateModel model(4, 96, 12);
  BatchThread batch(*model.session, {.ahead = 2});
  Request ends = request_of(1, 60);
  ends.options.eos_token_id = {greedy(ends)[5]};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all_of(*batch.submit({ends})).finish, Finish::stop);
    batch.submit({request_of(1, 60)})->abandon();
    for (int look = 0; look < 5000 && batch.counts().running > 0; ++look)
      std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(batch.counts().running, 0U);
    EXPECT_EQ(batch.counts().pages.used, 0U);
  }
}

TEST(BatchThread, OneRefusedChoiceIsAllOfThem) {
  RememberingModel model;
  BatchThread batch(*model.session, {.most_waiting = 2});
  std::vector<Request> requests(6, request_of(1, 40));
  requests[5] = request_of(1, 400);
  EXPECT_THROW(batch.submit(requests), Error);
  EXPECT_THROW(batch.submit(std::vector<Request>(7, request_of(1, 40))), Error);
  expect_alone(batch, request_of(4, 5));
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_EQ(counts.cancelled + counts.ended, 1U) << "none of the others has begun";
}

/// "status code" of what a submission throws.
std::string refusal(BatchThread& batch, const Request& request) {
  try {
    batch.submit({request});
  } catch (const Error& error) {
    const ApiError told = api_error(error);
    return fmt::format("{} {}", told.http_status(), told.code());
  }
  return "none";
}

Request faulty() {
  Request request = request_of(1, 0);  // ends, with its text, when it is submitted
  request.text = [](std::optional<int32_t>) -> std::string { throw std::runtime_error("a fault"); };
  return request;
}

TEST(BatchThread, AFaultWhileRequestsAreTakenRefusesAll) {
  RememberingModel model(4, 1 << 20);
  BatchThread batch(*model.session, {});
  const auto running = batch.submit({request_of(1, 1 << 19)});
  std::vector<std::future<std::string>> refusals;
  for (int i = 0; i < 8; ++i)
    refusals.push_back(std::async(std::launch::async, [&] { return refusal(batch, faulty()); }));
  for (auto& each : refusals) EXPECT_EQ(each.get(), "500 ");
  EXPECT_EQ(refusal(batch, request_of(1, 1)), "500 ") << "not for another try";
  EXPECT_EQ(batch.fault(), "the service has ended: a fault");
  EXPECT_EQ(all_of(*running).finish, Finish::failed);
}

TEST(BatchThread, WhatRunsWhenItClosesFails) {
  RememberingModel model(4, 1 << 20);
  BatchThread batch(*model.session, {});
  const auto mailbox = batch.submit({request_of(1, 1 << 19)});
  batch.close();
  const Progress progress = all_of(*mailbox);
  EXPECT_EQ(progress.finish, Finish::failed);
  EXPECT_EQ(progress.error, "the server ends");
  EXPECT_EQ(refusal(batch, request_of(1, 1)), "503 shutting_down");
}

}  // namespace
}  // namespace smelt::server
#endif
