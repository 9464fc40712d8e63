// New weights for a continuous batch: after an update it gives what a new batch with these weights gives.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "frontend/build_transformer.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "runtime/session/session_weights.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kUpdatedLength = 61;

struct WeightUpdateCase {
  const char* name;
  const char* family;
  DType storage = DType::f32;
  bool int8 = false;
  int64_t pages = 0;  // 0: whole slots
  bool chooses = false;
  int64_t step_tokens = 0;
  size_t ahead = 0;
};
void PrintTo(const WeightUpdateCase& c, std::ostream* out) { *out << c.name; }

constexpr WeightUpdateCase kWeightUpdateCases[] = {
    {"gpt2", "gpt2"},  // the head is the embeddings
    {"llama", "llama"},
    {"llama_bf16_pages", "llama", DType::bf16, false, 40},
    {"llama_int8_pages", "llama", DType::f32, true, 40},
    {"gpt2_chosen_ahead", "gpt2", DType::f32, false, 40, true, 0, 1},
    {"llama_mixed_ahead", "llama", DType::f32, false, 40, true, 24, 1},
};

std::string updated_spec(const char* family) {
  return R"({"family": ")" + std::string(family) +
         R"(", "vocab_size": 97, "hidden": 44, "max_positions": 61, "init": {"deviation": 0.3},
            "decoder": {"layers": 2, "heads": 4, "head_dim": 12, "ffn": 83}})";
}

std::shared_ptr<const Plan> compile_updated(const WeightUpdateCase& updated, Mode mode) {
  CompileOptions options;
  options.mode = mode;
  options.storage = updated.storage,
  options.weight_type = updated.int8 ? WeightType::int8 : WeightType::floats;
  options.build.bounds = {{{"B"}, 8}, {{"T"}, kUpdatedLength}};
  if (mode == Mode::infer) {
    options.build.caches = true, options.build.cache_pages = updated.pages;
    options.build.has_sampler = updated.chooses, options.build.step_tokens = updated.step_tokens;
  }
  const Description description{
      Description::Kind::spec, "spec.json", spec_from_json(updated_spec(updated.family)), nullptr,
      Json::object(),          {}};
  return std::make_shared<const Plan>(compile(description, options).plan);
}

/// Compiles each case once.
std::unique_ptr<Session> updated_session(const WeightUpdateCase& updated, Mode mode = Mode::infer) {
  static std::map<std::string, std::shared_ptr<const Plan>> plans;
  auto& plan = plans[updated.name];
  if (!plan) plan = compile_updated(updated, mode);
  return std::make_unique<Session>(plan, SessionOptions{.threads = 1});
}

/// Returns weights of the case's model as f32, as a trainer has them.
std::shared_ptr<const Checkpoint> weights_from_seed(const WeightUpdateCase& updated, uint32_t seed) {
  const std::string trainer = std::string("trainer of ") + updated.family;
  const auto session = updated_session({trainer.c_str(), updated.family}, Mode::train);
  session->initialize(seed);
  return copied_weights(*session);
}

Request updated_request(int32_t number, int64_t fresh = 9) {
  Request request{.prompt = std::vector<int32_t>(33, 7), .options = {}};  // two pages that all requests have
  request.prompt.push_back(number);
  request.options.max_new_tokens = fresh;
  return request;
}

using UpdatedIds = std::vector<int32_t>;

UpdatedIds ids_in(const Progress& progress) {
  UpdatedIds ids;
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  return ids;
}

UpdatedIds updated_ids(ContinuousBatch& batch, int32_t number, int64_t fresh = 9) {
  const auto id = batch.submit(updated_request(number, fresh));
  while (batch.step()) continue;
  return ids_in(batch.poll(id));
}

std::vector<UpdatedIds> all_ids(ContinuousBatch& batch) {
  std::vector<UpdatedIds> all;
  for (int32_t number = 0; number < 3; ++number) all.push_back(updated_ids(batch, number));
  return all;
}

std::vector<uint64_t> versions_of(const Progress& progress) {
  std::vector<uint64_t> versions;
  for (const NewToken& token : progress.tokens) versions.push_back(token.weights_version);
  return versions;
}

/// A batch with the first weights, the second weights, and the ids that a new batch gives with each.
class WeightUpdates : public ::testing::TestWithParam<WeightUpdateCase> {
 protected:
  void SetUp() override {
    fresh_session_->load_weights(*second_);
    ContinuousBatch fresh(*fresh_session_);
    with_second_ = all_ids(fresh);
    session_->load_weights(*first_);
    batch_ = std::make_unique<ContinuousBatch>(*session_, ContinuousBatchOptions{.ahead = GetParam().ahead});
    with_first_ = all_ids(*batch_);
    ASSERT_NE(with_first_, with_second_);
  }
  std::shared_ptr<const Checkpoint> first_ = weights_from_seed(GetParam(), 5),
                                    second_ = weights_from_seed(GetParam(), 6);
  std::unique_ptr<Session> session_ = updated_session(GetParam()),
                           fresh_session_ = updated_session(GetParam());
  std::unique_ptr<ContinuousBatch> batch_;
  std::vector<UpdatedIds> with_first_, with_second_;
};

TEST_P(WeightUpdates, GiveWhatANewBatchGives) {
  batch_->update_weights({.weights = second_});
  EXPECT_EQ(batch_->counts().weights_version, 1U);
  EXPECT_EQ(all_ids(*batch_), with_second_);
  batch_->update_weights({.weights = first_, .version = 17});
  EXPECT_EQ(batch_->counts().weights_version, 17U);
  EXPECT_EQ(batch_->counts().weight_updates, 2U);
  EXPECT_EQ(all_ids(*batch_), with_first_);
}

/// The first tokens are those of the first weights, and all have the version that computed them.
TEST_P(WeightUpdates, LetRunningRequestsContinue) {
  const auto id = batch_->submit(updated_request(0, 12));
  Progress before;
  while (before.tokens.size() < 3) {
    ASSERT_TRUE(batch_->step());
    for (NewToken& token : batch_->poll(id).tokens) before.tokens.push_back(token);
  }
  batch_->update_weights({.weights = second_, .version = 4});
  while (batch_->step()) continue;
  const Progress after = batch_->poll(id);
  EXPECT_EQ(after.finish, Finish::length) << after.error;
  EXPECT_EQ(before.tokens.size() + after.tokens.size(), 12U);
  EXPECT_TRUE(std::ranges::equal(
      ids_in(before),
      UpdatedIds(with_first_[0].begin(), with_first_[0].begin() + std::ssize(before.tokens))));
  EXPECT_EQ(versions_of(before), std::vector<uint64_t>(before.tokens.size(), 0));
  EXPECT_EQ(versions_of(after).back(), 4U);
  EXPECT_TRUE(std::ranges::is_sorted(versions_of(after)));
  EXPECT_EQ(all_ids(*batch_), with_second_) << "a page with keys of the first weights was found";
}

TEST_P(WeightUpdates, MayWaitForRunningRequests) {
  const auto id = batch_->submit(updated_request(0));
  batch_->step();
  batch_->update_weights({.weights = second_, .waits = true});
  EXPECT_TRUE(batch_->update_waits());
  const auto later = batch_->submit(updated_request(1));
  while (batch_->step()) continue;
  EXPECT_FALSE(batch_->update_waits());
  EXPECT_EQ(ids_in(batch_->poll(id)), with_first_[0]);
  const Progress progress = batch_->poll(later);
  EXPECT_EQ(ids_in(progress), with_second_[1]);
  EXPECT_EQ(versions_of(progress), std::vector<uint64_t>(9, 1));
}

TEST_P(WeightUpdates, ThatWaitAreAppliedWhenTheLastRequestIsCancelled) {
  const auto id = batch_->submit(updated_request(0));
  batch_->step();
  batch_->update_weights({.weights = second_, .waits = true});
  batch_->cancel(id);
  while (batch_->step()) continue;
  EXPECT_EQ(batch_->counts().weights_version, 1U);
  EXPECT_EQ(all_ids(*batch_), with_second_);
}

std::vector<HostTensor> changed_tensors(const Checkpoint& weights,
                                        const std::function<void(std::vector<HostTensor>&)>& change) {
  std::vector<HostTensor> tensors;
  for (const TensorView& t : weights.tensors())
    tensors.push_back({t.name, t.dtype, t.shape, {t.bytes.begin(), t.bytes.end()}});
  change(tensors);
  return tensors;
}

TEST_P(WeightUpdates, ThatDoNotFitChangeNothing) {
  const auto refused = [&](const std::function<void(std::vector<HostTensor>&)>& change) {
    const auto weights =
        std::make_shared<const Checkpoint>(Checkpoint::of(changed_tensors(*second_, change), "update"));
    return message_of([&] { batch_->update_weights({.weights = weights}); });
  };
  EXPECT_HAS(refused([](auto& all) { all.pop_back(); }), "is missing");
  EXPECT_HAS(refused([](auto& all) { all.back().name += "x"; }), "is missing");
  EXPECT_HAS(refused([](auto& all) { all.front().shape.push_back(1); }), "expected floats");
  EXPECT_HAS(refused([](auto& all) { all.back().dtype = DType::i32; }), "expected floats");
  EXPECT_HAS(refused([](auto& all) { all.push_back(all.front()); }), "given twice");
  EXPECT_HAS(refused([](auto& all) { all.push_back({"other", DType::f32, {1}, std::vector<std::byte>(4)}); }),
             "does not use 'other'");
  EXPECT_HAS(message_of([&] { batch_->update_weights({}); }), "there are none");
  EXPECT_EQ(batch_->counts().weight_updates, 0U);
  EXPECT_EQ(all_ids(*batch_), with_first_);
  const auto with_copy =
      changed_tensors(*second_, [](auto& all) { all.push_back(all.front()), all.back().name = "a copy"; });
  batch_->update_weights(
      {.weights = std::make_shared<const Checkpoint>(Checkpoint::of(with_copy, "update"))});
  EXPECT_EQ(all_ids(*batch_), with_second_);
}

INSTANTIATE_TEST_SUITE_P(Plans, WeightUpdates, ::testing::ValuesIn(kWeightUpdateCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Pages of the first weights are found, so that only the last page of the prompt is read again.
TEST(WeightUpdate, MayKeepTheKeysAndValuesOfPrompts) {
  const WeightUpdateCase paged = kWeightUpdateCases[2];
  const auto session = updated_session(paged);
  session->load_weights(*weights_from_seed(paged, 5));
  ContinuousBatch batch(*session);
  updated_ids(batch, 0);
  const auto read_by = [&](bool keeps) {
    batch.update_weights({.weights = weights_from_seed(paged, 5), .keeps_prefixes = keeps});
    const uint64_t before = batch.counts().prompt_tokens;
    updated_ids(batch, 0);
    return batch.counts().prompt_tokens - before;
  };
  EXPECT_EQ(read_by(true), 2U);
  EXPECT_EQ(read_by(false), 34U);
}

/// Keys and values of both weights are in the pages of a prompt that is read while the weights change.
TEST(WeightUpdate, HidesThePagesOfAPromptThatIsHalfRead) {
  const WeightUpdateCase paged = kWeightUpdateCases[2];
  const auto session = updated_session(paged), other = updated_session(paged);
  session->load_weights(*weights_from_seed(paged, 5)), other->load_weights(*weights_from_seed(paged, 6));
  ContinuousBatch batch(*session, {.chunk = 16}), expected(*other);
  batch.submit(updated_request(0));
  batch.step();
  ASSERT_EQ(batch.counts().prompt_tokens, 16U);
  batch.update_weights({.weights = weights_from_seed(paged, 6)});
  while (batch.step()) continue;
  EXPECT_EQ(updated_ids(batch, 1), updated_ids(expected, 1));
}

TEST(WeightUpdate, OfSharedWeightsIsRefused) {
  const auto session = updated_session(kWeightUpdateCases[0]);
  session->load_weights(*weights_from_seed(kWeightUpdateCases[0], 5));
  const auto other = session->share();
  ContinuousBatch batch(*session);
  EXPECT_HAS(
      message_of([&] { batch.update_weights({.weights = weights_from_seed(kWeightUpdateCases[0], 6)}); }),
      "2 sessions share the weights");
}

}  // namespace
}  // namespace smelt
