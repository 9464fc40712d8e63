// The C interface's continuous batches, shared weights and log, over a plan whose logits are the same at
// every place.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/plan/plan_file.h"
#include "runtime/smelt.h"
#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kWords = 6, kSlots = 2, kLength = 8;

Buffer batch_buffer(const char* name, Role role, const Dim& elements, int64_t bytes,
                    DType dtype = DType::i32) {
  Buffer made;
  made.name = name, made.role = role, made.elements = elements, made.bytes = bytes, made.dtype = dtype;
  return made;
}

/// decode: the parameters for every row; reorder: nothing, since there is nothing in a cache.
Plan served_unigram() {
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  Plan plan;
  plan.target = "cpu";
  plan.model = R"({"generation": {"max_new_tokens": 3, "num_beams": 4, "num_beam_groups": 2,
                   "diversity_penalty": 1.0}, "eos_token_id": [5]})";
  plan.symbols.bound({"B"}, kSlots), plan.symbols.bound({"T"}, kLength);
  State state{"parameters", Role::parameter, DType::f32, {kWords}, {}, {}};
  state.segments = {{"w", {kWords}, 0, {}, true, {"w"}, false}};
  plan.states = {state};
  plan.buffers = {batch_buffer("input_ids", Role::input, b * t, 4 * kSlots * kLength),
                  batch_buffer("past_length", Role::input, b, 4 * kSlots),
                  batch_buffer("logits", Role::output, b * kWords, 4 * kSlots * kWords, DType::f32),
                  batch_buffer("parameters", Role::parameter, kWords, 4 * kWords, DType::f32),
                  batch_buffer("from", Role::input, b, 4 * kSlots),
                  batch_buffer("to", Role::input, b, 4 * kSlots),
                  batch_buffer("places", Role::input, t, 4 * kLength),
                  batch_buffer("lengths", Role::input, b, 4 * kSlots)};
  plan.buffers[3].state = 0;
  PlanEntry decode, reorder;
  decode.name = "decode";
  decode.inputs = {{"input_ids", DType::i32, {b, t}, 0, false, IdRange{kWords}},
                   {"past_length", DType::i32, {b}, 1},
                   {"lengths", DType::i32, {b}, 7, true, {}, -1}};
  decode.outputs = {{"logits", DType::f32, {b, kWords}, 2, false}};
  Step& step = decode.steps.emplace_back();
  step.what = CopyStep{{3, 0}, {2, 0}, {b, kWords}, {0, 1}, {kWords, 1}, DType::f32};
  step.reads = {3}, step.writes = {2}, step.phase = "forward";
  reorder.name = "reorder";
  reorder.inputs = {{"from", DType::i32, {b}, 4}, {"to", DType::i32, {b}, 5}, {"places", DType::i32, {t}, 6}};
  plan.entries = {decode, reorder};
  return plan;
}

constexpr std::string_view kTokenizer = R"({"model": {"type": "WordLevel", "unk_token": "a",
  "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5}}, "pre_tokenizer": {"type": "WhitespaceSplit"}})";

class CApiBatch : public testing::Test {
 protected:
  void SetUp() override {
    save_plan(served_unigram(), d / "unigram.plan");
    ASSERT_EQ(smelt_plan_load((d / "unigram.plan").c_str(), &plan), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_session_create(plan, nullptr, &session), SMELT_OK) << smelt_last_error();
    std::vector<float> logits;
    for (const double p : {0.1, 0.15, 0.4, 0.2, 0.1, 0.05}) logits.push_back(static_cast<float>(std::log(p)));
    ASSERT_EQ(smelt_session_write_state(session, "parameters", 0, logits.data(), 4 * kWords), SMELT_OK);
    ASSERT_EQ(smelt_batch_create(session, nullptr, &batch), SMELT_OK) << smelt_last_error();
  }
  void TearDown() override {
    smelt_batch_free(batch);
    smelt_session_free(session);
    smelt_plan_free(plan);
  }
  uint64_t submit(const smelt_request& request) {
    uint64_t id = 0;
    EXPECT_EQ(smelt_batch_submit(batch, &request, &id), SMELT_OK) << smelt_last_error();
    return id;
  }
  smelt_status refused(const smelt_request& request) {
    uint64_t id = 77;
    const smelt_status status = smelt_batch_submit(batch, &request, &id);
    EXPECT_EQ(id, 77U);
    return status;
  }
  void run() {
    for (int32_t worked = 1; worked != 0;) ASSERT_EQ(smelt_batch_step(batch, &worked), SMELT_OK);
  }
  smelt_progress poll(uint64_t id) {
    auto progress = sized<smelt_progress>();
    EXPECT_EQ(smelt_batch_poll(batch, id, &progress), SMELT_OK) << smelt_last_error();
    return progress;
  }
  static std::vector<int32_t> ids(const smelt_progress& p) { return {p.ids, p.ids + p.count}; }

  TemporaryDirectory d;
  smelt_plan* plan = nullptr;
  smelt_session* session = nullptr;
  smelt_batch* batch = nullptr;
  const std::vector<int32_t> prompt = {1, 4};
  smelt_request request{sizeof request, prompt.data(), prompt.size(), nullptr, nullptr, nullptr, 0, 0};
};

TEST_F(CApiBatch, RequestsRunByTheModelsOptionsAndTheirOwn) {
  std::vector<uint64_t> all = {submit(request)};
  request.json = R"({"max_new_tokens": 5, "no_repeat_ngram_size": 1})";
  all.push_back(submit(request));
  request.json = R"({"suppress_tokens": [2, 3, 1, 0, 4]})";
  request.log_probabilities = 1;
  all.push_back(submit(request));
  EXPECT_EQ(poll(all[0]).finish, SMELT_FINISH_NONE);
  run();
  smelt_progress progress = poll(all[0]);
  EXPECT_EQ(ids(progress), (std::vector<int32_t>{2, 2, 2}));
  EXPECT_EQ(progress.finish, SMELT_FINISH_LENGTH);
  EXPECT_EQ(progress.log_probabilities, nullptr);
  EXPECT_STREQ(progress.text, "");
  EXPECT_STREQ(progress.error, "");
  EXPECT_EQ(ids(poll(all[1])), (std::vector<int32_t>{2, 3, 0, 5}));
  progress = poll(all[2]);
  EXPECT_EQ(ids(progress), std::vector<int32_t>{5}) << "the model's end";
  EXPECT_EQ(progress.finish, SMELT_FINISH_STOP);
  EXPECT_NEAR(progress.log_probabilities[0], std::log(0.05), 1e-5);
  EXPECT_EQ(smelt_batch_poll(batch, all[2], &progress), SMELT_INVALID_ARGUMENT) << "its end was told";
}

TEST_F(CApiBatch, TextComesWithATokenizerAndEndsBeforeAStopText) {
  smelt_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(smelt_tokenizer_from_json(kTokenizer.data(), kTokenizer.size(), &tokenizer), SMELT_OK);
  const char* stop[] = {"d"};
  request.tokenizer = tokenizer, request.stop = stop, request.stop_count = 1;
  request.json = R"({"max_new_tokens": 5, "no_repeat_ngram_size": 1})";
  const uint64_t id = submit(request);
  smelt_tokenizer_free(tokenizer);
  run();
  const smelt_progress progress = poll(id);
  EXPECT_EQ(progress.finish, SMELT_FINISH_STOP);
  EXPECT_EQ(std::string(progress.text, progress.bytes), " c ");
  request.tokenizer = nullptr;
  EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "without a tokenizer");
}

TEST_F(CApiBatch, CancelledRequestsSaySoAndLeaveTheirSlot) {
  const uint64_t first = submit(request), second = submit(request), third = submit(request);
  ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  for (const uint64_t id : {first, third, uint64_t{999}}) EXPECT_EQ(smelt_batch_cancel(batch, id), SMELT_OK);
  run();
  EXPECT_EQ(poll(first).finish, SMELT_FINISH_CANCELLED);
  EXPECT_EQ(poll(third).finish, SMELT_FINISH_CANCELLED);
  EXPECT_EQ(ids(poll(second)), (std::vector<int32_t>{2, 2, 2}));
}

TEST_F(CApiBatch, WhatCanNeverRunIsRefused) {
  EXPECT_EQ(refused(sized<smelt_request>()), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "empty");
  for (const char* json : {R"({"num_beams": 2})", R"({"num_return_sequences": 2, "do_sample": true})",
                           R"({"max_new_tokens": 99})", R"({"no_such": 1})"}) {
    request.json = json;
    EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT) << json;
  }
  request.json = nullptr;
  const std::vector<int32_t> unknown = {6};
  request.ids = unknown.data(), request.count = 1;
  EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT);
  request.ids = nullptr;
  EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT);
  auto progress = sized<smelt_progress>();
  EXPECT_EQ(smelt_batch_step(nullptr, nullptr), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_batch_poll(batch, 5, &progress), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_batch_poll(batch, 5, nullptr), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_batch_submit(batch, nullptr, nullptr), SMELT_INVALID_ARGUMENT);
}

TEST_F(CApiBatch, ThoseThatFindNoRoomMayLater) {
  const smelt_batch_options options{
      .struct_size = sizeof(smelt_batch_options), .slots = 1, .most_waiting = 1, .chunk = 0};
  smelt_batch_free(batch);
  batch = nullptr;
  const smelt_batch_options many{
      .struct_size = sizeof(smelt_batch_options), .slots = 3, .most_waiting = 0, .chunk = 0};
  EXPECT_EQ(smelt_batch_create(session, &many, &batch), SMELT_INVALID_ARGUMENT);
  ASSERT_EQ(smelt_batch_create(session, &options, &batch), SMELT_OK);
  submit(request), submit(request);
  EXPECT_EQ(refused(request), SMELT_UNAVAILABLE);
  run();
  submit(request);
}

TEST_F(CApiBatch, SessionsShareWeights) {
  smelt_session* other = nullptr;
  ASSERT_EQ(smelt_session_share(session, nullptr, &other), SMELT_OK) << smelt_last_error();
  float number = 0;
  EXPECT_EQ(smelt_session_write_state(session, "parameters", 0, &number, 4), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_session_write_state(other, "parameters", 0, &number, 4), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_session_initialize(other, 1), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "share");
  EXPECT_EQ(smelt_session_read_state(other, "parameters", 2, &number, 4), SMELT_OK);
  EXPECT_NEAR(number, std::log(0.4), 1e-6);
  smelt_batch_free(batch), smelt_session_free(session);
  session = other;
  ASSERT_EQ(smelt_batch_create(session, nullptr, &batch), SMELT_OK);
  const uint64_t id = submit(request);
  run();
  EXPECT_EQ(ids(poll(id)), (std::vector<int32_t>{2, 2, 2}));
  EXPECT_EQ(smelt_session_write_state(session, "parameters", 0, &number, 4), SMELT_OK) << "the last one";
  EXPECT_EQ(smelt_session_share(nullptr, nullptr, &other), SMELT_INVALID_ARGUMENT);
  EXPECT_EQ(smelt_session_share(session, nullptr, nullptr), SMELT_INVALID_ARGUMENT);
}

void hear(void* user, smelt_log_level, const char* message) {
  *static_cast<std::string*>(user) += std::string(message) + "\n";
}

TEST_F(CApiBatch, TheLogSaysWhatIsDone) {
  std::string heard;
  ASSERT_EQ(smelt_set_log(hear, &heard), SMELT_OK);
  smelt_plan* again = nullptr;
  smelt_session* other = nullptr;
  EXPECT_EQ(smelt_plan_load((d / "unigram.plan").c_str(), &again), SMELT_OK);
  EXPECT_EQ(smelt_session_create(again, nullptr, &other), SMELT_OK);
  submit(request);
  run();
  ASSERT_EQ(smelt_set_log(nullptr, nullptr), SMELT_OK);
  for (const char* words : {"unigram.plan' loaded", "memory of a session", "entry 'decode' resolved for"})
    EXPECT_HAS(heard.c_str(), words);
  const std::string before = heard;
  smelt_session_free(other), smelt_plan_free(again);
  submit(request);
  run();
  EXPECT_EQ(heard, before);
}

}  // namespace
}  // namespace smelt
