// Log-probabilities of prompts over HTTP, penalties, and choices that are ranked.
#ifdef SMELT_SERVER
#include <cmath>

#include "runtime/engine/weights/safetensors.h"
#include "runtime/sampling/log_sum_exp.h"
#include "tests/compiler/served_model.h"

namespace smelt::test {
namespace {

/// Recorded input ids of the golden without padding, and the logits that transformers has computed for them.
struct RecordedLogits {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<std::vector<float>>> logits;  // of each row, after each token
};

RecordedLogits recorded_logits() {
  const Checkpoint file = Checkpoint::open(kGolden / "golden.safetensors");
  const auto numbers = [&](const char* name) {
    const auto* data = reinterpret_cast<const int32_t*>(file.at(name).bytes.data());
    return std::vector<int32_t>(data, data + file.at(name).elements());
  };
  const std::vector<int32_t> ids = numbers("input.input_ids"), mask = numbers("input.attention_mask");
  const TensorView& logits = file.at("output.logits");
  const std::vector<float> all = read_floats(logits);
  const auto length = static_cast<size_t>(logits.shape[1]), words = static_cast<size_t>(logits.shape[2]);
  RecordedLogits result;
  for (size_t row = 0; row < static_cast<size_t>(logits.shape[0]); ++row) {
    const auto begin = static_cast<ptrdiff_t>(row * length), end = begin + static_cast<ptrdiff_t>(length);
    if (std::count(mask.begin() + begin, mask.begin() + end, 0) > 0) continue;
    result.ids.emplace_back(ids.begin() + begin, ids.begin() + end);
    auto& of_row = result.logits.emplace_back();
    for (size_t at = row * length; at < (row + 1) * length; ++at)
      of_row.emplace_back(all.begin() + static_cast<ptrdiff_t>(at * words),
                          all.begin() + static_cast<ptrdiff_t>((at + 1) * words));
  }
  return result;
}

double recorded_score(const std::vector<float>& logits, int32_t token) {
  return logits[static_cast<size_t>(token)] - log_sum_exp(logits);
}

/// The bodies are those of lm-evaluation-harness's local-completions: contexts with continuations as ids, of
/// which one new token is generated.
void expect_recorded_scores(const Json& found, const RecordedLogits& recorded) {
  ASSERT_EQ(found["choices"].size(), recorded.ids.size());
  for (size_t row = 0; row < recorded.ids.size(); ++row) {
    const Json& scores = found["choices"][row]["logprobs"];
    const size_t length = recorded.ids[row].size();
    ASSERT_EQ(scores["token_logprobs"].size(), length + 1);
    ASSERT_EQ(scores["top_logprobs"].size(), length + 1);
    EXPECT_TRUE(scores["token_logprobs"][0].is_null() && scores["top_logprobs"][0].is_null());
    for (size_t i = 1; i < length; ++i) {
      const std::vector<float>& logits = recorded.logits[row][i - 1];
      EXPECT_NEAR(scores["token_logprobs"][i].get<double>(), recorded_score(logits, recorded.ids[row][i]),
                  1e-4);
      const auto best = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
      ASSERT_EQ(scores["top_logprobs"][i].size(), 1U);
      EXPECT_NEAR(scores["top_logprobs"][i].begin()->get<double>(), recorded_score(logits, best), 1e-4);
    }
  }
}

TEST_F(Server, ScoresOfPromptsAreTransformers) {
  const RecordedLogits recorded = recorded_logits();
  ASSERT_FALSE(recorded.ids.empty());
  const Json body = {{"model", "gpt2"}, {"prompt", recorded.ids}, {"temperature", 0}, {"max_tokens", 1},
                     {"logprobs", 1},   {"seed", 1234},           {"echo", true}};
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--cache-pages", "0"}, {"--sampler"}, {"--draft-tokens", "4"}}) {
    start(kGolden.string(), options);
    expect_recorded_scores(completion(body), recorded);
    EXPECT_EQ(end(SIGINT), 0);
  }
}

TEST_F(Server, EchoesAPromptWithItsScoresAlone) {
  start_slow();
  const Json body = {{"prompt", "a\u00e9b"}, {"max_tokens", 0}, {"logprobs", 2}, {"echo", true}, {"n", 2}};
  const Json found = completion(body);
  for (const Json& choice : found["choices"]) {
    EXPECT_EQ(choice["text"], "a\u00e9b");
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(choice["logprobs"]["text_offset"], (Json{0, 1, 1, 2}));
    EXPECT_EQ(choice["logprobs"]["token_logprobs"].size(), 4U);
    EXPECT_EQ(choice["logprobs"]["top_logprobs"][3].size(), 2U);
  }
  EXPECT_EQ(found["usage"]["completion_tokens"], 0);
}

TEST_F(Server, ScoresOfNewTokensAreThoseOfTheSameTextAsAPrompt) {
  start_slow();
  Json body = {{"prompt", "abc"}, {"max_tokens", 6}, {"seed", 3}, {"logprobs", 1}, {"echo", true}};
  const Json written = completion(body)["choices"][0];
  std::vector<int> ids = {'a', 'b', 'c'};
  for (const Json& id : written["token_ids"]) ids.push_back(id.get<int>());
  body["prompt"] = ids, body["max_tokens"] = 0;
  const Json read = completion(body)["choices"][0];
  for (size_t i = 1; i < ids.size(); ++i)
    EXPECT_NEAR(read["logprobs"]["token_logprobs"][i].get<double>(),
                written["logprobs"]["token_logprobs"][i].get<double>(), 1e-4);
  EXPECT_EQ(written["logprobs"]["text_offset"][3], 3);
}

TEST_F(Server, StreamsTheScoresOfAPrompt) {
  start_slow();
  Json body = {
      {"prompt", "some longer prompt"}, {"max_tokens", 5}, {"seed", 3}, {"logprobs", 1}, {"echo", true}};
  const Json whole = completion(body)["choices"][0];
  body["stream"] = true;
  std::string text;
  Json scores = Json::array();
  for (const std::string& event : events(body)) {
    if (event == "[DONE]") continue;
    const Json choice = Json::parse(event)["choices"][0];
    text += choice["text"].get<std::string>();
    for (const Json& score : choice["logprobs"]["token_logprobs"]) scores.push_back(score);
  }
  EXPECT_EQ(Json(text), whole["text"]);
  EXPECT_EQ(scores, whole["logprobs"]["token_logprobs"]);
}

TEST_F(Server, PromptLogprobsHaveVllmsForm) {
  start_slow();
  const Json choice =
      completion({{"prompt", "ab"}, {"max_tokens", 1}, {"prompt_logprobs", 2}, {"seed", 1}})["choices"][0];
  EXPECT_TRUE(choice["logprobs"].is_null());
  const Json& scores = choice["prompt_logprobs"];
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_TRUE(scores[0].is_null());
  const Json& own = scores[1]["98"];
  EXPECT_EQ(own["decoded_token"], "b");
  EXPECT_GE(own["rank"], 1);
  EXPECT_LT(own["logprob"], 0);
  EXPECT_EQ(scores[1].size(), own["rank"] <= 2 ? 2U : 3U);
}

/// The three letters have nearly equal scores that are far above all others.
TEST_F(Server, PenaltiesMakeNewTokensLessProbable) {
  start_slow();
  const Json bias = {{"65", 100}, {"66", 99}, {"67", 98}};
  const auto text_with = [&](Json more) {
    Json body = {{"prompt", "AAAA"}, {"max_tokens", 6}, {"temperature", 0}, {"logit_bias", bias}};
    return completion((body.update(more), body))["choices"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text_with(Json::object()), "AAAAAA");
  EXPECT_EQ(text_with({{"presence_penalty", 2}}).substr(0, 2), "AB") << "the prompt does not count";
  const std::string often = text_with({{"frequency_penalty", 2}});
  for (const char* letter : {"A", "B", "C"}) EXPECT_TRUE(has(often, letter)) << often;
  EXPECT_EQ(text_with({{"presence_penalty", -2}, {"frequency_penalty", -2}}), "AAAAAA");
  EXPECT_EQ(fault(R"({"prompt": "a", "presence_penalty": 2.1})"), "400 presence_penalty");
}

TEST_F(Server, PenaltiesAreThoseOfGenerate) {
  const Outcome generated = smelt(
      "generate $GOLDEN --ids '3 1 4 1 5' --max-new-tokens 8 --frequency-penalty 1.5 --presence-penalty 0.5");
  for (const char* sampler : {"--sampler", "--no-sampler"}) {
    start(kGolden.string(), {sampler});
    const Json found = completion({{"prompt", {3, 1, 4, 1, 5}},
                                   {"max_tokens", 8},
                                   {"temperature", 0},
                                   {"frequency_penalty", 1.5},
                                   {"presence_penalty", 0.5}});
    std::string ids = "3 1 4 1 5";
    for (const Json& id : found["choices"][0]["token_ids"]) ids += " " + id.dump();
    EXPECT_TRUE(has(generated.out, ids)) << generated.out << ids;
    EXPECT_EQ(end(SIGINT), 0);
  }
  expect_error(smelt("generate $GOLDEN --ids '3' --frequency-penalty 3"),
               "frequency_penalty 3: expected a number from -2 to 2");
}

double mean_score(const Json& choice) {
  double sum = 0;
  for (const Json& score : choice["logprobs"]["token_logprobs"]) sum += score.get<double>();
  return sum / static_cast<double>(choice["logprobs"]["token_logprobs"].size());
}

TEST_F(Server, ReturnsTheBestOfSeveralChoices) {
  start_slow();
  Json body = {{"prompt", {"ab", "c"}}, {"max_tokens", 7}, {"seed", 3}, {"logprobs", 0}, {"n", 4}};
  const Json all = completion(body)["choices"];
  body["n"] = 2, body["best_of"] = 4;
  const Json found = completion(body);
  EXPECT_EQ(found["usage"]["completion_tokens"], 2 * 4 * 7);
  ASSERT_EQ(found["choices"].size(), 4U);
  for (size_t prompt = 0; prompt < 2; ++prompt) {
    std::vector<Json> ranked(all.begin() + static_cast<ptrdiff_t>(4 * prompt),
                             all.begin() + static_cast<ptrdiff_t>(4 * prompt + 4));
    std::ranges::stable_sort(ranked, std::greater(), mean_score);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(found["choices"][2 * prompt + i]["index"], 2 * prompt + i);
      EXPECT_EQ(found["choices"][2 * prompt + i]["text"], ranked[i]["text"]);
    }
  }
  body.erase("logprobs");
  EXPECT_EQ(completion(body)["choices"][0]["text"], found["choices"][0]["text"]);
  EXPECT_TRUE(completion(body)["choices"][0]["logprobs"].is_null());
}

}  // namespace
}  // namespace smelt::test
#endif
