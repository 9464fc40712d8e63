// Adapters in the slots of a continuous batch on a GPU: what they give merged into the weights. Skipped where
// there is no GPU.
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/gpu/small_model.h"
#include "tests/support/merged_adapter.h"
#include "tests/support/random_adapter.h"

namespace smelt {
namespace {

using testing::merge_adapter, testing::random_adapter;
using GpuAdapters = GpuTest;

std::unique_ptr<Session> llama_session(DType storage, int64_t adapters) {
  const Json spec = {
      {"family", "llama"},    {"vocab_size", 1031},           {"hidden", 128},
      {"max_positions", 128}, {"init", {{"deviation", 0.3}}}, {"decoder", {{"layers", 2}, {"heads", 2}}}};
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda", options.storage = storage;
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, 128}};
  options.build.caches = true, options.build.cache_pages = 40;
  options.build.adapters = adapters, options.build.adapter_rank = 8;
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan));
  session->initialize(3);
  return session;
}

Request request_number(int32_t number) {
  Request request{.prompt = {7, 5, number, 9, 900}, .options = {}};
  request.options.max_new_tokens = 12, request.log_probabilities = 0;
  return request;
}

NewToken first_token(ContinuousBatch& batch, ContinuousBatch::Id id) {
  while (batch.step()) continue;
  const Progress progress = batch.poll(id);
  EXPECT_EQ(progress.tokens.size(), 12U) << progress.error;
  return progress.tokens.empty() ? NewToken{} : progress.tokens[0];
}

/// Returns the first token of requests without an adapter, and with each of two, of which the second is
/// loaded while the first one is in use.
std::vector<NewToken> first_tokens(ContinuousBatch& batch) {
  std::vector<ContinuousBatch::Id> ids;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    Request request = request_number(static_cast<int32_t>(seed));
    if (seed > 0) {
      request.adapter = batch.adapters()->add(std::to_string(seed));
      batch.write_adapter(*request.adapter, random_adapter(batch.adapters()->interface(), 10 + seed));
    }
    ids.push_back(batch.submit(std::move(request)));
    batch.step();
  }
  std::vector<NewToken> tokens;
  for (const auto id : ids) tokens.push_back(first_token(batch, id));
  return tokens;
}

TEST_F(GpuAdapters, GiveWhatMergedWeightsGive) {
  const auto slots = llama_session(DType::f32, 3);
  ContinuousBatch batch(*slots);
  const std::vector<NewToken> found = first_tokens(batch);
  for (uint32_t seed = 0; seed < 3; ++seed) {
    const auto plain = llama_session(DType::f32, 0);
    const AdapterInterface& interface = batch.adapters()->interface();
    if (seed > 0) merge_adapter(*plain, interface, random_adapter(interface, 10 + seed));
    ContinuousBatch merged(*plain);
    const NewToken expected = first_token(merged, merged.submit(request_number(static_cast<int32_t>(seed))));
    EXPECT_EQ(found[seed].id, expected.id) << seed;
    EXPECT_NEAR(found[seed].log_probability, expected.log_probability, 2e-3F) << seed;
  }
}

/// Rounding decides between tokens that are nearly as probable.
TEST_F(GpuAdapters, RunInBf16) {
  const auto session = llama_session(DType::bf16, 3);
  ContinuousBatch batch(*session);
  const std::vector<NewToken> found = first_tokens(batch);
  EXPECT_NE(found[0].log_probability, found[1].log_probability);
  EXPECT_NE(found[1].log_probability, found[2].log_probability);
}

}  // namespace
}  // namespace smelt
