// Plans that choose tokens by their text choose the host's: greedily, drawn and by beams, each processor
// alone and any of them together, for a decoder alone, for one that reads a source and for one whose caches
// are rings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

constexpr int64_t kGuidedWords = 17, kGuidedCapacity = 24, kGuidedSource = 10, kGuidedRows = 6;

using Tokens = Generator::Tokens;
using Prompts = std::vector<Tokens>;

#define SMELT_GUIDED_SIZES                                                               \
  R"("vocab_size": 17, "hidden": 12, "max_positions": 32, "init": {"deviation": 0.6}, )" \
  R"("decoder": {"layers": 1, "heads": 2, "ffn": 16})"
constexpr const char* kDecoderAlone = R"({"family": "gpt2", )" SMELT_GUIDED_SIZES "}";
constexpr const char* kReadsSource =
    R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_GUIDED_SIZES
    R"(, "encoder": {"layers": 1, "heads": 2, "ffn": 16}})";
// Rings of 18 places, fewer than a row may have tokens.
constexpr const char* kHasRings =
    R"({"family": "mistral", "attention": {"window": 3}, )" SMELT_GUIDED_SIZES "}";

/// The same weights, whoever chooses.
std::unique_ptr<Session> guided_session(const char* spec, bool plan_chooses) {
  CompileOptions options;
  options.mode = Mode::infer;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr,
                                Json::object(),          {}};
  options.build.bounds = {{{"B"}, kGuidedRows}, {{"T"}, kGuidedCapacity}};
  if (description.spec.encoder.layers > 0) options.build.bounds.push_back({{"S"}, kGuidedSource});
  options.build.caches = true, options.build.has_sampler = plan_chooses;
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

/// What the log says of the host's choice, while it is there.
class Heard {
 public:
  Heard() {
    set_log([this](LogLevel, std::string_view text) {
      if (text.starts_with("the host chooses")) text_ += text;
    });
  }
  ~Heard() { set_log({}); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Random prompts, masks and options.
class RandomRequest {
 public:
  explicit RandomRequest(uint32_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }
  bool one_of(size_t count) { return below(count) == 0; }
  double number(double least, double most) {
    return least + (most - least) * static_cast<double>(random_()) / 4294967296.0;
  }
  Tokens tokens(size_t count, size_t words = kGuidedWords) {
    Tokens result(count);
    for (int32_t& token : result) token = static_cast<int32_t>(below(words));
    return result;
  }
  Prompts prompts() {
    Prompts result;
    for (size_t count = 1 + below(4); result.size() < count;)
      result.push_back(tokens(1 + below(8), one_of(2) ? 4 : kGuidedWords));
    return result;
  }
  /// Padding at the left of some.
  Prompts masks(Prompts& prompts) {
    Prompts masks;
    for (Tokens& prompt : prompts) {
      const size_t padding = one_of(2) ? below(3) : 0;
      masks.emplace_back(prompt.size() + padding, 1);
      std::fill_n(masks.back().begin(), padding, 0);
      prompt.insert(prompt.begin(), padding, 1);
    }
    return masks;
  }
  GenerationOptions options() {
    GenerationOptions o;
    o.max_new_tokens = static_cast<int64_t>(2 + below(12)), o.decoder_start_token_id = 2;
    if (!one_of(4)) o.eos_token_id = tokens(1 + below(3));
    o.seed = static_cast<uint32_t>(below(1000));
    return o;
  }

 private:
  std::mt19937 random_;
};

using SetOption = void (*)(RandomRequest&, GenerationOptions&);

/// Each makes the plain entries leave the choice to the host.
constexpr SetOption kGuidedOptions[] = {
    [](RandomRequest& r, auto& o) { o.no_repeat_ngram_size = static_cast<int64_t>(1 + r.below(4)); },
    [](RandomRequest& r, auto& o) { o.encoder_no_repeat_ngram_size = static_cast<int64_t>(1 + r.below(4)); },
    [](RandomRequest& r, auto& o) { o.encoder_repetition_penalty = r.number(0.5, 3); },
    [](RandomRequest& r, auto& o) {
      for (size_t i = 0; i < 20; ++i) o.sequence_bias.push_back({r.tokens(1), r.number(-2, 2)});
      for (int32_t i = 0; i < 40; ++i)
        o.sequence_bias.push_back({{static_cast<int32_t>(r.below(kGuidedWords)), i % 17}, r.number(-3, 3)});
    },
    [](RandomRequest& r, auto& o) {
      for (size_t i = 0; i < 60; ++i) o.bad_words_ids.push_back(r.tokens(2 + r.below(2)));
      o.bad_words_ids.push_back(r.tokens(1));
    },
    [](RandomRequest&, auto& o) { o.remove_invalid_values = true; },
    [](RandomRequest& r, auto& o) {
      o.exponential_decay_length_penalty = {static_cast<int64_t>(r.below(5)), r.number(0.8, 1.6)};
    },
    [](RandomRequest& r, auto& o) {
      o.forced_eos_token_id = {static_cast<int32_t>(r.below(8)), static_cast<int32_t>(8 + r.below(8))};
    }};
/// These do not, but change scores, too.
constexpr SetOption kPlainOptions[] = {
    [](RandomRequest& r, auto& o) { o.repetition_penalty = r.number(0.7, 2); },
    [](RandomRequest& r, auto& o) { o.min_new_tokens = static_cast<int64_t>(r.below(6)); },
    [](RandomRequest& r, auto& o) { o.min_length = static_cast<int64_t>(r.below(12)); },
    [](RandomRequest& r, auto& o) { o.suppress_tokens = r.tokens(2), o.begin_suppress_tokens = r.tokens(2); },
    [](RandomRequest& r, auto& o) { o.forced_bos_token_id = static_cast<int32_t>(r.below(kGuidedWords)); }};

void draw_tokens(RandomRequest& random, GenerationOptions& options) {
  options.do_sample = true, options.top_p = random.number(0.5, 1),
  options.temperature = random.number(0.5, 2);
  options.num_return_sequences = static_cast<int64_t>(1 + random.below(3));
}

void search_beams(RandomRequest& random, GenerationOptions& options) {
  options.num_beams = static_cast<int64_t>(2 + random.below(3));
  options.num_return_sequences = static_cast<int64_t>(1 + random.below(2));
  options.length_penalty = random.number(0, 2);
  options.early_stopping = static_cast<EarlyStopping>(random.below(3));
  if (random.one_of(3)) options.diverse_lambda = random.number(0.1, 1);
}

/// The plan's choice and the host's.
class BothChoices {
 public:
  explicit BothChoices(const char* spec)
      : of_plan_(guided_session(spec, true)), of_host_(guided_session(spec, false)) {}

  void write(const char* segment, size_t place, float value) {
    for (Session* session : {of_plan_.get(), of_host_.get()})
      session->segment("parameters", segment)[place] = value;
  }

  void compare(RandomRequest& random, const GenerationOptions& options) {
    Prompts prompts = random.prompts();
    const Prompts masks = random.one_of(3) ? random.masks(prompts) : Prompts();
    std::vector<float> found_scores, scores;
    const std::string expected = results_of(host_, prompts, masks, options, scores);
    const std::string found = results_of(plan_, prompts, masks, options, found_scores);
    ASSERT_EQ(found_scores.size(), scores.size());
    for (size_t i = 0; i < scores.size(); ++i)
      EXPECT_NEAR(found_scores[i], scores[i], 1e-5 * std::max(1.0F, std::abs(scores[i])));
    // Texts of the same words in another order may have the same sum: rounding then says which is the better.
    if (!scores.empty() && found != expected) return void(++ties_);
    EXPECT_EQ(found, expected) << ::testing::PrintToString(prompts);
  }

  /// `how`: draws, searches, or neither.
  void compare_all(SetOption how) {
    RandomRequest random(11);
    const Heard heard;
    for (int i = 0; i < 25 && !::testing::Test::HasFailure(); ++i)
      for (const SetOption guided : kGuidedOptions) {
        GenerationOptions options = random.options();
        guided(random, options);
        if (how) how(random, options);
        compare(random, options);
      }
    EXPECT_EQ(heard.text(), "") << "the host has chosen";
    EXPECT_LE(ties_, 2);
  }
  void compare_together(SetOption how) {
    RandomRequest random(12);
    const Heard heard;
    for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
      GenerationOptions options = random.options();
      for (const SetOption guided : kGuidedOptions)
        if (random.one_of(3)) guided(random, options);
      for (const SetOption plain : kPlainOptions)
        if (random.one_of(3)) plain(random, options);
      if (how) how(random, options);
      compare(random, options);
    }
    EXPECT_EQ(heard.text(), "") << "the host has chosen";
    EXPECT_LE(ties_, 3);
  }

 private:
  /// An Error where that is what there is.
  static std::string results_of(Generator& generator, const Prompts& prompts, const Prompts& masks,
                                const GenerationOptions& options, std::vector<float>& scores) {
    try {
      if (options.num_beams == 1)
        return ::testing::PrintToString(generator.generate(prompts, options, {}, masks));
      Prompts all;
      for (const auto& found : generator.search(prompts, options, masks))
        for (const Hypothesis& each : found) all.push_back(each.tokens), scores.push_back(each.score);
      return ::testing::PrintToString(all);
    } catch (const Error& error) {
      return error.status() == Status::numeric ? "no token can be chosen" : error.what();
    }
  }

  std::unique_ptr<Session> of_plan_, of_host_;
  Generator plan_{*of_plan_}, host_{*of_host_};
  int ties_ = 0;  // requests so far whose beams have equal scores and other tokens
};

class GuidedChoice : public ::testing::TestWithParam<const char*> {
 protected:
  BothChoices both_{GetParam()};
};

TEST_P(GuidedChoice, GreedyTokensAreTheHosts) {
  both_.compare_all(nullptr);
  both_.compare_together(nullptr);
}

TEST_P(GuidedChoice, DrawnTokensAreTheHosts) {
  both_.compare_all(draw_tokens);
  both_.compare_together(draw_tokens);
}

TEST_P(GuidedChoice, BeamsAreTheHosts) {
  both_.compare_all(search_beams);
  both_.compare_together(search_beams);
}

/// What is beyond the bounds goes on at the host, which the log tells.
TEST_P(GuidedChoice, TheHostChoosesWhatThePlanDoesNot) {
  RandomRequest random(13);
  const auto expect_refused = [&](const char* reason, auto set) {
    GenerationOptions options = random.options();
    set(options);
    const Heard heard;
    both_.compare(random, options);
    EXPECT_NE(heard.text().find(reason), std::string::npos) << heard.text();
  };
  expect_refused("no_repeat_ngram_size above 16", [](auto& o) { o.no_repeat_ngram_size = 17; });
  expect_refused("more than 4 phrases of sequence_bias end in one token", [](auto& o) {
    for (int32_t i = 0; i < 5; ++i) o.sequence_bias.push_back({{i, 3}, 0.5});
  });
  expect_refused("num_beam_groups", [](auto& o) {
    o.num_beams = 4, o.num_beam_groups = 2, o.diversity_penalty = 0.5, o.no_repeat_ngram_size = 2;
  });
  expect_refused("do_sample in a beam search",
                 [](auto& o) { o.num_beams = 2, o.do_sample = true, o.no_repeat_ngram_size = 2; });
}

/// Of an infinite logit no probabilities can be made: what becomes of it, and of beams beside its own. Scores
/// that are all 0 then make equal sums, of which rounding would say whether they can improve.
TEST(GuidedChoiceOfInvalidScores, IsTheHosts) {
  BothChoices both(R"({"family": "llama", "head": {"tied": false}, )" SMELT_GUIDED_SIZES "}");
  both.write("lm_head.weight", 7 * 12, INFINITY);
  for (const SetOption how : {SetOption(nullptr), SetOption(draw_tokens), SetOption(search_beams)}) {
    RandomRequest random(14);
    for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
      GenerationOptions options = random.options();
      options.remove_invalid_values = !random.one_of(4), options.no_repeat_ngram_size = 3;
      for (const SetOption guided : kGuidedOptions)
        if (random.one_of(5)) guided(random, options);
      if (how) how(random, options);
      options.early_stopping = EarlyStopping::yes, options.diverse_lambda = 0;
      both.compare(random, options);
    }
  }
}

std::string name_of_model(const ::testing::TestParamInfo<const char*>& info) {
  constexpr const char* kNames[] = {"decoder", "reads_source", "has_rings"};
  return kNames[info.index];
}

INSTANTIATE_TEST_SUITE_P(All, GuidedChoice, ::testing::Values(kDecoderAlone, kReadsSource, kHasRings),
                         name_of_model);

}  // namespace
}  // namespace smelt
