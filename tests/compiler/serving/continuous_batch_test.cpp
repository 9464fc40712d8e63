// A continuous batch over compiled models: random requests that join, leave and are cancelled get the same
// ids and the same bits of log-probabilities as each alone, and what Generator gives.
#include "runtime/engine/serving/continuous_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <span>

#include "compiler/driver/compile.h"
#include "frontend/build_transformer.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/structured/regex.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kServedLength = 61, kServedWords = 97;

struct ServedCase {
  const char* name;
  const char* spec;
  DType storage = DType::f32;
  AttentionForm attention = AttentionForm::automatic;
  int64_t pages = 0;  // of 16 tokens; 0: whole slots
  bool chooses = false;
  size_t ahead = 0;
  int64_t step_tokens = 0;  // of a run that mixes rows; 0: none does
};
void PrintTo(const ServedCase& c, std::ostream* out) { *out << c.name; }

// Sizes that are no multiples of a vector's: the ends of sums are taken number by number.
#define SMELT_SERVED_SIZES \
  R"("vocab_size": 97, "hidden": 44, "max_positions": 61, "init": {"deviation": 0.3}, )"
#define SMELT_SERVED(FAMILY)                           \
  R"({"family": ")" FAMILY R"(", )" SMELT_SERVED_SIZES \
  R"("decoder": {"layers": 2, "heads": 4, "head_dim": 12, "ffn": 83}})"
constexpr ServedCase kServedCases[] = {
    {"gpt2", SMELT_SERVED("gpt2")},
    {"llama", SMELT_SERVED("llama")},
    {"bloom", SMELT_SERVED("bloom")},
    {"gemma2", SMELT_SERVED("gemma2")},
    {"mistral_ring", R"({"family": "mistral", "attention": {"window": 6}, )" SMELT_SERVED_SIZES
                     R"("decoder": {"layers": 2, "heads": 4, "head_dim": 12, "ffn": 83}})"},
    {"gpt2_blocks", SMELT_SERVED("gpt2"), DType::f32, AttentionForm::fused},
    {"llama_bf16", SMELT_SERVED("llama"), DType::bf16},
    {"gpt2_pages", SMELT_SERVED("gpt2"), DType::f32, AttentionForm::automatic, 40},
    {"llama_pages", SMELT_SERVED("llama"), DType::f32, AttentionForm::automatic, 64},
    {"bloom_pages", SMELT_SERVED("bloom"), DType::f32, AttentionForm::automatic, 40},
    {"gemma2_pages", SMELT_SERVED("gemma2"), DType::f32, AttentionForm::automatic, 40},
    {"llama_bf16_pages", SMELT_SERVED("llama"), DType::bf16, AttentionForm::automatic, 40},
    {"gpt2_f16_pages", SMELT_SERVED("gpt2"), DType::f16, AttentionForm::automatic, 40},
    {"gpt2_chosen", SMELT_SERVED("gpt2"), DType::f32, AttentionForm::automatic, 40, true},
    {"llama_chosen_ahead", SMELT_SERVED("llama"), DType::f32, AttentionForm::automatic, 40, true, 1},
    {"llama_bf16_chosen_ahead", SMELT_SERVED("llama"), DType::bf16, AttentionForm::automatic, 40, true, 2},
    {"gpt2_mixed", SMELT_SERVED("gpt2"), DType::f32, AttentionForm::automatic, 40, true, 0, 24},
    {"llama_mixed_ahead", SMELT_SERVED("llama"), DType::f32, AttentionForm::automatic, 40, true, 1, 24},
    {"bloom_mixed", SMELT_SERVED("bloom"), DType::f32, AttentionForm::automatic, 40, true, 1, 20},
    {"gemma2_mixed", SMELT_SERVED("gemma2"), DType::f32, AttentionForm::automatic, 40, true, 1, 300},
    {"llama_bf16_mixed_ahead", SMELT_SERVED("llama"), DType::bf16, AttentionForm::automatic, 40, true, 2,
     24}};

std::unique_ptr<Session> session_of(const ServedCase& served, int64_t slots, bool has_pages = true) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.storage = served.storage, options.attention = served.attention;
  options.build.bounds = {{{"B"}, slots}, {{"T"}, kServedLength}};
  options.build.caches = true;
  if (has_pages) options.build.cache_pages = served.pages;
  options.build.has_sampler = served.chooses;
  if (has_pages && served.chooses) options.build.step_tokens = served.step_tokens;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(served.spec), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

class RequestSource {
 public:
  Request next() {
    Request request{.prompt = tokens(1 + number(25)), .options = {}, .log_probabilities = 2};
    if (number(3) == 0)
      std::fill_n(request.prompt.begin(), request.prompt.size() * 3 / 4, 5);  // many have it
    GenerationOptions& options = request.options;
    options.max_new_tokens = 1 + number(36);
    options.do_sample = number(3) > 0, options.seed = static_cast<uint32_t>(number(1000));
    options.top_k = number(30), options.top_p = 0.7 + 0.1 * static_cast<double>(number(4));
    options.temperature = 0.5 + 0.5 * static_cast<double>(number(3));
    options.repetition_penalty = 1 + 0.1 * static_cast<double>(number(3));
    options.no_repeat_ngram_size = number(4);
    if (number(4) == 1) options.eos_token_id = tokens(2);
    if (number(4) > 0) leave_to_plan(request);
    return request;
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  /// What a plan can do that chooses tokens.
  void leave_to_plan(Request& request) {
    GenerationOptions& options = request.options;
    request.log_probabilities = number(2) == 0 ? std::optional<size_t>() : 0;
    options.no_repeat_ngram_size = 0, options.min_new_tokens = number(5);
    if (number(3) == 0) options.sequence_bias = {{tokens(1), 1.7}, {tokens(1), -0.3}};
    if (number(3) == 0) options.suppress_tokens = tokens(3), options.bad_words_ids = {tokens(1)};
    if (number(3) == 0) options.begin_suppress_tokens = tokens(2);
    if (options.seed % 5 == 0) options.allowed_token_ids = allowed_tokens(options.seed);
    if (number(6) == 0) options.forced_eos_token_id = {97 - 1};
    options.min_p = 0.01 * static_cast<double>(number(3));
  }
  /// A third of the words, and the one that may be forced.
  static std::vector<int32_t> allowed_tokens(uint32_t seed) {
    std::vector<int32_t> result = {97 - 1};
    for (uint32_t i = 0; i < 30; ++i) result.push_back(static_cast<int32_t>((seed + 13 * i) % 97));
    return result;
  }
  std::vector<int32_t> tokens(int64_t count) {
    std::vector<int32_t> result;
    while (std::ssize(result) < count) result.push_back(static_cast<int32_t>(number(kServedWords)));
    return result;
  }
  std::mt19937 random_{11};
};

using Told = std::vector<NewToken>;  // tokens of the prompt, if they are reported, and then new ones

void add_progress(Told& told, const Progress& progress) {
  told.insert(told.end(), progress.prompt.begin(), progress.prompt.end());
  told.insert(told.end(), progress.tokens.begin(), progress.tokens.end());
}

Told run_alone(ContinuousBatch& batch, const Request& request) {
  const auto id = batch.submit(request);
  while (batch.step()) continue;
  Told told;
  add_progress(told, batch.poll(id));
  return told;
}

void expect_same_bits(const Told& found, const Told& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << i;
    EXPECT_EQ(found[i].log_probability, expected[i].log_probability) << i;
    EXPECT_EQ(found[i].best, expected[i].best) << i;
  }
}

void expect_same_ids(const Told& found, const Told& expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << i;
    EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-5) << i;
  }
}

/// All requests at random times; one in eight is cancelled.
struct Crowd {
  std::vector<Request> requests;
  std::vector<Told> told;
  std::vector<bool> cancelled;
  size_t most_running = 0;

  Crowd(ContinuousBatch& batch, size_t count, const std::function<void(Request&)>& change = {})
      : told(count), cancelled(count) {
    RequestSource source;
    std::map<ContinuousBatch::Id, size_t> live;
    while (requests.size() < count || !live.empty()) {
      for (int64_t i = source.number(3); i-- > 0 && requests.size() < count;) {
        requests.push_back(source.next());
        if (change) change(requests.back());
        live.emplace(batch.submit(requests.back()), requests.size() - 1);
      }
      if (source.number(40) == 0 && !live.empty()) batch.cancel(live.rbegin()->first);
      batch.step();
      most_running = std::max(most_running, batch.counts().running);
      std::erase_if(live, [&](const auto& each) { return has_ended(batch, each.first, each.second); });
    }
  }

 private:
  bool has_ended(ContinuousBatch& batch, ContinuousBatch::Id id, size_t index) {
    Progress progress = batch.poll(id);
    EXPECT_NE(progress.finish, Finish::failed) << progress.error;
    add_progress(told[index], progress);
    cancelled[index] = progress.finish == Finish::cancelled;
    return progress.finish != Finish::none;
  }
};

class ServedModels : public ::testing::TestWithParam<ServedCase> {};

TEST_P(ServedModels, GiveEachRequestTheBitsThatItGetsAlone) {
  const auto session = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 200, .chunk = 17, .ahead = GetParam().ahead});
  const Crowd crowd(batch, 200);
  EXPECT_GE(crowd.most_running, GetParam().pages == 0 ? 14U : 10U);
  const PageCounts pages = batch.counts().pages;
  EXPECT_EQ(pages.used + pages.shared + pages.reserved, 0U);
  EXPECT_EQ(pages.found > 0, GetParam().pages > 0);
  const auto other = session_of(GetParam(), 16);
  ContinuousBatch quiet(*other, {.chunk = 17, .shares_prefixes = false});
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    Told expected = run_alone(quiet, crowd.requests[i]);
    if (crowd.cancelled[i]) expected.resize(crowd.told[i].size());
    SCOPED_TRACE(i);
    expect_same_bits(crowd.told[i], expected);
  }
}

/// Makes every third request ask for the scores of its prompt.
std::function<void(Request&)> score_some_prompts() {
  return [number = size_t{0}](Request& request) mutable {
    if (number++ % 3 == 0) request.prompt_log_probabilities = number % 2;
  };
}

TEST_P(ServedModels, GivePromptsTheScoresThatEachGetsAlone) {
  const auto session = session_of(GetParam(), 16), other = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 60, .ahead = GetParam().ahead});
  const Crowd crowd(batch, 60, score_some_prompts());
  ContinuousBatch quiet(*other, {.shares_prefixes = false});
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    Told expected = run_alone(quiet, crowd.requests[i]);
    if (crowd.cancelled[i]) expected.resize(crowd.told[i].size());
    SCOPED_TRACE(i);
    expect_same_bits(crowd.told[i], expected);
  }
}

TEST_P(ServedModels, GiveWhatGeneratorGives) {
  if (GetParam().storage != DType::f32) GTEST_SKIP() << "near ties are decided by rounding";
  const auto session = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 60, .ahead = GetParam().ahead});
  const Crowd crowd(batch, 60);
  const auto other = session_of(GetParam(), 1, false);
  Generator generator(*other);
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    const auto expected = generator.generate({&crowd.requests[i].prompt, 1}, crowd.requests[i].options)[0];
    const size_t count = crowd.cancelled[i] ? crowd.told[i].size() : expected.size();
    ASSERT_EQ(crowd.told[i].size(), count);
    for (size_t t = 0; t < count; ++t) EXPECT_EQ(crowd.told[i][t].id, expected[t]) << i << " " << t;
  }
}

class ChoosingModels : public ::testing::TestWithParam<ServedCase> {};

/// Ids are those that the host chooses by the same logits; log-probabilities are summed in another order. A
/// plan with mixed runs reads a prompt in other runs than one without, so those two need not have the same
/// bits.
TEST_P(ChoosingModels, ChooseAsTheHostDoes) {
  const auto session = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 70, .ahead = GetParam().ahead});
  const Crowd crowd(batch, 70);
  EXPECT_GT(batch.counts().plan_tokens, batch.counts().new_tokens / 2);
  ServedCase host = GetParam();
  host.chooses = false;
  const auto other = session_of(host, 16);
  ContinuousBatch asked(*other), same(*session, {.plan_chooses = false});
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    SCOPED_TRACE(i);
    const Told expected = run_alone(asked, crowd.requests[i]);
    const Told alone = run_alone(same, crowd.requests[i]);
    ASSERT_EQ(alone.size(), expected.size());
    if (host.step_tokens == 0) expect_same_bits(alone, expected);
    expect_same_ids(alone, expected);
    ASSERT_TRUE(crowd.cancelled[i] || crowd.told[i].size() == expected.size());
    expect_same_ids(crowd.told[i], expected);
  }
}

// ---- constrained texts

/// A constraint of texts of letters and numbers, in tokens of one to three letters or digits.
std::shared_ptr<structured::Constraint> words_and_numbers() {
  structured::TokenBytes tokens;
  for (int64_t i = 0; i < kServedWords; ++i)
    tokens.bytes.emplace_back(1 + static_cast<size_t>(i % 3),
                              static_cast<char>(i % 2 == 0 ? 'a' + i % 26 : '0' + i % 10));
  return std::make_shared<structured::Constraint>(
      structured::compile(structured::regex_grammar("([a-m]+[0-9]{2,5}|[n-z]{3,}-?)*")),
      std::make_shared<const structured::ConstraintTokens>(std::move(tokens)));
}

/// Constrains two of three requests. Their options may not force other tokens.
void constrain(Request& request, const std::shared_ptr<structured::Constraint>& constraint) {
  if (request.prompt.size() % 3 == 0) return;
  GenerationOptions& options = request.options;
  options.no_repeat_ngram_size = 0, options.forced_eos_token_id.clear(), options.min_new_tokens = 0;
  options.suppress_tokens.clear(), options.begin_suppress_tokens.clear(), options.bad_words_ids.clear();
  request.log_probabilities = 0;
  request.constrained = std::make_shared<structured::ConstrainedText>(constraint, options.eos_token_id);
}

/// A constrained text stays in the steps that are started ahead, and all tokens are those that the host
/// chooses.
TEST_P(ChoosingModels, SampleAllowedTokensAsTheHostDoes) {
  const auto constraint = words_and_numbers();
  const auto session = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 70, .ahead = GetParam().ahead});
  Crowd crowd(batch, 70, [&](Request& request) { constrain(request, constraint); });
  EXPECT_GT(batch.counts().plan_tokens, batch.counts().new_tokens * 4 / 5);
  ContinuousBatch host(*session, {.plan_chooses = false});
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    SCOPED_TRACE(i);
    constrain(crowd.requests[i], constraint);
    Told expected = run_alone(host, crowd.requests[i]);
    ASSERT_TRUE(crowd.cancelled[i] || crowd.told[i].size() == expected.size());
    expect_same_ids(crowd.told[i], expected);
  }
}

// ---- drafts

/// Expects that each request got the bits that it gets alone in `plain`; a cancelled one may have fewer.
void expect_bits_alone(const Crowd& crowd, ContinuousBatch& plain) {
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    Told expected = run_alone(plain, crowd.requests[i]);
    if (crowd.cancelled[i]) expected.resize(crowd.told[i].size());
    SCOPED_TRACE(i);
    expect_same_bits(crowd.told[i], expected);
  }
}

class DraftingModels : public ::testing::TestWithParam<ServedCase> {};

/// Makes a text repeat the tokens 1, 2 and 3: always, or, with a smaller bias, often.
void repeat_tokens(Request& request, double bias) {
  request.options.no_repeat_ngram_size = 0, request.options.allowed_token_ids.clear();
  request.options.sequence_bias = {{{1, 2}, bias}, {{2, 3}, bias}, {{3, 1}, bias}};
}

/// Makes a text repeat a few tokens, with options that the plan supports.
void repeat_for_plan(Request& request, double bias) {
  request.options.no_repeat_ngram_size = 0, request.options.repetition_penalty = 1;
  request.options.allowed_token_ids.clear();
  request.options.sequence_bias = {{{1}, bias}, {{2}, bias}, {{3}, bias}};
}

TEST_P(DraftingModels, GiveTheBitsThatTheyGiveWithoutDrafts) {
  const auto session = session_of(GetParam(), 16), other = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 200, .draft = 5});
  const Crowd crowd(batch, 150, [](Request& request) {
    repeat_tokens(request, 15 * static_cast<double>(request.prompt.size() % 4));
  });
  EXPECT_GT(batch.counts().kept_draft_tokens, 10U);
  EXPECT_GT(batch.counts().draft_tokens, batch.counts().kept_draft_tokens);
  ContinuousBatch plain(*other, {.plan_chooses = false});
  expect_bits_alone(crowd, plain);
}

TEST_P(DraftingModels, GiveTheSameBitsWhereThePlanSamples) {
  const auto session = session_of(GetParam(), 16), other = session_of(GetParam(), 16);
  ContinuousBatch batch(*session, {.most_waiting = 200, .draft = 5});
  const Crowd crowd(batch, 150, [](Request& request) {
    repeat_for_plan(request, 5 * static_cast<double>(request.prompt.size() % 4));
  });
  EXPECT_GT(batch.counts().kept_draft_tokens, 30U);
  EXPECT_GT(batch.counts().draft_tokens, batch.counts().kept_draft_tokens);
  EXPECT_GT(batch.counts().plan_tokens, batch.counts().new_tokens / 2);
  ContinuousBatch plain(*other);
  expect_bits_alone(crowd, plain);
}

TEST_P(DraftingModels, TakeFewerStepsForTextsThatRepeat) {
  const auto session = session_of(GetParam(), 16);
  Request request;
  request.prompt = {1, 2, 3}, request.options.max_new_tokens = 50;
  repeat_tokens(request, 1e3);
  ContinuousBatch plain(*session, {.plan_chooses = false}), batch(*session, {.draft = 15});
  const Told repeated = run_alone(batch, request);
  expect_same_bits(repeated, run_alone(plain, request));
  EXPECT_EQ(batch.counts().new_tokens, 50U);
  EXPECT_EQ(batch.counts().steps + batch.counts().kept_draft_tokens, 50U);
  EXPECT_LE(batch.counts().steps, 15U);
}

INSTANTIATE_TEST_SUITE_P(Families, DraftingModels,
                         ::testing::Values(ServedCase{"gpt2", SMELT_SERVED("gpt2"), DType::f32,
                                                      AttentionForm::automatic, 40, true, 0, 24},
                                           ServedCase{"bloom", SMELT_SERVED("bloom"), DType::f32,
                                                      AttentionForm::automatic, 40, true, 0, 20},
                                           ServedCase{"llama_bf16", SMELT_SERVED("llama"), DType::bf16,
                                                      AttentionForm::automatic, 40, true, 0, 24}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Drafts, NeedRunsThatMixRows) {
  const auto session = session_of(kServedCases[0], 4);
  EXPECT_HAS(message_of([&] { ContinuousBatch(*session, {.draft = 2}); }), "--step-tokens=");
}

// ---- drafts by a model

/// Returns a session of a plan whose runs mix rows, with weights from `seed`.
std::unique_ptr<Session> mixing_session(uint32_t seed, int64_t pages = 40, int64_t length = kServedLength,
                                        int64_t words = kServedWords) {
  Json spec = Json::parse(SMELT_SERVED("llama"));
  spec["vocab_size"] = words;
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, 16}, {{"T"}, length}};
  options.build.caches = options.build.has_sampler = true;
  options.build.cache_pages = pages, options.build.step_tokens = 24;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(spec.dump()), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(seed);
  return session;
}

/// Returns the counts of a crowd whose drafts are made by `draft`, after checks that all texts have the bits
/// that they have without drafts.
ContinuousBatchCounts counts_with_drafts(Session& draft, size_t most_drafted = 0) {
  const auto session = mixing_session(5), other = mixing_session(5);
  ContinuousBatch batch(
      *session, {.most_waiting = 200, .draft = 5, .draft_model = &draft, .most_drafted = most_drafted});
  const Crowd crowd(batch, 100);
  ContinuousBatch plain(*other);
  expect_bits_alone(crowd, plain);
  return batch.counts();
}

TEST(ModelDrafts, OfTheSameModelAreAllKept) {
  const auto draft = mixing_session(5);
  const ContinuousBatchCounts counts = counts_with_drafts(*draft);
  EXPECT_GT(counts.draft_tokens, 100U);
  EXPECT_EQ(counts.kept_draft_tokens, counts.draft_tokens);
}

TEST(ModelDrafts, OfAnotherModelChangeNoText) {
  const auto draft = mixing_session(6);
  const ContinuousBatchCounts counts = counts_with_drafts(*draft);
  EXPECT_GT(counts.draft_tokens, 50U);
  EXPECT_LT(counts.kept_draft_tokens, counts.draft_tokens / 4);
}

/// A text without room in the drafting model's caches, or longer than they can hold, gets no drafts.
TEST(ModelDrafts, NeedRoomInTheCachesOfTheDraftModel) {
  const auto few_pages = mixing_session(5, 5), short_texts = mixing_session(5, 40, 20);
  for (Session* draft : {few_pages.get(), short_texts.get()}) {
    const ContinuousBatchCounts counts = counts_with_drafts(*draft);
    EXPECT_GT(counts.draft_tokens, 10U);
    EXPECT_EQ(counts.kept_draft_tokens, counts.draft_tokens);
  }
}

TEST(ModelDrafts, AreNotMadeForMoreTextsThanTheLimit) {
  const auto draft = mixing_session(5), session = mixing_session(5);
  ContinuousBatch batch(*session, {.draft = 3, .draft_model = draft.get(), .most_drafted = 2});
  const auto run_together = [&](size_t requests) {
    Request request{.prompt = {1, 2, 3}, .options = {}};
    request.options.max_new_tokens = 10, request.options.eos_token_id = {};
    for (size_t i = 0; i < requests; ++i) batch.submit(request);
    while (batch.step()) continue;
    return batch.counts().draft_tokens;
  };
  EXPECT_EQ(run_together(3), 0U);
  EXPECT_GT(run_together(2), 10U);
}

TEST(ModelDrafts, AreCountedInTheMemoryOfCaches) {
  const auto draft = mixing_session(5, 7), session = mixing_session(5);
  const int64_t own = ContinuousBatch(*session, {.draft = 3}).counts().cache_bytes;
  const int64_t drafts = ContinuousBatch(*draft).counts().cache_bytes;
  const ContinuousBatch batch(*session, {.draft = 3, .draft_model = draft.get()});
  EXPECT_EQ(batch.counts().cache_bytes, own + drafts);
}

TEST(ModelDrafts, AreRefusedByNameFromOtherModels) {
  const auto session = mixing_session(5), words = mixing_session(5, 40, kServedLength, 96);
  const auto slots = session_of(kServedCases[1], 4);
  const auto refusal = [&](Session& draft) {
    return message_of([&] { ContinuousBatch(*session, {.draft = 2, .draft_model = &draft}); });
  };
  EXPECT_HAS(refusal(*words), "the draft model has a vocabulary of 96 tokens, and the model one of 97");
  EXPECT_HAS(refusal(*slots), "--step-tokens=");
}

// ---- tiles of prompts, which a plan for a CPU has only where it is asked for them

std::unique_ptr<Module> mixed_module(const char* spec, int64_t slots, int64_t step_tokens, bool tiles,
                                     int64_t length = kServedLength) {
  Json described = Json::parse(spec);
  described["max_positions"] = length;
  BuildOptions options{.bounds = {{{"B"}, slots}, {{"T"}, length}}, .training = false, .caches = true};
  options.has_sampler = true, options.cache_pages = 40, options.step_tokens = step_tokens;
  options.tiles_prompts = tiles;
  return build_transformer(spec_from_json(described.dump()), options);
}

std::shared_ptr<const Plan> infer_plan(std::unique_ptr<Module> module) {
  CompileOptions options;
  options.mode = Mode::infer;
  return std::make_shared<const Plan>(compile(std::move(module), options).plan);
}

constexpr const char* kTiledSpecs[] = {
    SMELT_SERVED("gpt2"), SMELT_SERVED("llama"), SMELT_SERVED("bloom"), SMELT_SERVED("gemma2"),
    R"({"family": "llama", "positions": {"kind": "relative_buckets"}, )" SMELT_SERVED_SIZES
    R"("decoder": {"layers": 2, "heads": 4, "head_dim": 12, "ffn": 83}})"};

TEST(TiledPrompts, GiveWhatGeneratorGives) {
  for (const char* spec : kTiledSpecs) {
    Session session(infer_plan(mixed_module(spec, 16, 24, true)),
                    SessionOptions{.threads = 1, .poison = true});
    session.initialize(5);
    ASSERT_TRUE(DecodeInterface(session.plan()).has_next_row);
    ContinuousBatch batch(session, {.most_waiting = 40, .ahead = 1});
    const Crowd crowd(batch, 40);
    const auto other = session_of({"alone", spec}, 1, false);
    Generator generator(*other);
    for (size_t i = 0; i < crowd.requests.size(); ++i) {
      const auto expected = generator.generate({&crowd.requests[i].prompt, 1}, crowd.requests[i].options)[0];
      ASSERT_TRUE(crowd.cancelled[i] || crowd.told[i].size() == expected.size());
      for (size_t t = 0; t < crowd.told[i].size(); ++t)
        EXPECT_EQ(crowd.told[i][t].id, expected[t]) << i << " " << t;
    }
  }
}

/// Such a plan reads few prompts per run, and samples in runs of one token per row.
TEST(TiledPrompts, AreReadByDraftModelsToo) {
  Session draft(infer_plan(mixed_module(kTiledSpecs[1], 16, 24, true)),
                SessionOptions{.threads = 1, .poison = true});
  draft.initialize(5);
  const ContinuousBatchCounts counts = counts_with_drafts(draft);
  EXPECT_GT(counts.draft_tokens, 100U);
  EXPECT_GT(counts.kept_draft_tokens, counts.draft_tokens * 9 / 10);
}

/// A plan with slots reads one token per run.
TEST(TiledPrompts, GivePromptsTheScoresThatSlotsGive) {
  Session session(infer_plan(mixed_module(kTiledSpecs[1], 16, 24, true)),
                  SessionOptions{.threads = 1, .poison = true});
  session.initialize(5);
  ContinuousBatch batch(session, {.most_waiting = 60, .ahead = 1});
  const Crowd crowd(batch, 60, score_some_prompts());
  const auto other = session_of({"slots", kTiledSpecs[1]}, 16);
  ContinuousBatch slots(*other);
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    if (!crowd.requests[i].prompt_log_probabilities || crowd.cancelled[i]) continue;
    const Told expected = run_alone(slots, crowd.requests[i]);
    for (size_t t = 0; t < crowd.requests[i].prompt.size(); ++t) {
      EXPECT_EQ(crowd.told[i][t].id, expected[t].id);
      EXPECT_NEAR(crowd.told[i][t].log_probability, expected[t].log_probability, 1e-4) << i << " " << t;
    }
  }
}

constexpr int64_t kLongest = 150;

/// A run of a row with one token, of one with three tiles, of one with a part of a tile, and of padding.
TEST(TiledPrompts, GiveTheLogitsOfSingleTokens) {
  for (const char* spec : kTiledSpecs) {
    const auto module = mixed_module(spec, 4, 200, true, kLongest);
    const SymbolValues symbols = {{"B", 4}, {"M", 180}, {"Q", 11}};
    Tensors inputs = testing::random_inputs(*module->find_graph("tiled_pages"), 3, symbols);
    const Tensors states = testing::random_states(*module, 7, symbols);
    const struct {
      int64_t count, past;
    } rows[] = {{1, 130}, {140, 5}, {20, 17}};
    auto& single = inputs.at("single_tokens").data = {-1, -1, -1, -1};
    auto& first = inputs.at("first_tokens").data;
    for (const char* name : {"token_rows", "first_tokens"}) std::ranges::fill(inputs.at(name).data, -1);
    for (const char* name : {"token_pasts", "token_results"}) std::ranges::fill(inputs.at(name).data, 0);
    size_t at = 0, tile = 0;
    for (int64_t row = 0; row < 3; ++row) {
      const auto [count, past] = rows[row];
      if (count == 1) single[static_cast<size_t>(row)] = static_cast<double>(at);
      for (int64_t i = 0; i < count; ++i, ++at) {
        if (count > 1 && i % kTileTokens == 0) first[tile++] = static_cast<double>(at);
        inputs.at("token_rows").data[at] = static_cast<double>(row);
        inputs.at("token_pasts").data[at] = static_cast<double>(past + i);
        inputs.at("token_results").data[at] = static_cast<double>(
            count == 1 ? row : 4 + (static_cast<int64_t>(tile) - 1) * kTileTokens + i % kTileTokens);
      }
      inputs.at("last_tokens").data[static_cast<size_t>(row)] = static_cast<double>(at - 1);
    }
    inputs.at("last_tokens").data[3] = 0;
    for (size_t i = 0; i < inputs.at("pages").data.size(); ++i)
      inputs.at("pages").data[i] = static_cast<double>(i);  // each row has pages of its own
    inputs.at("slots").data = {2, 0, 3, -1};
    std::map<std::string, Tensor> logits;
    for (const char* entry : {"mixed_pages", "tiled_pages"}) {
      const auto plan =
          infer_plan(mixed_module(spec, 4, 200, entry == std::string_view("tiled_pages"), kLongest));
      Session session(plan, SessionOptions{.threads = 1, .poison = true});
      session.initialize(5);
      testing::write_states(session, states);
      logits[entry] = testing::run_entry(session, entry, {}, inputs).at("logits");
    }
    EXPECT_LE(testing::relative_error(logits["tiled_pages"], logits["mixed_pages"]), 2e-6) << spec;
  }
}

std::string name_of_served(const ::testing::TestParamInfo<ServedCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, ServedModels, ::testing::ValuesIn(kServedCases), name_of_served);
INSTANTIATE_TEST_SUITE_P(All, ChoosingModels, ::testing::ValuesIn(std::span(kServedCases).last(8).first(7)),
                         name_of_served);

}  // namespace
}  // namespace smelt
