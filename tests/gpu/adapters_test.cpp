// Adapters in the slots of a continuous batch on a GPU: what a CPU gives. Skipped where there is no GPU.
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/gpu/small_model.h"
#include "tests/support/random_adapter.h"

namespace smelt {
namespace {

using GpuAdapters = GpuTest;

std::unique_ptr<Session> slotted_session(const char* target, DType storage) {
  const Json spec = {
      {"family", "llama"},    {"vocab_size", 1031},           {"hidden", 128},
      {"max_positions", 128}, {"init", {{"deviation", 0.3}}}, {"decoder", {{"layers", 2}, {"heads", 2}}}};
  CompileOptions options;
  options.mode = Mode::infer, options.target = target, options.storage = storage;
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, 128}};
  options.build.caches = true, options.build.cache_pages = 40;
  options.build.adapters = 3, options.build.adapter_rank = 8;
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan));
  session->initialize(3);
  return session;
}

/// Returns the first token of requests without an adapter, and with each of two, of which the second is
/// loaded while the first one is in use.
std::vector<NewToken> first_tokens(Session& session) {
  ContinuousBatch batch(session);
  std::vector<ContinuousBatch::Id> ids;
  for (uint32_t seed = 0; seed < 3; ++seed) {
    Request request{.prompt = {7, 5, static_cast<int32_t>(seed), 9, 900}, .options = {}};
    request.options.max_new_tokens = 12, request.log_probabilities = 0;
    if (seed > 0) {
      request.adapter = batch.adapters()->add(std::to_string(seed));
      batch.write_adapter(*request.adapter,
                          testing::random_adapter(batch.adapters()->interface(), 10 + seed));
    }
    ids.push_back(batch.submit(std::move(request)));
    batch.step();
  }
  while (batch.step()) continue;
  std::vector<NewToken> tokens;
  for (const auto id : ids) {
    const Progress progress = batch.poll(id);
    EXPECT_EQ(progress.tokens.size(), 12U) << progress.error;
    if (!progress.tokens.empty()) tokens.push_back(progress.tokens[0]);
  }
  return tokens;
}

TEST_F(GpuAdapters, GiveWhatACpuGives) {
  const auto host = slotted_session("cpu", DType::f32), session = slotted_session("cuda", DType::f32);
  const std::vector<NewToken> expected = first_tokens(*host), found = first_tokens(*session);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].id) << i;
    EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-3F) << i;
  }
}

/// Rounding decides between tokens that are nearly as probable.
TEST_F(GpuAdapters, RunInBf16) {
  const auto session = slotted_session("cuda", DType::bf16);
  const std::vector<NewToken> found = first_tokens(*session);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NE(found[0].log_probability, found[1].log_probability);
  EXPECT_NE(found[1].log_probability, found[2].log_probability);
}

}  // namespace
}  // namespace smelt
