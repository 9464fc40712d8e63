// A continuous batch whose tokens the GPU chooses, one step ahead of the host: what the host would choose by
// the same logits. Skipped where there is no GPU.
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuChosenBatch = GpuTest;

std::unique_ptr<Session> served_session() {
  const Json spec = {
      {"family", "gpt2"},     {"vocab_size", 1031},           {"hidden", 128},
      {"max_positions", 128}, {"init", {{"deviation", 0.3}}}, {"decoder", {{"layers", 2}, {"heads", 2}}}};
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda";
  options.build.bounds = {{{"B"}, kBatch}, {{"T"}, 128}};
  options.build.caches = true, options.build.cache_pages = 40;
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan));
  session->initialize(3);
  return session;
}

std::vector<Request> random_requests(size_t count) {
  std::mt19937 random(5);
  std::vector<Request> requests(count);
  for (Request& request : requests) {
    for (size_t i = 1 + random() % 40; i > 0; --i)
      request.prompt.push_back(static_cast<int32_t>(random() % 1031));
    request.options.max_new_tokens = static_cast<int64_t>(2 + random() % 60);
    request.options.do_sample = random() % 2 == 0, request.options.top_p = 0.9;
    request.options.seed = static_cast<uint32_t>(random());
    if (random() % 3 == 0) request.options.eos_token_id = {static_cast<int32_t>(random() % 1031)};
    request.log_probabilities = 0;
  }
  return requests;
}

/// Those that begin together with it end as they like.
std::vector<Progress> all_of(ContinuousBatch& batch, std::span<const Request> requests) {
  std::vector<ContinuousBatch::Id> ids;
  for (const Request& request : requests) ids.push_back(batch.submit(request));
  while (batch.step()) continue;
  std::vector<Progress> results;
  for (const auto id : ids) results.push_back(batch.poll(id));
  return results;
}

/// Alone, a request is the same run whoever chooses. Among others last bits of logits may differ, so a few of
/// them may take another way at a near tie.
TEST_F(GpuChosenBatch, IsWhatTheHostChooses) {
  const auto session = served_session();
  const std::vector<Request> requests = random_requests(60);
  std::vector<Progress> together;
  {
    ContinuousBatch batch(*session, {.most_waiting = 100});
    together = all_of(batch, requests);
    EXPECT_EQ(batch.counts().pages.used, 0U);
    EXPECT_GT(batch.counts().plan_tokens, 500U);
    EXPECT_EQ(batch.counts().failed, 0U);
  }
  size_t same = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<Progress> alone;
    for (const bool plan : {true, false}) {
      ContinuousBatch batch(*session, {.shares_prefixes = false, .plan_chooses = plan});
      alone.push_back(all_of(batch, {&requests[i], 1})[0]);
    }
    ASSERT_EQ(alone[0].tokens.size(), alone[1].tokens.size()) << i;
    bool equal = together[i].tokens.size() == alone[0].tokens.size();
    for (size_t t = 0; t < alone[0].tokens.size(); ++t) {
      EXPECT_EQ(alone[0].tokens[t].id, alone[1].tokens[t].id) << i << " " << t;
      EXPECT_NEAR(alone[0].tokens[t].log_probability, alone[1].tokens[t].log_probability, 1e-4);
      equal = equal && together[i].tokens[t].id == alone[0].tokens[t].id;
    }
    same += equal ? 1 : 0;
  }
  EXPECT_GE(same, 54U) << "of 60";
}

}  // namespace
}  // namespace smelt
