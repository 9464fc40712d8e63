#include "runtime/engine/generation/generator.h"

#include <gtest/gtest.h>

#include <limits>
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
  const auto results =
      generator.generate(Prompts{{1, 2}, {11}, {4, 5}}, options, [&](size_t i, int32_t token) {
        seen[i].push_back(token);
        return true;
      });
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
  options.forced_eos_token_id = {3};
  // The second prompt is longer than one token: nothing is its beginning.
  EXPECT_EQ(generator.generate(Prompts{{1}, {1, 2}}, options), (Prompts{{7, 8, 9, 3}, {3, 4, 5, 3}}));
  options.max_new_tokens = 1;
  EXPECT_EQ(generator.generate(Prompts{{1}}, options), (Prompts{{3}}));
  options.forced_bos_token_id = 13;
  EXPECT_HAS(message_of([&] { generator.generate(Prompts{{1}}, options); }),
             "forced_bos_token_id 13: outside the model's vocabulary of 13");
}

TEST(Generator, ItsListenerStopsIt) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 5;
  std::map<size_t, Generator::Tokens> seen;
  size_t calls = 0;
  const auto stop_at_third = [&](size_t i, int32_t token) {
    seen[i].push_back(token);
    return ++calls < 3;
  };
  const auto results = generator.generate(Prompts{{1}, {5}, {2, 3}}, options, stop_at_third);
  EXPECT_EQ(results, (Prompts{{2, 3}, {6}, {}}));
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(seen[0], results[0]);
  EXPECT_EQ(generator.generate(Prompts{{1}}, options), (Prompts{{2, 3, 4, 5, 6}}));  // as if nothing had been
  options.num_beams = 2;
  calls = 0;
  EXPECT_EQ(generator.generate(Prompts{{1}}, options, stop_at_third)[0].size(), 5u);
  EXPECT_EQ(calls, 3u);
}

TEST(Generator, LogProbabilitiesAreTheModels) {
  Unigram model(4, 2, 64);
  const std::vector<double> p = {0.1, 0.2, 0.3, 0.4};
  for (size_t i = 0; i < 4; ++i)
    model.session->segment("parameters", "logits")[i] = static_cast<float>(std::log(p[i]) + 7);
  Generator generator(*model.session);
  GenerationOptions options;
  options.do_sample = true, options.max_new_tokens = 20, options.temperature = 3;
  options.suppress_tokens = {3};  // neither changes what the model says
  Generator::LogProbabilities found = {{1}};
  const auto results = generator.generate(Prompts{{0}, {1}, {0, 1}}, options, {}, {}, &found);
  ASSERT_EQ(found.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(found[i].size(), 20u);
    for (size_t t = 0; t < 20; ++t)
      EXPECT_NEAR(found[i][t], std::log(p[static_cast<size_t>(results[i][t])]), 1e-5);
  }
  options.num_beams = 2;
  EXPECT_HAS(message_of([&] { generator.generate(Prompts{{0}}, options, {}, {}, &found); }), "num_beams 2");
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
  options.max_new_tokens = INT64_MAX;
  EXPECT_HAS(message_of([&] { generator.generate(Prompts{{1, 2}}, options); }), "length of 16");
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

TEST(Generator, PaddingIsNotRead) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.max_new_tokens = 2;
  const Prompts prompts = {{0, 0, 7}, {1, 2, 3}}, masks = {{0, 0, 1}, {1, 1, 1}};
  EXPECT_EQ(generator.generate(prompts, options, {}, masks), (Prompts{{8, 9}, {4, 5}}));
  EXPECT_EQ(model.executor->shapes[0], (std::pair<int64_t, int64_t>{1, 1}));
  options.repetition_penalty = 1000, options.max_new_tokens = 1;  // of the tokens that are read alone
  EXPECT_EQ(generator.generate(Prompts{{8, 7}}, options, {}, Prompts{{0, 1}}), (Prompts{{8}}));
  EXPECT_HAS(message_of([&] { generator.generate(prompts, options, {}, Prompts{{0, 0, 0}, {1, 1, 1}}); }),
             "prompt 0 is empty");
}

TEST(Generator, BeamsFindTheLikeliestSequence) {
  Counter model;
  Generator generator(*model.session);
  GenerationOptions options;
  options.num_beams = 3, options.max_new_tokens = 4, options.num_return_sequences = 2;
  const auto found = generator.search(Prompts{{1, 2}, {11}, {4, 5}}, options);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0][0].tokens, (Generator::Tokens{3, 4, 5, 6}));
  EXPECT_EQ(found[1][0].tokens, (Generator::Tokens{12, 0, 1, 2}));
  for (const auto& each : found) {
    ASSERT_EQ(each.size(), 2u);
    EXPECT_GE(each[0].score, each[1].score);
  }
  EXPECT_EQ(generator.generate(Prompts{{11}}, options)[0], found[1][0].tokens);
}

TEST(Generator, ASearchTellsWhatItFoundOnce) {
  Counter model(13, 4);
  GenerationOptions options;
  options.num_beams = 2, options.max_new_tokens = 5, options.eos_token_id = {12};
  std::map<size_t, Generator::Tokens> told;
  const auto tell = [&](size_t prompt, std::span<const Hypothesis> found) {
    EXPECT_TRUE(told.emplace(prompt, found[0].tokens).second) << prompt;
  };
  const auto all = Generator(*model.session).search(Prompts{{1, 2}, {11}, {4, 5}, {10}}, options, {}, tell);
  ASSERT_EQ(told.size(), 4u);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(told[i], all[i][0].tokens);
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
  EXPECT_HAS(message_of([&] { generator.check({1, 13}, "line 7", options); }), "line 7: token 1 is 13");
  EXPECT_HAS(message_of([&] { Generator(*model.session, "evaluate"); }), "cannot generate");
  EXPECT_HAS(message_of([&] { Generator(*model.session, "decode"); }), "no entry 'decode'");
}

TEST(Generator, TextIsForByteModelsOnly) {
  EXPECT_EQ(encode_bytes("a\xC3\xA9", 256), (std::vector<int32_t>{97, 195, 169}));
  EXPECT_EQ(decode_bytes(encode_bytes("a\xC3\xA9", 256)), "a\xC3\xA9");
  const std::string message = message_of([] { encode_bytes("hello", 50257); });
  EXPECT_HAS(message, "needs a tokenizer beside the model, which has 50257 tokens");
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
  read_generation_config(R"({"forced_bos_token_id": 3, "forced_eos_token_id": 2})", options);
  EXPECT_EQ(options.forced_bos_token_id, 3);
  EXPECT_EQ(options.forced_eos_token_id, std::vector<int32_t>{2});
  read_generation_config(R"({"eos_token_id": 7})", options);
  EXPECT_EQ(options.eos_token_id, std::vector<int32_t>{7});
}

TEST(GenerationConfig, ReadsListsAndBeams) {
  GenerationOptions options;
  read_generation_config(R"({"num_beams": 4, "num_return_sequences": 3, "length_penalty": -0.5,
                             "early_stopping": "never", "bad_words_ids": [[1], [2, 3]], "suppress_tokens": [4],
                             "sequence_bias": [[[5, 6], 1.5]], "exponential_decay_length_penalty": [3, 1.25]})",
                         options);
  EXPECT_EQ(options.num_beams, 4);
  EXPECT_EQ(options.num_return_sequences, 3);
  EXPECT_EQ(options.length_penalty, -0.5);
  EXPECT_EQ(options.early_stopping, EarlyStopping::never);
  EXPECT_EQ(options.bad_words_ids, (std::vector<std::vector<int32_t>>{{1}, {2, 3}}));
  EXPECT_EQ(options.suppress_tokens, std::vector<int32_t>{4});
  ASSERT_EQ(options.sequence_bias.size(), 1u);
  EXPECT_EQ(options.sequence_bias[0].tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(options.sequence_bias[0].bias, 1.5);
  EXPECT_EQ(options.exponential_decay_length_penalty, std::pair(int64_t{3}, 1.25));
}

TEST(GenerationConfig, AnApplicationsOptionsAreAllKnown) {
  GenerationOptions options;
  options.top_k = 5;
  read_generation_options(R"({"seed": 4294967295, "sliding_window": true, "decoder_start_token_id": 3,
                              "num_beams": 2, "typical_p": 1.0, "top_k": null,
                              "presence_penalty": -0.5, "frequency_penalty": 1})",
                          options);
  EXPECT_EQ(options.seed, UINT32_MAX);
  EXPECT_TRUE(options.sliding_window);
  EXPECT_EQ(options.decoder_start_token_id, 3);
  EXPECT_EQ(options.num_beams, 2);
  EXPECT_EQ(options.top_k, 5);  // null is not set
  EXPECT_EQ(options.presence_penalty, -0.5);
  EXPECT_EQ(options.frequency_penalty, 1);
  EXPECT_HAS(message_of([&] { read_generation_options(R"({"presence_penalty": 2.5})", options); }),
             "presence_penalty 2.5: expected a number from -2 to 2");
  options.presence_penalty = 0;
  const std::string message = message_of([&] {
    read_generation_options(R"({"max_tokens": 5, "seed": -1, "Temperature": 2, "typical_p": 0.5,
                                "sliding_window": 1, "decoder_start_token_id": "a"})",
                            options);
  });
  for (const char* part : {"generation options: ", "max_tokens (there is no such option)",
                           "Temperature (there is no such option)", "seed = -1", "typical_p = 0.5",
                           "sliding_window = 1", "decoder_start_token_id = \"a\""})
    EXPECT_HAS(message, part);
  EXPECT_HAS(message_of([&] { read_generation_options("[]", options); }), "expected one JSON object");
  EXPECT_HAS(message_of([&] { read_generation_options("{", options); }), "generation options");
  EXPECT_HAS(message_of([&] { read_generation_options(R"({"seed": 4294967296})", options); }), "4294967296");
  read_generation_config(R"({"max_tokens": 5, "sliding_window": 4096, "presence_penalty": 1})",
                         options);  // another program's
  EXPECT_EQ(options.presence_penalty, 0);
}

TEST(GenerationConfig, AModelsDescriptionNamesWhatItsConfigDoesNot) {
  EXPECT_EQ(model_generation_options("").max_new_tokens, GenerationOptions().max_new_tokens);
  GenerationOptions options = model_generation_options(
      R"({"generation": {"top_k": 7}, "eos_token_id": [5, 6], "decoder_start_token_id": 4,
          "forced_bos_token_id": 3, "forced_eos_token_id": null, "bos_token_id": 9})");
  EXPECT_EQ(options.top_k, 7);
  EXPECT_EQ(options.eos_token_id, (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(options.decoder_start_token_id, 4);
  EXPECT_EQ(options.forced_bos_token_id, 3);
  EXPECT_TRUE(options.forced_eos_token_id.empty());
  options = model_generation_options(R"({"generation": {"eos_token_id": 8}, "eos_token_id": [5]})");
  EXPECT_EQ(options.eos_token_id, (std::vector<int32_t>{8}));
  options = model_generation_options(R"({"vocab_size": 7, "eos_token_id": [5, 7, -1, 6]})");
  EXPECT_EQ(options.eos_token_id, (std::vector<int32_t>{5, 6}));
  EXPECT_HAS(message_of([] { model_generation_options(R"({"eos_token_id": "x"})"); }), "eos_token_id");
  EXPECT_HAS(message_of([] { model_generation_options(R"({"generation": {"penalty_alpha": 0.6}})"); }),
             "penalty_alpha");
}

TEST(GenerationConfig, MaxLengthCountsThePromptAndGivesWay) {
  GenerationOptions options;
  read_generation_config(R"({"max_length": 12})", options);
  EXPECT_EQ(options.new_tokens(5), 7);
  EXPECT_LT(options.new_tokens(12), 1);
  read_generation_options(R"({"max_new_tokens": 3})", options);
  EXPECT_EQ(options.new_tokens(5), 3);
  read_generation_config(R"({"max_length": 12, "max_new_tokens": 4})", options);
  EXPECT_EQ(options.new_tokens(5), 4);
  EXPECT_HAS(message_of([&] { read_generation_config(R"({"max_length": 0})", options); }), "max_length = 0");
}

/// An empty file is one: config.json counts where there is none.
TEST(GenerationConfig, AModelsOldConfigIsReadByTheSameTable) {
  const GenerationOptions options = model_generation_options(
      R"({"config": {"num_beams": 4, "hidden_size": 8, "eos_token_id": 7, "max_length": 30,
                     "force_bos_token_to_be_generated": true, "bos_token_id": 3}, "generation": {}})");
  EXPECT_EQ(options.num_beams, 4);
  EXPECT_EQ(options.max_length, 30);
  EXPECT_EQ(options.forced_bos_token_id, 3);
  EXPECT_EQ(model_generation_options(R"({"config": {"num_beams": 4}, "generation": {"top_k": 3}})").num_beams,
            1);
  EXPECT_HAS(message_of([] { model_generation_options(R"({"config": {"penalty_alpha": 0.5}})"); }),
             "config.json: penalty_alpha = 0.5");
}

TEST(GenerationConfig, NamesTheFieldsThatAreNotKnown) {
  EXPECT_EQ(unknown_generation_fields(
                R"({"generation": {"use_cache": false, "a_field": 1, "top_k": 3, "b": null}})"),
            std::vector<std::string>{"a_field"});
}

TEST(GenerationConfig, AMaskedLanguageModelWritesNoText) {
  require_text_writer("");
  require_text_writer(R"({"spec": {"head": {"kind": "lm"}}})");
  EXPECT_HAS(
      message_of([] {
        require_text_writer(
            R"({"spec": {"head": {"kind": "mlm"}}, "config": {"architectures": ["BertForMaskedLM"]}})");
      }),
      "BertForMaskedLM writes no text");
}

TEST(GenerationConfig, AModelOfClassesWritesNoText) {
  const auto message = [](const std::string& kind) {
    return message_of([&] { require_text_writer(R"({"spec": {"head": {"kind": ")" + kind + "\"}}}"); });
  };
  EXPECT_HAS(message("token_classes"), "a classifier of tokens writes no text: it gives the scores of each");
  EXPECT_HAS(message("sequence_classes"), "smelt serve --task classify");
  for (const char* kind : {"image_classes", "spans", "choices", "pretraining", "none"})
    EXPECT_HAS(message(kind), "writes no text: it ");
}

TEST(GenerationOptions, ValuesOutOfRangeAreNamed) {
  const auto fault = [](auto set) {
    GenerationOptions options;
    set(options);
    return message_of([&] { options.validate(10); });
  };
  EXPECT_HAS(fault([](auto& o) { o.repetition_penalty = 0; }), "repetition_penalty 0");
  EXPECT_HAS(fault([](auto& o) { o.repetition_penalty = 1e-60; }), "repetition_penalty 1e-60");
  EXPECT_HAS(fault([](auto& o) { o.encoder_repetition_penalty = 1e60; }), "encoder_repetition_penalty 1e+60");
  EXPECT_HAS(fault([](auto& o) { o.sequence_bias = {{{1}, std::nan("")}}; }), "sequence_bias nan");
  EXPECT_HAS(fault([](auto& o) { o.sequence_bias = {{{1}, 1e60}}; }), "sequence_bias 1e+60");
  EXPECT_HAS(fault([](auto& o) { o.num_beams = 0; }), "num_beams 0: expected 1 to 64");
  EXPECT_HAS(fault([](auto& o) { o.num_return_sequences = 2; }), "greedy decoding has one result");
  EXPECT_HAS(fault([](auto& o) { o.num_beams = 2, o.num_return_sequences = 3; }), "at most num_beams");
  EXPECT_HAS(fault([](auto& o) { o.min_new_tokens = -1; }), "min_new_tokens -1");
  EXPECT_HAS(fault([](auto& o) { o.suppress_tokens = {10}; }), "suppress_tokens 10: outside");
  EXPECT_HAS(fault([](auto& o) {
               o.suppress_tokens = {0, 1, 2, 3, 4, 5, 6, 7}, o.bad_words_ids = {{8}};
               o.sequence_bias = {{{9}, -std::numeric_limits<double>::infinity()}};
             }),
             "leave none of the 10 tokens");
  EXPECT_HAS(fault([](auto& o) { o.allowed_token_ids = {10}; }), "allowed_token_ids 10: outside");
  EXPECT_HAS(fault([](auto& o) { o.allowed_token_ids = {3, 4, 3}, o.suppress_tokens = {3, 4, 5}; }),
             "leave none of the 10 tokens");
  GenerationOptions left;
  left.allowed_token_ids = {3, 4}, left.suppress_tokens = {3, 5};
  EXPECT_NO_THROW(left.validate(10));
  EXPECT_HAS(fault([](auto& o) { o.eos_token_id = {3, 10}; }), "eos_token_id 10: outside");
  EXPECT_HAS(fault([](auto& o) { o.eos_token_id = {-1}; }), "eos_token_id -1: outside");
  EXPECT_HAS(fault([](auto& o) { o.bad_words_ids = {{}}; }), "bad_words_ids: an empty list");
  EXPECT_HAS(fault([](auto& o) { o.sequence_bias = {{{1, -3}, 1.0}}; }), "sequence_bias -3: outside");
}

TEST(GenerationConfig, NamesAllThatItCannotDo) {
  GenerationOptions options;
  const std::string message = message_of([&] {
    read_generation_config(
        R"({"num_beam_groups": "many", "diversity_penalty": [], "length_score": 1, "stop_strings": ["a"], "top_k": "many", "eos_token_id": "end",
            "forced_bos_token_id": [1, 2], "early_stopping": 3, "bad_words_ids": [3], "renormalize_logits": true,
            "sequence_bias": [[[1], "x"]], "exponential_decay_length_penalty": 2})",
        options);
  });
  for (const char* part :
       {"num_beam_groups = \"many\"", "diversity_penalty = []", "length_score = 1", "stop_strings",
        "top_k = \"many\"", "eos_token_id = \"end\"", "forced_bos_token_id = [1,2]", "early_stopping = 3",
        "bad_words_ids = [3]", "renormalize_logits = true",
        "sequence_bias = ", "exponential_decay_length_penalty = 2"})
    EXPECT_HAS(message, part);
  EXPECT_HAS(message_of([&] { read_generation_config("{", options); }), "JSON");
  const auto fault = [](const char* json) {
    GenerationOptions fresh;
    return message_of([&] { read_generation_config(json, fresh); });
  };
  EXPECT_HAS(fault(R"({"num_beams": 4, "num_beam_groups": 3, "diversity_penalty": 1})"), "divides num_beams");
  EXPECT_HAS(fault(R"({"num_beams": 4, "num_beam_groups": 2})"), "diversity_penalty > 0");
  EXPECT_HAS(fault(R"({"num_beams": 4, "diversity_penalty": 1})"), "num_beam_groups of 2");
  EXPECT_HAS(fault(R"({"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1, "do_sample": true})"),
             "do_sample");
  EXPECT_HAS(fault(R"({"diverse_lambda": 1})"), "num_beams of 2");
  EXPECT_HAS(message_of([&] { read_generation_config(R"({"top_p": 7})", options); }), "top_p 7");
}

}  // namespace
}  // namespace smelt
