// Tokens that the GPU chooses by the text behind them are what the host would choose. Skipped where there is
// no GPU.
#include "runtime/engine/generation/generator.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuGuidedChoice = GpuTest;
using GuidedTokens = Generator::Tokens;

constexpr int64_t kGuidedWords = 131;

/// The same weights, whoever chooses.
std::unique_ptr<Session> guided_session(const char* family, bool plan_chooses) {
  Json spec = {{"family", family},
               {"vocab_size", kGuidedWords},
               {"hidden", 64},
               {"max_positions", 96},
               {"init", {{"deviation", 0.3}}},
               {"tokens", {{"decoder_start", 2}, {"pad", 1}}},
               {"decoder", {{"layers", 2}, {"heads", 2}}}};
  if (std::string_view(family) == "bart") spec["encoder"] = spec["decoder"];
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda";
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, 64}};
  options.build.caches = true, options.build.has_sampler = plan_chooses;
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan));
  session->initialize(3);
  return session;
}

GuidedTokens random_tokens(std::mt19937& random, size_t count) {
  GuidedTokens tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % kGuidedWords);
  return tokens;
}

GenerationOptions random_options(std::mt19937& random) {
  GenerationOptions options;
  const auto one_of = [&](uint32_t count) { return random() % count == 0; };
  options.max_new_tokens = static_cast<int64_t>(2 + random() % 30), options.decoder_start_token_id = 2;
  options.no_repeat_ngram_size = static_cast<int64_t>(1 + random() % 3);
  if (one_of(2)) options.eos_token_id = random_tokens(random, 2);
  if (one_of(2)) options.repetition_penalty = 1.3;
  if (one_of(3)) options.encoder_no_repeat_ngram_size = 2;
  if (one_of(3)) options.encoder_repetition_penalty = 1.4;
  if (one_of(3)) options.remove_invalid_values = true;
  if (one_of(3)) options.exponential_decay_length_penalty = {3, 1.2};
  for (int32_t i = 0; i < 60; ++i) {
    options.sequence_bias.push_back({{static_cast<int32_t>(random() % kGuidedWords), i}, 2.5});
    options.bad_words_ids.push_back(random_tokens(random, 2));
  }
  return options;
}

/// How many of the rows are equal: last bits of logits may differ between the entries, so that a few rows may
/// take another way at a near tie.
void expect_nearly_all_equal(Generator& plan, Generator& host, size_t beams, bool draws) {
  std::mt19937 random(7);
  size_t rows = 0, equal = 0;
  for (int i = 0; i < 40; ++i) {
    std::vector<GuidedTokens> prompts;
    for (size_t count = 1 + random() % 6; prompts.size() < count;)
      prompts.push_back(random_tokens(random, 1 + random() % 20));
    GenerationOptions options = random_options(random);
    options.num_beams = static_cast<int64_t>(beams), options.do_sample = draws;
    options.seed = static_cast<uint32_t>(random());
    if (beams > 1 && random() % 3 == 0) options.diverse_lambda = 0.3;
    const auto found = plan.generate(prompts, options), expected = host.generate(prompts, options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t row = 0; row < found.size(); ++row) equal += found[row] == expected[row];
    rows += found.size();
  }
  EXPECT_GE(equal * 50, rows * 49) << equal << " of " << rows;
}

TEST_F(GpuGuidedChoice, IsTheHosts) {
  for (const char* family : {"gpt2", "bart"}) {
    const auto of_plan = guided_session(family, true), of_host = guided_session(family, false);
    Generator plan(*of_plan), host(*of_host);
    expect_nearly_all_equal(plan, host, 1, false);
    expect_nearly_all_equal(plan, host, 1, true);
    expect_nearly_all_equal(plan, host, 4, false);
  }
}

}  // namespace
}  // namespace smelt
