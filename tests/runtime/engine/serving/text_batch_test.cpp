// Texts of many requests in runs of about equally long ones.
#include "runtime/engine/serving/text_batch.h"

#include <algorithm>
#include <bit>
#include <map>
#include <random>

#include "tests/runtime/engine/serving/encoding_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Floats = std::vector<float>;

Request text_of(size_t length, int32_t first, bool is_pair = false) {
  Request request{.prompt = {}, .options = {}};
  for (size_t i = 0; i < length; ++i) {
    request.prompt.push_back(static_cast<int32_t>((static_cast<size_t>(first) + i * 7) % kWords));
    if (is_pair) request.token_types.push_back(i < length / 2 ? 0 : 1);
  }
  return request;
}

/// The mean of the states of the text alone.
Floats vector_alone(const Request& request) {
  const auto last = static_cast<float>(request.prompt.size() - 1);
  return {last / 2, encoded_text(request.prompt, request.token_types)};
}

std::vector<Request> random_texts(size_t count, size_t longest) {
  std::mt19937 random(5);
  std::vector<Request> texts;
  for (size_t i = 0; i < count; ++i)
    texts.push_back(text_of(1 + random() % longest, static_cast<int32_t>(random() % kWords), i % 3 == 0));
  return texts;
}

/// Submits all, and returns their results when nothing waits any more.
std::vector<Progress> all_results(TextBatch& batch, const std::vector<Request>& texts) {
  std::vector<TextBatch::Id> ids;
  for (const Request& text : texts) ids.push_back(batch.submit(text));
  while (batch.step()) continue;
  std::vector<Progress> results;
  for (const TextBatch::Id id : ids) results.push_back(batch.poll(id));
  return results;
}

void expect_own_vectors(TextBatch& batch, const std::vector<Request>& texts) {
  const std::vector<Progress> results = all_results(batch, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(results[i].finish, Finish::stop) << results[i].error;
    EXPECT_EQ(results[i].vector, vector_alone(texts[i])) << i;
  }
}

TEST(TextBatch, EachOfManyTextsGetsItsOwnVector) {
  EncodingModel model;
  TextBatch batch(*model.session, {.step_tokens = 100, .most_waiting = 300});
  expect_own_vectors(batch, random_texts(300, 64));
  for (const auto& [rows, length] : model.executor->shapes) {
    EXPECT_LE(rows * length, 100);
    EXPECT_LE(rows, 8);
  }
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_EQ(counts.ended, 300U);
  EXPECT_EQ(counts.steps, model.executor->shapes.size());
  EXPECT_LT(counts.steps, 200U) << "texts share runs";
  EXPECT_LT(counts.padding_tokens * 10, counts.prompt_tokens) << "runs have texts of about one length";
}

TEST(TextBatch, TheOldestTextIsAlwaysInTheNextRun) {
  EncodingModel model;
  TextBatch batch(*model.session, {.step_tokens = 128, .most_waiting = 100});
  const TextBatch::Id oldest = batch.submit(text_of(3, 1));
  for (int i = 0; i < 50; ++i) batch.submit(text_of(40, 2));
  ASSERT_TRUE(batch.step());
  EXPECT_EQ(batch.poll(oldest).finish, Finish::stop);
  EXPECT_EQ(model.executor->shapes.at(0), (std::pair<int64_t, int64_t>{1, 3})) << "it is not padded to 40";
}

TEST(TextBatch, WithoutAMaskTextsOfARunAreEquallyLong) {
  EncodingModel model({.has_mask = false});
  TextBatch batch(*model.session, {.most_waiting = 200});
  expect_own_vectors(batch, random_texts(200, 20));
  EXPECT_EQ(batch.counts().padding_tokens, 0U);
  EXPECT_LT(batch.counts().steps, 100U);
}

TEST(TextBatch, ADeviceThatCapturesRunsGetsFewSizes) {
  EncodingModel model({.target = "sm_90", .length = 50});
  TextBatch batch(*model.session, {.step_tokens = 100, .most_waiting = 300, .prepares = true});
  auto& shapes = model.executor->shapes;
  std::map<std::pair<int64_t, int64_t>, int> prepared;
  for (const auto& shape : shapes) ++prepared[shape];
  EXPECT_LE(prepared.size(), 12U);
  for (const auto& [shape, times] : prepared) EXPECT_EQ(times, 2);
  shapes.clear();
  expect_own_vectors(batch, random_texts(300, 50));
  for (const auto& shape : shapes)
    EXPECT_TRUE(prepared.contains(shape)) << shape.first << " " << shape.second;
}

TEST(TextBatch, ScoresOfClassesAreNotPooled) {
  EncodingModel model({.classifies = true});
  TextBatch batch(*model.session, {.most_waiting = 9});
  EXPECT_TRUE(batch.classifies());
  const Request text = text_of(5, 3, true);
  EXPECT_EQ(all_results(batch, {text})[0].vector, (Floats{0, encoded_text(text.prompt, text.token_types)}));
}

TEST(TextBatch, CancelledTextsAreNotRun) {
  EncodingModel model;
  TextBatch batch(*model.session, {.most_waiting = 4});
  const TextBatch::Id gone = batch.submit(text_of(5, 1)), other = batch.submit(text_of(6, 2));
  batch.cancel(gone);
  batch.cancel(99);
  EXPECT_EQ(batch.poll(gone).finish, Finish::cancelled);
  EXPECT_EQ(batch.counts().waiting, 1U);
  while (batch.step()) continue;
  EXPECT_EQ(model.executor->shapes.size(), 1U);
  EXPECT_EQ(model.executor->shapes[0].first, 1);
  EXPECT_EQ(batch.poll(other).finish, Finish::stop);
  EXPECT_THROW(batch.poll(other), Error);
  EXPECT_TRUE(batch.idle());
}

TEST(TextBatch, AFaultEndsTheTextsOfItsRunAlone) {
  EncodingModel model;
  TextBatch batch(*model.session, {.most_waiting = 4});
  const TextBatch::Id bad = batch.submit(text_of(3, 1)), good = batch.submit(text_of(60, 1));
  model.executor->breaks = true;
  while (batch.step()) continue;
  EXPECT_EQ(batch.poll(bad).finish, Finish::failed);
  EXPECT_EQ(batch.poll(good).finish, Finish::stop);
  EXPECT_EQ(batch.counts().failed, 1U);
}

TEST(TextBatch, RefusesWhatCanNeverRun) {
  EncodingModel model;
  TextBatch batch(*model.session, {.most_waiting = 2, .most_tokens = 40});
  const auto fault = [&](const Request& request) { return message_of([&] { batch.check(request); }); };
  EXPECT_HAS(fault(text_of(0, 1)), "no tokens");
  EXPECT_HAS(fault(text_of(41, 1)), "at most 40");
  EXPECT_HAS(fault({.prompt = {kWords}, .options = {}}), "vocabulary of 23");
  EXPECT_HAS(fault({.prompt = {-1}, .options = {}}), "vocabulary of 23");
  EXPECT_HAS(fault({.prompt = {1}, .token_types = {2}, .options = {}}), "2 types");
  batch.submit(text_of(4, 1)), batch.submit(text_of(4, 1));
  EXPECT_HAS(message_of([&] { batch.submit(text_of(4, 1)); }), "try again later");
  EXPECT_HAS(message_of([&] { batch.require_room(3); }), "at most 2");
}

TEST(TextBatch, RefusesPlansThatReadNoTexts) {
  RememberingModel decoder;
  EXPECT_THROW(TextBatch(*decoder.session, {}), Error);
  EncodingModel model;
  EXPECT_HAS(message_of([&] { TextBatch(*model.session, {.step_tokens = 10}); }), "smaller --max T=");
}

}  // namespace
}  // namespace smelt
