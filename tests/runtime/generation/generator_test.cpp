#include "runtime/generation/generator.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/runtime/temporary_directory.h"
#include "tests/runtime/unigram.h"

namespace smelt {
namespace {

/// Predicts (last token + 1) mod V with certainty; sees only what the window shows.
class Successor : public Executor {
 public:
  explicit Successor(int64_t vocabulary) : vocabulary_(vocabulary) {}
  std::vector<std::pair<int64_t, int64_t>> shapes;  // B, T of each run
  std::span<std::byte> state(int) override { return {}; }
  void run(const PlanEntry&, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    const int64_t b = symbols.at("B"), t = symbols.at("T");
    shapes.emplace_back(b, t);
    const auto* ids = static_cast<const int32_t*>(inputs[0]);
    auto* logits = static_cast<float*>(outputs[0]);
    std::fill_n(logits, b * t * vocabulary_, -50.0f);
    for (int64_t i = 0; i < b * t; ++i) logits[i * vocabulary_ + (ids[i] + 1) % vocabulary_] = 50.0f;
  }

 private:
  int64_t vocabulary_;
};

struct Counter {
  explicit Counter(int64_t vocabulary = 13, int64_t max_batch = 4, int64_t max_length = 16) {
    auto made = std::make_unique<Successor>(vocabulary);
    executor = made.get();
    session = std::make_unique<Session>(
        std::make_shared<const Plan>(unigram_plan(vocabulary, max_batch, max_length)), std::move(made));
  }
  Successor* executor;
  std::unique_ptr<Session> session;
};

using Prompts = std::vector<Generator::Tokens>;

TEST(Generator, GreedyContinuesEachPrompt) {
  Counter model;
  Generator generator(*model.session);
  EXPECT_EQ(generator.vocabulary(), 13);
  GenerationOptions options;
  options.max_new_tokens = 4;
  std::map<size_t, Generator::Tokens> seen;
  const auto results = generator.generate(Prompts{{1, 2}, {11}, {4, 5}}, options,
                                          [&](size_t i, int32_t token) { seen[i].push_back(token); });
  EXPECT_EQ(results, (Prompts{{3, 4, 5, 6}, {12, 0, 1, 2}, {6, 7, 8, 9}}));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], results[i]);
  EXPECT_EQ(model.executor->shapes[4], (std::pair<int64_t, int64_t>{2, 2}));  // equal lengths as one batch
}

TEST(Generator, StopsAtAnyEndTokenAndKeepsIt) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 6;
  options.eos_token_id = {5, 12};
  EXPECT_EQ(generator.generate(Prompts{{2}, {10}, {6}}, options),
            (Prompts{{3, 4, 5}, {11, 12}, {7, 8, 9, 10, 11, 12}}));
}

TEST(Generator, ForcedTokensBeginAndEnd) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 4;
  options.forced_bos_token_id = 7;
  options.forced_eos_token_id = 3;
  // The second prompt is longer than one token: nothing is its beginning.
  EXPECT_EQ(generator.generate(Prompts{{1}, {1, 2}}, options), (Prompts{{7, 8, 9, 3}, {3, 4, 5, 3}}));
  options.max_new_tokens = 1;
  EXPECT_EQ(generator.generate(Prompts{{1}}, options), (Prompts{{3}}));
  options.forced_bos_token_id = 13;
  EXPECT_HAS(message_of([&] { generator.generate(Prompts{{1}}, options); }),
             "forced_bos_token_id 13: outside the model's vocabulary of 13");
}

TEST(Generator, SplitsWhatExceedsTheBatch) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 1;
  const Prompts prompts(9, {3});
  EXPECT_EQ(generator.generate(prompts, options), Prompts(9, {4}));
  EXPECT_EQ(model.executor->shapes.size(), 3u);  // 4 + 4 + 1
}

TEST(Generator, LengthIsAnErrorOrASlidingWindow) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 16;
  EXPECT_NO_THROW(generator.generate(Prompts{{1}}, options));  // the last new token is no input
  options.max_new_tokens = 17;
  EXPECT_HAS(message_of([&] { generator.generate(Prompts{{1}}, options); }),
             "exceed the plan's length of 16");
  options.sliding_window = true;
  options.max_new_tokens = 40;
  const auto tokens = generator.generate(Prompts{{1}}, options)[0];
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], static_cast<int32_t>((i + 2) % 13));
  EXPECT_EQ(model.executor->shapes.back().second, 16);
}

TEST(Generator, SamplesAreReproducibleAndFollowTheSeed) {
  Unigram model(50, 4, 64);
  Generator generator(*model.session);
  GenerationOptions options;
  options.do_sample = true, options.top_k = 0, options.max_new_tokens = 40;
  const auto sample = [&](uint32_t seed, const Prompts& prompts) {
    options.seed = seed;
    return generator.generate(prompts, options);
  };
  const auto a = sample(1, {{7}, {7}});
  EXPECT_EQ(a, sample(1, {{7}, {7}}));
  EXPECT_NE(a, sample(2, {{7}, {7}}));
  EXPECT_NE(a[0], a[1]);
  EXPECT_EQ(a[0], sample(1, {{7}})[0]);  // whatever its neighbours
  options.temperature = 0;
  EXPECT_EQ(sample(1, {{7}}), sample(2, {{7}}));
}

TEST(Generator, SamplesFollowTheModelsDistribution) {
  Unigram model(4, 4, 64);
  const std::vector<double> p = {0.1, 0.2, 0.3, 0.4};
  for (size_t i = 0; i < 4; ++i)
    model.session->segment("parameters", "logits")[i] = static_cast<float>(std::log(p[i]));
  Generator generator(*model.session);
  GenerationOptions options;
  options.do_sample = true, options.top_k = 0, options.max_new_tokens = 50, options.seed = 11;
  std::vector<double> counts(4);
  for (const auto& tokens : generator.generate(Prompts(80, {0}), options))
    for (const int32_t token : tokens) ++counts[static_cast<size_t>(token)];
  double chi_square = 0;
  for (size_t i = 0; i < 4; ++i)
    chi_square += (counts[i] - p[i] * 4000) * (counts[i] - p[i] * 4000) / (p[i] * 4000);
  EXPECT_LT(chi_square, 16.27);  // 3 degrees of freedom, one in a thousand
}

TEST(Generator, RefusesBadPrompts) {
  Counter model;
  GenerationOptions options;
  options.max_new_tokens = 2;
  Generator generator(*model.session);
  const auto fault = [&](Prompts prompts) {
    return message_of([&] { generator.generate(prompts, options); });
  };
  EXPECT_HAS(fault({{1}, {}}), "prompt 1 is empty");
  EXPECT_HAS(fault({{1, 13}}), "prompt 0: token 1 is 13, outside the model's vocabulary of 13");
  EXPECT_HAS(fault({{-1}}), "token 0 is -1");
  EXPECT_HAS(message_of([&] { Generator(*model.session, "evaluate"); }), "cannot generate");
  EXPECT_HAS(message_of([&] { Generator(*model.session, "decode"); }), "no entry 'decode'");
}

TEST(Generator, TextIsForByteModelsOnly) {
  EXPECT_EQ(encode_bytes("a\xC3\xA9", 256), (std::vector<int32_t>{97, 195, 169}));
  EXPECT_EQ(decode_bytes(encode_bytes("a\xC3\xA9", 256)), "a\xC3\xA9");
  const std::string message = message_of([] { encode_bytes("hello", 50257); });
  EXPECT_HAS(message, "tokenizer");
  EXPECT_HAS(message, "not part of Smelt yet");
  EXPECT_HAS(message, "token ids");
  EXPECT_EQ(parse_token_ids(" [15496, 11,995]\n"), (std::vector<int32_t>{15496, 11, 995}));
  EXPECT_HAS(message_of([] { parse_token_ids("1, two"); }), "'two' is no token id");
  EXPECT_HAS(message_of([] { parse_token_ids("99999999999"); }), "'99999999999'");
  EXPECT_HAS(message_of([] { parse_token_ids("1.5"); }), "'1.5'");
}

TEST(GenerationConfig, ReadsHuggingFacesNames) {
  GenerationOptions options;
  read_generation_config(R"({"do_sample": true, "temperature": 0.7, "top_k": 5, "top_p": 0.9, "min_p": null,
                             "max_new_tokens": 9, "eos_token_id": [50256, 1], "num_beams": 1, "bos_token_id": 4,
                             "transformers_version": "4.40", "repetition_penalty": 1.2})",
                         options);
  EXPECT_TRUE(options.do_sample);
  EXPECT_EQ(options.temperature, 0.7);
  EXPECT_EQ(options.top_k, 5);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.max_new_tokens, 9);
  EXPECT_EQ(options.repetition_penalty, 1.2);
  EXPECT_EQ(options.eos_token_id, (std::vector<int32_t>{50256, 1}));
  EXPECT_FALSE(options.forced_bos_token_id.has_value());
  read_generation_config(R"({"forced_bos_token_id": 3, "forced_eos_token_id": [2]})", options);
  EXPECT_EQ(options.forced_bos_token_id, 3);
  EXPECT_EQ(options.forced_eos_token_id, 2);
  read_generation_config(R"({"eos_token_id": 7})", options);
  EXPECT_EQ(options.eos_token_id, std::vector<int32_t>{7});
}

TEST(GenerationConfig, NamesAllThatItCannotDo) {
  GenerationOptions options;
  const std::string message = message_of([&] {
    read_generation_config(
        R"({"num_beams": 4, "suppress_tokens": [3], "top_k": "many", "eos_token_id": "end",
            "forced_eos_token_id": [1, 2]})",
        options);
  });
  for (const char* part : {"num_beams = 4", "suppress_tokens", "top_k = \"many\"", "eos_token_id = \"end\"",
                           "forced_eos_token_id = [1,2]"})
    EXPECT_HAS(message, part);
  EXPECT_HAS(message_of([&] { read_generation_config("{", options); }), "JSON");
  EXPECT_HAS(message_of([&] { read_generation_config(R"({"top_p": 7})", options); }), "top_p 7");
}

}  // namespace
}  // namespace smelt
