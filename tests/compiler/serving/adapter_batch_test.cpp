// Adapters in the slots of a continuous batch: each request gives what it gives alone with the adapter merged
// into the weights, and requests without an adapter are those of a plan without slots.
#include "runtime/engine/serving/adapter_store.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "frontend/build_transformer.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"
#include "tests/support/merged_adapter.h"
#include "tests/support/random_adapter.h"

namespace smelt {
namespace {

using testing::merge_adapter, testing::random_adapter;

constexpr int64_t kAdaptedSlots = 3, kAdaptedRank = 5;

struct AdaptedCase {
  const char* name;
  const char* family;
  const char* more = "";  // fields of the description
  DType storage = DType::f32;
  int64_t pages = 0;  // 0: whole slots
  bool chooses = false;
  int64_t step_tokens = 0;
  size_t ahead = 0;
  std::vector<std::string> targets = {};
};
void PrintTo(const AdaptedCase& c, std::ostream* out) { *out << c.name; }

const AdaptedCase kAdaptedCases[] = {
    {"gpt2", "gpt2"},
    {"llama", "llama"},
    {"mistral_ring", "mistral", R"("attention": {"window": 6},)"},
    {"gpt2_pages", "gpt2", "", DType::f32, 60},
    {"bloom_pages", "bloom", "", DType::f32, 60},
    {"llama_chosen_ahead", "llama", "", DType::f32, 60, true, 0, 1},
    {"gpt2_mixed", "gpt2", "", DType::f32, 60, true, 24, 0, {"c_attn", "mlp.c_proj"}},
    {"llama_mixed_ahead", "llama", "", DType::f32, 60, true, 24, 1},
    {"llama_bf16_mixed", "llama", "", DType::bf16, 60, true, 24, 1, {"q_proj", "down_proj"}},
};

std::string adapted_json(const AdaptedCase& adapted) {
  return R"({"family": ")" + std::string(adapted.family) + R"(", )" + adapted.more +
         R"("vocab_size": 97, "hidden": 44, "max_positions": 61, "init": {"deviation": 0.3},
            "decoder": {"layers": 2, "heads": 4, "head_dim": 12, "ffn": 83}})";
}

/// Compiles each case once with slots, and once without.
std::unique_ptr<Session> adapted_session(const AdaptedCase& adapted, bool has_slots) {
  static std::map<std::string, std::shared_ptr<const Plan>> plans;
  auto& plan = plans[std::string(adapted.name) + (has_slots ? " with slots" : "")];
  CompileOptions options;
  options.mode = Mode::infer, options.storage = adapted.storage;
  options.build.bounds = {{{"B"}, 8}, {{"T"}, 61}};
  options.build.caches = true, options.build.cache_pages = adapted.pages;
  options.build.has_sampler = adapted.chooses, options.build.step_tokens = adapted.step_tokens;
  if (has_slots) options.build.adapters = kAdaptedSlots, options.build.adapter_rank = kAdaptedRank;
  if (has_slots) options.build.adapter_targets = adapted.targets;
  const Description description{
      Description::Kind::spec, "spec.json", spec_from_json(adapted_json(adapted)), nullptr,
      Json::object(),          {}};
  if (!plan) plan = std::make_shared<const Plan>(compile(description, options).plan);
  auto session = std::make_unique<Session>(plan, SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

Request adapted_request(int32_t number, std::shared_ptr<const ServedAdapter> adapter = nullptr) {
  Request request{.prompt = std::vector<int32_t>(33, 7), .options = {}};  // two pages that all requests have
  request.prompt.push_back(number);
  request.options.max_new_tokens = 9;
  request.log_probabilities = 0;
  request.adapter = std::move(adapter);
  return request;
}

using AdaptedTokens = std::vector<NewToken>;

AdaptedTokens end_of(ContinuousBatch& batch, ContinuousBatch::Id id) {
  while (batch.step()) continue;
  Progress progress = batch.poll(id);
  EXPECT_EQ(progress.error, "");
  return std::move(progress.tokens);
}

/// Compares ids, and log-probabilities to within `spread`.
void expect_close(const AdaptedTokens& found, const AdaptedTokens& expected, float spread) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << i;
    if (spread == 0)
      EXPECT_EQ(found[i].log_probability, expected[i].log_probability) << i;
    else
      EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, spread) << i;
  }
}

class AdapterBatches : public ::testing::TestWithParam<AdaptedCase> {
 protected:
  void SetUp() override {
    session_ = adapted_session(GetParam(), true);
    batch_ = std::make_unique<ContinuousBatch>(*session_, ContinuousBatchOptions{.ahead = GetParam().ahead});
    ASSERT_NE(batch_->adapters(), nullptr);
  }
  AdapterStore& store() { return *batch_->adapters(); }
  std::shared_ptr<const ServedAdapter> load(const std::string& name, uint32_t seed) {
    auto adapter = store().add(name);
    batch_->write_adapter(*adapter, random_adapter(store().interface(), seed));
    return adapter;
  }
  AdaptedTokens alone(const Request& request) { return end_of(*batch_, batch_->submit(request)); }
  /// Returns what a plan without slots gives with the adapter of this seed in its weights; 0: without one.
  AdaptedTokens merged(const Request& request, uint32_t seed) {
    const auto session = adapted_session(GetParam(), false);
    if (seed > 0) merge_adapter(*session, store().interface(), random_adapter(store().interface(), seed));
    ContinuousBatch batch(*session, {.ahead = GetParam().ahead});
    return end_of(batch, batch.submit(request));
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<ContinuousBatch> batch_;
};

TEST_P(AdapterBatches, GiveWhatMergedWeightsGive) {
  if (GetParam().storage != DType::f32) GTEST_SKIP() << "rounded weights are those of the merged model";
  for (const uint32_t seed : {11U, 12U, 14U}) {
    const auto adapter = load(std::to_string(seed), seed);
    for (const int32_t number : {3, 4})
      expect_close(alone(adapted_request(number, adapter)), merged(adapted_request(number), seed), 2e-3F);
  }
}

/// Kernels of a plan with slots are fused in another way, so that the last bits may differ.
TEST_P(AdapterBatches, ChangeNoRequestWithoutAnAdapter) {
  const AdaptedTokens expected = alone(adapted_request(3)), others = merged(adapted_request(3), 0);
  if (GetParam().storage == DType::f32)
    expect_close(expected, others, 1e-4F);
  else
    EXPECT_NEAR(expected[0].log_probability, others[0].log_probability, 0.1F);
  load("first", 11);
  EXPECT_NE(alone(adapted_request(3, store().find("first")))[0].log_probability, expected[0].log_probability);
  expect_close(alone(adapted_request(3)), expected, 0);
}

TEST_P(AdapterBatches, MixAdaptersInOneRun) {
  const std::shared_ptr<const ServedAdapter> adapters[] = {nullptr, load("first", 11), load("second", 12),
                                                           load("third", 13)};
  std::vector<AdaptedTokens> expected;
  for (int32_t i = 0; i < 8; ++i) {
    ContinuousBatch fresh(*session_, {.shares_prefixes = false});
    expected.push_back(end_of(fresh, fresh.submit(adapted_request(i, adapters[i % 4]))));
  }
  std::vector<ContinuousBatch::Id> ids;
  for (int32_t i = 0; i < 8; ++i) {
    ids.push_back(batch_->submit(adapted_request(i, adapters[i % 4])));
    if (i % 3 == 0) batch_->step();
  }
  for (size_t i = 0; i < ids.size(); ++i) expect_close(end_of(*batch_, ids[i]), expected[i], 0);
  EXPECT_NE(expected[1][0].log_probability, expected[2][0].log_probability);
}

TEST_P(AdapterBatches, SharePrefixesOfTheSameAdapterAlone) {
  if (GetParam().pages == 0) GTEST_SKIP() << "slots share no prefixes";
  const auto first = load("first", 11), second = load("second", 12);
  const auto found_by = [&](std::shared_ptr<const ServedAdapter> adapter) {
    const uint64_t before = batch_->counts().pages.found;
    alone(adapted_request(3, std::move(adapter)));
    return batch_->counts().pages.found - before;
  };
  for (const auto& adapter : {std::shared_ptr<const ServedAdapter>(), first, second}) {
    EXPECT_EQ(found_by(adapter), 0U);
    EXPECT_EQ(found_by(adapter), 2U);
  }
  ASSERT_TRUE(store().remove("first"));
  EXPECT_EQ(found_by(load("first", 13)), 0U) << "another adapter of the same name";
}

TEST_P(AdapterBatches, KeepADroppedAdapterUntilItsRequestsEnd) {
  auto first = load("first", 11);
  load("second", 12), load("third", 13);
  const AdaptedTokens expected = alone(adapted_request(3, first));
  EXPECT_HAS(message_of([&] { store().add("fourth"); }), "all 3 slots are taken");
  const auto id = batch_->submit(adapted_request(3, std::move(first)));
  for (int i = 0; i < 4; ++i) batch_->step();
  EXPECT_TRUE(store().remove("first"));
  EXPECT_FALSE(store().remove("first"));
  EXPECT_EQ(store().find("first"), nullptr);
  EXPECT_HAS(message_of([&] { store().add("fourth"); }), "requests that still run");
  expect_close(end_of(*batch_, id), expected, 0);
  load("fourth", 11);
  expect_close(alone(adapted_request(3, store().find("fourth"))), expected, 0);
}

TEST_P(AdapterBatches, LoadWhileOthersRun) {
  const auto first = load("first", 11);
  const AdaptedTokens expected = alone(adapted_request(3, first)), plain = alone(adapted_request(4));
  const auto id = batch_->submit(adapted_request(3, first)), other = batch_->submit(adapted_request(4));
  for (uint32_t seed = 20; batch_->step(); ++seed) {
    load("next", seed);
    store().remove("next");
  }
  expect_close(end_of(*batch_, id), expected, 0);
  expect_close(end_of(*batch_, other), plain, 0);
}

TEST_P(AdapterBatches, SearchWithBeams) {
  if (GetParam().storage != DType::f32) GTEST_SKIP() << "as above";
  Request request = adapted_request(3, load("first", 11)), plain = adapted_request(3);
  load("second", 12);
  for (Request* each : {&request, &plain}) {
    each->log_probabilities.reset();
    each->options.num_beams = 3, each->options.num_return_sequences = 2, each->options.do_sample = false;
  }
  const auto beams_of = [](ContinuousBatch& batch, const Request& one) {
    const auto id = batch.submit(one);
    while (batch.step()) continue;
    return batch.poll(id).beams;
  };
  const auto session = adapted_session(GetParam(), false);
  merge_adapter(*session, store().interface(), random_adapter(store().interface(), 11));
  ContinuousBatch batch(*session);
  const std::vector<Progress> found = beams_of(*batch_, request), expected = beams_of(batch, plain);
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(expected.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(*found[i].score, *expected[i].score, 2e-3F);
    ASSERT_EQ(found[i].tokens.size(), expected[i].tokens.size());
    for (size_t t = 0; t < found[i].tokens.size(); ++t)
      EXPECT_EQ(found[i].tokens[t].id, expected[i].tokens[t].id);
  }
}

TEST_P(AdapterBatches, CheckDrafts) {
  if (GetParam().step_tokens == 0) GTEST_SKIP() << "drafts need runs that mix rows";
  const auto first = load("first", 11), second = load("second", 12);
  Request repeats = adapted_request(3, first), others = adapted_request(3, second);
  for (Request* each : {&repeats, &others}) each->options.max_new_tokens = 20;
  const AdaptedTokens expected[] = {alone(repeats), alone(others)};
  ContinuousBatch drafting(*session_, {.draft = 3});
  const auto one = drafting.submit(repeats), two = drafting.submit(others);
  expect_close(end_of(drafting, one), expected[0], 1e-4F);
  expect_close(end_of(drafting, two), expected[1], 1e-4F);
  EXPECT_GT(drafting.counts().draft_tokens, 0U);
}

TEST_P(AdapterBatches, ScorePrompts) {
  if (GetParam().storage != DType::f32) GTEST_SKIP() << "as above";
  Request request = adapted_request(3, load("first", 11));
  request.prompt_log_probabilities = 0;
  const auto scores_of = [](ContinuousBatch& batch, const Request& one) {
    const auto id = batch.submit(one);
    while (batch.step()) continue;
    return batch.poll(id).prompt;
  };
  Request plain = request;
  plain.adapter = nullptr;
  const auto session = adapted_session(GetParam(), false);
  merge_adapter(*session, store().interface(), random_adapter(store().interface(), 11));
  ContinuousBatch batch(*session);
  expect_close(scores_of(*batch_, request), scores_of(batch, plain), 2e-3F);
}

INSTANTIATE_TEST_SUITE_P(Cases, AdapterBatches, ::testing::ValuesIn(kAdaptedCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AdapterSlots, AreRefusedWhereTheyHaveNoMeaning) {
  const auto fault = [](const char* more, const std::function<void(BuildOptions&)>& change) {
    const AdaptedCase adapted{"refused", "gpt2", more};
    BuildOptions options{.training = false, .caches = true, .adapters = 2};
    change(options);
    return message_of([&] { build_transformer(spec_from_json(adapted_json(adapted)), options); });
  };
  EXPECT_HAS(fault("", [](BuildOptions& o) { o.adapter_targets = {"c_attn", "q_proj", "lm_head"}; }),
             "q_proj, lm_head are no linear maps of the blocks; there are c_attn, c_fc, c_proj");
  EXPECT_HAS(fault("", [](BuildOptions& o) { o.caches = false; }), "entries with caches");
  EXPECT_HAS(fault("", [](BuildOptions& o) { o.mesh = parse_mesh("model=2"); }), "one rank");
  EXPECT_HAS(fault("", [](BuildOptions& o) { o.lora = LoraConfig{.targets = {"c_attn"}}; }),
             "an adapter of its own");
}

TEST(AdapterSlots, ARequestWithAnAdapterNeedsThem) {
  const auto session = adapted_session(kAdaptedCases[0], false);
  ContinuousBatch batch(*session);
  EXPECT_EQ(batch.adapters(), nullptr);
  const auto adapter = std::make_shared<const ServedAdapter>(ServedAdapter{"first", 0, 1});
  EXPECT_HAS(message_of([&] { batch.submit(adapted_request(3, adapter)); }), "no slots for adapters");
  EXPECT_HAS(message_of([&] { batch.write_adapter(*adapter, {}); }), "no slots for them");
}

}  // namespace
}  // namespace smelt
