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
  smelt_request request = [this] {
    auto made = sized<smelt_request>();
    made.ids = prompt.data(), made.count = prompt.size();
    return made;
  }();
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

TEST_F(CApiBatch, BeamSearchesReportTheirResultsAtTheEnd) {
  smelt_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(smelt_tokenizer_from_json(kTokenizer.data(), kTokenizer.size(), &tokenizer), SMELT_OK);
  request.tokenizer = tokenizer;
  request.json = R"({"max_new_tokens": 2, "num_beams": 2, "num_return_sequences": 2, "length_penalty": 0.0})";
  const uint64_t id = submit(request);
  smelt_tokenizer_free(tokenizer);
  auto beam = sized<smelt_batch_beam>();
  EXPECT_EQ(poll(id).beam_count, 0U);
  run();
  const smelt_progress progress = poll(id);
  ASSERT_EQ(progress.beam_count, 2U);
  EXPECT_EQ(progress.count, 0U);
  EXPECT_EQ(progress.finish, SMELT_FINISH_STOP);
  ASSERT_EQ(smelt_batch_polled_beam(batch, 0, &beam), SMELT_OK) << smelt_last_error();
  EXPECT_EQ(std::vector<int32_t>(beam.ids, beam.ids + beam.count), (std::vector<int32_t>{2, 2}));
  EXPECT_NEAR(beam.score, 2 * std::log(0.4), 1e-5);
  EXPECT_EQ(std::string(beam.text, beam.bytes), " c c");
  EXPECT_EQ(beam.finish, SMELT_FINISH_LENGTH);
  ASSERT_EQ(smelt_batch_polled_beam(batch, 1, &beam), SMELT_OK);
  EXPECT_NEAR(beam.score, std::log(0.4) + std::log(0.2), 1e-5);
  EXPECT_EQ(smelt_batch_polled_beam(batch, 2, &beam), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "beam 2: the last poll has reported 2");
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
  for (const char* json : {R"({"num_beams": 3})", R"({"num_return_sequences": 2, "do_sample": true})",
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
  auto options = sized<smelt_batch_options>(), many = options;
  options.slots = options.most_waiting = 1, many.slots = 3;
  smelt_batch_free(batch);
  batch = nullptr;
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

smelt_batch_token token_of(const smelt_batch* batch, size_t index, bool of_prompt = false) {
  auto token = sized<smelt_batch_token>();
  const auto get = of_prompt ? smelt_batch_polled_prompt_token : smelt_batch_polled_token;
  EXPECT_EQ(get(batch, index, &token), SMELT_OK) << smelt_last_error();
  return token;
}

TEST_F(CApiBatch, TokensHaveTheMostProbableOnesNextToThem) {
  request.log_probabilities = request.prompt_log_probabilities = 1;
  request.best = 2, request.prompt_best = 1;
  const uint64_t id = submit(request);
  run();
  const smelt_progress progress = poll(id);
  EXPECT_EQ(progress.has_begun, 1);
  ASSERT_EQ(progress.count, 3U);
  const smelt_batch_token token = token_of(batch, 1);
  EXPECT_EQ(token.id, 2);
  EXPECT_NEAR(token.log_probability, std::log(0.4), 1e-5);
  ASSERT_EQ(token.best_count, 2U);
  EXPECT_EQ(token.best_ids[1], 3);
  EXPECT_NEAR(token.best_log_probabilities[1], std::log(0.2), 1e-5);
  ASSERT_EQ(progress.prompt_count, 2U);
  EXPECT_EQ(token_of(batch, 0, true).has_log_probability, 0) << "nothing precedes the first token";
  const smelt_batch_token second = token_of(batch, 1, true);
  EXPECT_EQ(second.id, 4);
  EXPECT_NEAR(second.log_probability, std::log(0.1), 1e-5);
  EXPECT_EQ(second.rank, 4U);
  EXPECT_EQ(second.best_count, 1U);
  auto none = sized<smelt_batch_token>();
  EXPECT_EQ(smelt_batch_polled_token(batch, 3, &none), SMELT_INVALID_ARGUMENT);
  request.log_probabilities = 0;
  EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "best 2");
}

TEST_F(CApiBatch, ASpecificationLimitsTheText) {
  request.specification = R"({"guided_regex": "( [ab])+"})";
  EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "without a tokenizer");
  smelt_tokenizer* tokenizer = nullptr;
  ASSERT_EQ(smelt_tokenizer_from_json(kTokenizer.data(), kTokenizer.size(), &tokenizer), SMELT_OK);
  request.tokenizer = tokenizer;
  const uint64_t id = submit(request);
  for (const char* wrong : {"{}", "[]", "{", R"({"guided_regex": "("})", R"({"guided": 1})"}) {
    request.specification = wrong;
    EXPECT_EQ(refused(request), SMELT_INVALID_ARGUMENT) << wrong;
  }
  smelt_tokenizer_free(tokenizer);
  run();
  EXPECT_EQ(ids(poll(id)), (std::vector<int32_t>{1, 1, 1}));
}

TEST_F(CApiBatch, LimitsAndCountsSayWhatItDoes) {
  auto limits = sized<smelt_batch_limits>();
  ASSERT_EQ(smelt_batch_get_limits(batch, &limits), SMELT_OK);
  EXPECT_EQ(limits.vocabulary, kWords);
  EXPECT_EQ(limits.capacity, static_cast<size_t>(kLength));
  EXPECT_EQ(limits.most_requests, 64U + kSlots);
  submit(request), submit(request), submit(request);
  ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  auto counts = sized<smelt_batch_counts>();
  ASSERT_EQ(smelt_batch_get_counts(batch, &counts), SMELT_OK);
  EXPECT_EQ(counts.slots, static_cast<size_t>(kSlots));
  EXPECT_EQ(counts.running + counts.waiting, 3U);
  run();
  ASSERT_EQ(smelt_batch_get_counts(batch, &counts), SMELT_OK);
  EXPECT_EQ(counts.ended, 3U);
  EXPECT_EQ(counts.new_tokens, 9U);
  EXPECT_EQ(counts.prompt_tokens, 6U);
}

TEST_F(CApiBatch, RequestsOfASmallerPriorityComeFirst) {
  submit(request), submit(request);
  ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  const uint64_t last = submit(request);
  request.priority = -1;
  const uint64_t first = submit(request);
  while (poll(last).has_begun == 0) ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  EXPECT_EQ(poll(first).has_begun, 1);
}

/// Structs of the first version, whose later members are not read.
TEST_F(CApiBatch, OlderApplicationsGoOn) {
  smelt_batch_free(batch);
  batch = nullptr;
  auto options = sized<smelt_batch_options>();
  options.struct_size = offsetof(smelt_batch_options, draft), options.draft = 99;
  ASSERT_EQ(smelt_batch_create(session, &options, &batch), SMELT_OK) << smelt_last_error();
  request.struct_size = offsetof(smelt_request, index), request.best = 99;
  const uint64_t id = submit(request);
  run();
  smelt_progress progress{};
  progress.struct_size = offsetof(smelt_progress, prompt_count), progress.has_begun = 77;
  ASSERT_EQ(smelt_batch_poll(batch, id, &progress), SMELT_OK) << smelt_last_error();
  EXPECT_EQ(progress.count, 3U);
  EXPECT_EQ(progress.has_begun, 77);
  smelt_batch_free(batch);
  batch = nullptr;
  options.struct_size = sizeof options;
  EXPECT_EQ(smelt_batch_create(session, &options, &batch), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "drafts");
}

// ---- new weights

smelt_tensor weight(const std::vector<float>& values) {
  auto tensor = sized<smelt_tensor>();
  tensor.name = "w", tensor.rank = 1, tensor.shape[0] = std::ssize(values);
  tensor.data = const_cast<float*>(values.data()), tensor.bytes = 4 * values.size();
  return tensor;
}

TEST_F(CApiBatch, TakesNewWeights) {
  const uint64_t running = submit(request);
  ASSERT_EQ(smelt_batch_step(batch, nullptr), SMELT_OK);
  std::vector<float> values = {0, 9, 0, 0, 0, 0};
  smelt_tensor tensor = weight(values);
  auto update = sized<smelt_weight_update>();
  update.version = 12, update.waits = 1;
  ASSERT_EQ(smelt_batch_update_weights(batch, &tensor, 1, &update), SMELT_OK) << smelt_last_error();
  values.assign(values.size(), 0);  // the batch has its own copy while the update waits
  const uint64_t later = submit(request);
  run();
  EXPECT_EQ(ids(poll(running)), (std::vector<int32_t>{2, 2, 2}));
  EXPECT_EQ(token_of(batch, 2).weights_version, 0U);
  EXPECT_EQ(ids(poll(later)), (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(token_of(batch, 0).weights_version, 12U);
}

TEST_F(CApiBatch, TakesTheWeightsOfAnotherSession) {
  smelt_session* trainer = nullptr;
  ASSERT_EQ(smelt_session_create(plan, nullptr, &trainer), SMELT_OK);
  const float values[] = {0, 0, 0, 9, 0, 0};
  ASSERT_EQ(smelt_session_write_state(trainer, "parameters", 0, values, sizeof values), SMELT_OK);
  ASSERT_EQ(smelt_batch_copy_weights(batch, trainer, nullptr), SMELT_OK) << smelt_last_error();
  smelt_session_free(trainer);
  const uint64_t id = submit(request);
  run();
  EXPECT_EQ(ids(poll(id)), (std::vector<int32_t>{3, 3, 3}));
  auto counts = sized<smelt_batch_counts>();
  ASSERT_EQ(smelt_batch_get_counts(batch, &counts), SMELT_OK);
  EXPECT_EQ(counts.weights_version, 1U);
  EXPECT_EQ(smelt_batch_copy_weights(batch, nullptr, nullptr), SMELT_INVALID_ARGUMENT);
}

TEST_F(CApiBatch, ChangesNothingForWeightsThatDoNotFit) {
  const std::vector<float> values(6, 1);
  const auto refuses = [&](const char* part, const auto& change) {
    smelt_tensor tensor = weight(values);
    change(tensor);
    EXPECT_NE(smelt_batch_update_weights(batch, &tensor, 1, nullptr), SMELT_OK);
    EXPECT_HAS(smelt_last_error(), part);
  };
  refuses("missing", [](smelt_tensor& t) { t.name = "v"; });
  refuses("is null", [](smelt_tensor& t) { t.name = nullptr; });
  refuses("is null", [](smelt_tensor& t) { t.data = nullptr; });
  refuses("expected floats", [](smelt_tensor& t) { t.shape[0] = 5; });
  refuses("expected floats", [](smelt_tensor& t) { t.dtype = SMELT_I32; });
  refuses("no smelt_dtype", [](smelt_tensor& t) { t.dtype = 99; });
  refuses("SMELT_MEMORY_HOST", [](smelt_tensor& t) { t.memory = SMELT_MEMORY_DEVICE; });
  refuses("are given", [](smelt_tensor& t) { t.bytes = 20; });
  refuses("no memory has", [](smelt_tensor& t) { t.shape[0] = -1; });
  refuses("rank 9", [](smelt_tensor& t) { t.rank = 9; });
  const smelt_tensor twice[] = {weight(values), weight(values)};
  EXPECT_EQ(smelt_batch_update_weights(batch, twice, 2, nullptr), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "given twice");
  const uint64_t id = submit(request);
  run();
  EXPECT_EQ(ids(poll(id)), (std::vector<int32_t>{2, 2, 2}));
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
