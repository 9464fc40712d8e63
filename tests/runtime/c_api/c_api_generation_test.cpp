// The C interface's generation, over a plan whose logits are the same at every place.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "runtime/plan/plan_file.h"
#include "runtime/smelt.h"
#include "tests/runtime/c_api/sized.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kVocabulary = 6;

Buffer buffer(const char* name, Role role, const Dim& elements, int64_t bytes) {
  Buffer made;
  made.name = name, made.role = role, made.elements = elements, made.bytes = bytes;
  return made;
}

/// logits: of ids [B,T], B <= 2, T <= 8, the parameters at every place.
Plan unigram() {
  const Dim b = Dim::symbol("B"), t = Dim::symbol("T");
  Plan plan;
  plan.target = "cpu";
  plan.model = R"({"generation": {"max_new_tokens": 3}, "eos_token_id": [5]})";
  plan.symbols.bound({"B"}, 2), plan.symbols.bound({"T"}, 8);
  State state{.name = "parameters",
              .role = Role::parameter,
              .dtype = DType::f32,
              .shape = {kVocabulary},
              .init = {},
              .segments = {}};
  state.segments = {{"w", {kVocabulary}, 0, {}, true, {"w"}, false}};
  plan.states = {state};
  plan.buffers = {buffer("input_ids", Role::input, b * t, 64),
                  buffer("logits", Role::output, b * t * kVocabulary, 64 * kVocabulary),
                  buffer("parameters", Role::parameter, kVocabulary, 4 * kVocabulary)};
  plan.buffers[0].dtype = DType::i32;
  plan.buffers[2].state = 0;
  PlanEntry entry;
  entry.name = "logits";
  entry.inputs = {{"input_ids", DType::i32, {b, t}, 0, false, IdRange{kVocabulary}}};
  entry.outputs = {{"logits", DType::f32, {b, t, kVocabulary}, 1, false}};
  Step& step = entry.steps.emplace_back();
  step.what = CopyStep{{2, 0}, {1, 0}, {b * t, kVocabulary}, {0, 1}, {kVocabulary, 1}, DType::f32};
  step.reads = {2}, step.writes = {1}, step.phase = "forward";
  plan.entries = {entry};
  return plan;
}

using Ids = std::vector<int32_t>;

class CApiGeneration : public testing::Test {
 protected:
  void SetUp() override {
    save_plan(unigram(), d / "unigram.plan");
    ASSERT_EQ(smelt_plan_load((d / "unigram.plan").c_str(), &plan), SMELT_OK) << smelt_last_error();
    ASSERT_EQ(smelt_session_create(plan, nullptr, &session), SMELT_OK) << smelt_last_error();
    write({0.1, 0.15, 0.4, 0.2, 0.1, 0.05});
    ASSERT_EQ(smelt_generator_create(session, &generator), SMELT_OK) << smelt_last_error();
  }
  void TearDown() override {
    smelt_generation_free(generation);
    smelt_generator_free(generator);
    smelt_session_free(session);
    smelt_plan_free(plan);
  }
  void write(std::vector<double> probabilities) const {
    std::vector<float> logits;
    for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
    ASSERT_EQ(smelt_session_write_state(session, "parameters", 0, logits.data(), 4 * logits.size()),
              SMELT_OK);
  }
  smelt_status generate(const std::vector<Ids>& prompts, const smelt_generate_options* options) {
    std::vector<smelt_prompt> rows;
    for (const Ids& ids : prompts) rows.push_back({sizeof(smelt_prompt), ids.data(), ids.size()});
    smelt_generation_free(generation);
    generation = nullptr;
    return smelt_generate(generator, rows.data(), rows.size(), options, &generation);
  }
  smelt_status generate(const std::vector<Ids>& prompts, const char* json) {
    const smelt_generate_options options{.struct_size = sizeof(smelt_generate_options),
                                         .json = json,
                                         .on_token = nullptr,
                                         .user = nullptr,
                                         .log_probabilities = 0};
    return generate(prompts, &options);
  }
  smelt_sequence sequence(size_t index) const {
    auto found = sized<smelt_sequence>();
    EXPECT_EQ(smelt_generation_sequence(generation, index, &found), SMELT_OK) << smelt_last_error();
    return found;
  }
  Ids ids(size_t index) const {
    const smelt_sequence found = sequence(index);
    return {found.ids, found.ids + found.count};
  }

  TemporaryDirectory d;
  smelt_plan* plan = nullptr;
  smelt_session* session = nullptr;
  smelt_generator* generator = nullptr;
  smelt_generation* generation = nullptr;
};

TEST_F(CApiGeneration, ContinuesPromptsByTheModelsOptionsAndTheCallers) {
  ASSERT_EQ(generate({{1, 4}, {0}, {3}}, static_cast<smelt_generate_options*>(nullptr)), SMELT_OK)
      << smelt_last_error();
  ASSERT_EQ(smelt_generation_count(generation), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ids(i), (Ids{2, 2, 2}));
    EXPECT_EQ(sequence(i).prompt, i);
    EXPECT_EQ(sequence(i).log_probabilities, nullptr);
    EXPECT_TRUE(std::isnan(sequence(i).score));
  }
  ASSERT_EQ(generate({{1}}, R"({"max_new_tokens": 5, "no_repeat_ngram_size": 1})"), SMELT_OK);
  EXPECT_EQ(ids(0), (Ids{2, 3, 0, 4, 5}));
  ASSERT_EQ(generate({{1}}, R"({"suppress_tokens": [2, 3, 1, 0, 4]})"), SMELT_OK);
  EXPECT_EQ(ids(0), (Ids{5})) << "the model's end";
  ASSERT_EQ(generate({{1}}, R"({"suppress_tokens": [2, 3, 1, 0, 4], "eos_token_id": []})"), SMELT_OK);
  EXPECT_EQ(ids(0), (Ids{5, 5, 5}));
  ASSERT_EQ(generate({}, "{}"), SMELT_OK);
  EXPECT_EQ(smelt_generation_count(generation), 0u);
}

TEST_F(CApiGeneration, SamplesFollowTheSeed) {
  const auto sample = [&](const char* json) {
    EXPECT_EQ(generate({{1}, {2}}, json), SMELT_OK) << smelt_last_error();
    std::vector<Ids> all;
    for (size_t i = 0; i < smelt_generation_count(generation); ++i) all.push_back(ids(i));
    return all;
  };
  const char* one = R"({"do_sample": true, "max_new_tokens": 8, "num_return_sequences": 3, "seed": 1})";
  const auto first = sample(one);
  ASSERT_EQ(first.size(), 6u);
  EXPECT_EQ(sequence(2).prompt, 0u);
  EXPECT_EQ(sequence(3).prompt, 1u);
  EXPECT_EQ(first, sample(one));
  EXPECT_NE(first,
            sample(R"({"do_sample": true, "max_new_tokens": 8, "num_return_sequences": 3, "seed": 2})"));
}

TEST_F(CApiGeneration, BeamSearchHasScores) {
  const char* json =
      R"({"num_beams": 3, "num_return_sequences": 2, "max_new_tokens": 2, "length_penalty": 0})";
  ASSERT_EQ(generate({{1}, {2, 0}}, json), SMELT_OK) << smelt_last_error();
  ASSERT_EQ(smelt_generation_count(generation), 4u);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(ids(i), (Ids{2, 2}));
    EXPECT_NEAR(sequence(i).score, 2 * std::log(0.4), 1e-5);
    EXPECT_NEAR(sequence(i + 1).score, std::log(0.4) + std::log(0.2), 1e-5);
    EXPECT_EQ(sequence(i + 1).prompt, i / 2);
    EXPECT_EQ(sequence(i).log_probabilities, nullptr);
  }
}

TEST_F(CApiGeneration, LogProbabilitiesAreKeptOnRequest) {
  const smelt_generate_options options{.struct_size = sizeof(smelt_generate_options),
                                       .json = R"({"temperature": 0.5, "suppress_tokens": [2]})",
                                       .on_token = nullptr,
                                       .user = nullptr,
                                       .log_probabilities = 1};
  ASSERT_EQ(generate({{1}, {2}, {0, 4}}, &options), SMELT_OK) << smelt_last_error();
  for (size_t i = 0; i < 3; ++i) {
    const smelt_sequence found = sequence(i);
    ASSERT_EQ(found.count, 3u);
    for (size_t t = 0; t < 3; ++t) EXPECT_NEAR(found.log_probabilities[t], std::log(0.2), 1e-5);
  }
  const smelt_generate_options beams{.struct_size = sizeof(smelt_generate_options),
                                     .json = R"({"num_beams": 2})",
                                     .on_token = nullptr,
                                     .user = nullptr,
                                     .log_probabilities = 1};
  EXPECT_EQ(generate({{1}}, &beams), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "log_probabilities");
}

/// Hears tokens, and stops after the last that it waits for.
struct Listener {
  size_t most = SIZE_MAX;
  std::vector<Ids> heard = std::vector<Ids>(4);
  size_t count = 0;
  static int hear(void* user, size_t sequence, int32_t token) {
    auto& self = *static_cast<Listener*>(user);
    self.heard.at(sequence).push_back(token);
    return ++self.count < self.most ? 0 : 5;
  }
};

TEST_F(CApiGeneration, TheCallbackHearsEveryTokenAndStops) {
  const auto run = [&](Listener& listener, const char* json) {
    const smelt_generate_options options{.struct_size = sizeof(smelt_generate_options),
                                         .json = json,
                                         .on_token = Listener::hear,
                                         .user = &listener,
                                         .log_probabilities = 0};
    ASSERT_EQ(generate({{1}, {2}, {3, 4}}, &options), SMELT_OK) << smelt_last_error();
  };
  Listener all;
  run(all, nullptr);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all.heard[i], ids(i));
  EXPECT_EQ(all.count, 9u);
  Listener three{.most = 3};
  run(three, nullptr);
  EXPECT_EQ(three.count, 3u);
  EXPECT_EQ(ids(0), (Ids{2, 2}));
  EXPECT_EQ(ids(1), (Ids{2}));
  EXPECT_EQ(ids(2), Ids());
  Listener beams{.most = 4};
  run(beams, R"({"num_beams": 2})");
  EXPECT_EQ(beams.count, 4u);
  EXPECT_EQ(ids(2).size(), 3u);
  Listener after;
  run(after, nullptr);
  EXPECT_EQ(after.count, 9u);
}

TEST_F(CApiGeneration, Limits) {
  auto limits = sized<smelt_generator_limits>();
  ASSERT_EQ(smelt_generator_get_limits(generator, &limits), SMELT_OK);
  EXPECT_EQ(limits.vocabulary, kVocabulary);
  EXPECT_EQ(limits.max_batch, 2);
  EXPECT_EQ(limits.max_length, 8);
  EXPECT_EQ(limits.reads_source, 0);
  EXPECT_EQ(generate({{1, 2, 3}}, R"({"max_new_tokens": 7})"), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "length of 8");
  ASSERT_EQ(generate({{1, 2, 3}}, R"({"max_new_tokens": 7, "sliding_window": true})"), SMELT_OK);
  EXPECT_EQ(ids(0).size(), 7u);
}

TEST_F(CApiGeneration, BadInputIsNamed) {
  const auto expect = [](smelt_status got, smelt_status expected, const char* part) {
    EXPECT_EQ(got, expected);
    EXPECT_HAS(smelt_last_error(), part);
  };
  const smelt_status bad = SMELT_INVALID_ARGUMENT;
  expect(generate({{1}, {6}}, "{}"), bad, "prompt 1: token 0 is 6, outside the model's vocabulary of 6");
  expect(generate({{-1}}, "{}"), bad, "token 0 is -1");
  expect(generate({{1}, {}}, "{}"), bad, "prompt 1 is empty");
  expect(generate({{1}}, R"({"max_tokens": 4})"), bad, "max_tokens (there is no such option)");
  expect(generate({{1}}, R"({"top_p": 3})"), bad, "top_p 3");
  expect(generate({{1}}, R"({"top_p": "a"})"), bad, "top_p = \"a\"");
  expect(generate({{1}}, R"({"suppress_tokens": [6]})"), bad, "suppress_tokens 6");
  expect(generate({{1}}, R"({"eos_token_id": [5, 2000000000], "min_new_tokens": 2})"), bad,
         "eos_token_id 2000000000: outside");
  expect(generate({{1}}, R"({"num_beams": -3})"), bad, "num_beams -3");
  expect(generate({{1}}, "7"), bad, "expected one JSON object");
  expect(generate({{1}}, "{\"seed\": "), SMELT_INVALID_FILE, "generation options");
  EXPECT_EQ(generation, nullptr);
  write({1, 1, std::numeric_limits<double>::quiet_NaN(), 1, 1, 1});
  expect(generate({{1}}, "{}"), SMELT_NUMERIC, "token 2 is NaN");
  write({1, 1, 2, 1, 1, 1});
  EXPECT_EQ(generate({{1}}, "{}"), SMELT_OK) << "as if nothing had been";
}

TEST_F(CApiGeneration, AbsurdOptionsAreRefusedOrHarmless) {
  for (const char* json :
       {R"({"temperature": 1e999})", R"({"top_k": 18446744073709551615})",
        R"({"top_k": -9223372036854775808})", R"({"max_new_tokens": 99999999999999999999999})",
        R"({"max_new_tokens": 9223372036854775807})",
        R"({"exponential_decay_length_penalty": [18446744073709551615, 1.5]})",
        R"({"do_sample": true, "num_return_sequences": 1000000000000})",
        R"({"num_beams": 9223372036854775807})", R"({"eos_token_id": [[1]]})",
        R"({"eos_token_id": 18446744073709551615})", R"({"seed": 1.5})", R"({"bad_words_ids": [[]]})",
        R"({"sequence_bias": [[[1], 2, 3]]})", R"({"repetition_penalty": 1e300})",
        R"({"exponential_decay_length_penalty": [1, 1e300]})", "{\"\xFF\": 1}", "null", ""})
    EXPECT_NE(generate({{1}}, json), SMELT_OK) << json;
  for (const char* json :
       {R"({"min_length": 9223372036854775807})", R"({"min_new_tokens": 9223372036854775807})",
        R"({"no_repeat_ngram_size": 9223372036854775807})", R"({"top_k": 9223372036854775807})",
        R"({"encoder_no_repeat_ngram_size": 9223372036854775807})", R"({"repetition_penalty": 1e30})",
        R"({"exponential_decay_length_penalty": [9223372036854775807, 1e30]})",
        R"({"num_beams": 64, "num_return_sequences": 64, "length_penalty": 1e300})",
        R"({"max_new_tokens": 0})"})
    EXPECT_EQ(generate({{1}}, json), SMELT_OK) << json << smelt_last_error();
}

TEST_F(CApiGeneration, NullsAreErrors) {
  const auto expect = [](smelt_status got, const char* part) {
    EXPECT_EQ(got, SMELT_INVALID_ARGUMENT);
    EXPECT_HAS(smelt_last_error(), part);
  };
  smelt_generator* other = nullptr;
  auto limits = sized<smelt_generator_limits>();
  auto found = sized<smelt_sequence>();
  const smelt_prompt empty = {sizeof empty, nullptr, 1};
  expect(smelt_generator_create(nullptr, &other), "the session is null");
  expect(smelt_generator_create(session, nullptr), "generator is null");
  expect(smelt_generator_get_limits(nullptr, &limits), "the generator is null");
  expect(smelt_generator_get_limits(generator, nullptr), "limits is null");
  expect(smelt_generate(nullptr, &empty, 1, nullptr, &generation), "the generator is null");
  expect(smelt_generate(generator, nullptr, 1, nullptr, &generation), "prompts is null");
  expect(smelt_generate(generator, &empty, 1, nullptr, &generation), "a prompt's ids is null");
  expect(smelt_generate(generator, &empty, 1, nullptr, nullptr), "generation is null");
  expect(smelt_generation_sequence(nullptr, 0, &found), "the generation is null");
  ASSERT_EQ(generate({{1}}, "{}"), SMELT_OK);
  expect(smelt_generation_sequence(generation, 0, nullptr), "sequence is null");
  expect(smelt_generation_sequence(generation, 1, &found), "sequence 1: there are 1");
  EXPECT_EQ(smelt_generation_count(nullptr), 0u);
  smelt_generation_free(nullptr);
  smelt_generator_free(nullptr);
}

TEST_F(CApiGeneration, PlansThatCannotGenerate) {
  Plan other = unigram();
  other.entries[0].name = "run";
  save_plan(other, d / "run.plan");
  smelt_plan* loaded = nullptr;
  smelt_session* without = nullptr;
  smelt_generator* made = nullptr;
  ASSERT_EQ(smelt_plan_load((d / "run.plan").c_str(), &loaded), SMELT_OK) << smelt_last_error();
  ASSERT_EQ(smelt_session_create(loaded, nullptr, &without), SMELT_OK);
  EXPECT_EQ(smelt_generator_create(without, &made), SMELT_INVALID_ARGUMENT);
  EXPECT_HAS(smelt_last_error(), "logits");
  EXPECT_EQ(made, nullptr);
  smelt_session_free(without);
  smelt_plan_free(loaded);
}

}  // namespace
}  // namespace smelt
