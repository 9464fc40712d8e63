// Beam searches of a continuous batch whose beams the GPU chooses, several runs ahead of the host, are those
// that the host chooses for each source alone. Skipped where there is no GPU.
#include <map>

#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/gpu/small_model.h"

namespace smelt {
namespace {

using GpuPlannedBeams = GpuTest;

constexpr int64_t kSearchWords = 131;

std::unique_ptr<Session> searching_session(bool plan_chooses) {
  Json spec = {{"family", "bart"},
               {"vocab_size", kSearchWords},
               {"hidden", 64},
               {"max_positions", 64},
               {"init", {{"deviation", 0.3}}},
               {"tokens", {{"decoder_start", 2}, {"pad", 1}}},
               {"decoder", {{"layers", 2}, {"heads", 2}}}};
  spec["encoder"] = spec["decoder"];
  CompileOptions options;
  options.mode = Mode::infer, options.target = "cuda";
  options.build.bounds = {{{"B"}, 24}, {{"T"}, 40}, {{"S"}, 20}};
  options.build.caches = true, options.build.has_sampler = plan_chooses;
  const Description description{Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan));
  session->initialize(3);
  return session;
}

Request random_search(std::mt19937& random) {
  Request request{.prompt = {2}, .source = {}, .options = {}};
  for (size_t count = 1 + random() % 20; request.source.size() < count;)
    request.source.push_back(static_cast<int32_t>(random() % kSearchWords));
  request.options.num_beams = 4, request.options.decoder_start_token_id = 2;
  request.options.max_new_tokens = static_cast<int64_t>(1 + random() % 40);
  request.options.early_stopping = static_cast<EarlyStopping>(random() % 3);
  if (random() % 2 == 0) request.options.eos_token_id = {5, 6};
  if (random() % 3 == 0) request.options.bad_words_ids = {{9}, {11}};
  return request;
}

std::vector<int32_t> ids_of_best(const Progress& found) {
  std::vector<int32_t> ids;
  for (const NewToken& token : found.beams.at(0).tokens) ids.push_back(token.id);
  return ids;
}

/// Last bits of logits may differ between runs of different sizes, so a few searches may take another way at
/// a near tie.
TEST_F(GpuPlannedBeams, AreTheHosts) {
  const auto of_plan = searching_session(true), of_host = searching_session(false);
  Generator host(*of_host);
  ContinuousBatch batch(*of_plan, {.most_waiting = 200});
  std::mt19937 random(7);
  std::vector<Request> requests;
  std::map<ContinuousBatch::Id, size_t> live;
  size_t equal = 0;
  const auto take = [&](const auto& each) {
    const Progress found = batch.poll(each.first);
    if (found.finish == Finish::none) return false;
    const Request& request = requests[each.second];
    EXPECT_EQ(found.finish, Finish::stop) << found.error;
    equal += ids_of_best(found) == host.search({&request.source, 1}, request.options)[0].at(0).tokens;
    return true;
  };
  while (requests.size() < 150 || !live.empty()) {
    for (size_t more = random() % 3; more > 0 && requests.size() < 150; --more) {
      requests.push_back(random_search(random));
      live.emplace(batch.submit(requests.back()), requests.size() - 1);
    }
    batch.step();
    std::erase_if(live, take);
  }
  EXPECT_GE(equal, 146U) << "of 150";
  EXPECT_EQ(batch.counts().plan_tokens, batch.counts().new_tokens);
}

}  // namespace
}  // namespace smelt
