// Log-probabilities of requests in plans with --same-bits, on the GPU of this machine, bit by bit: in batches
// of other requests, with other chunks of prompts, with and without shared prefixes, alone, and as losses of
// training. Skipped where there is no GPU. SMELT_REQUESTS=10000 runs that many requests.
#include <bit>
#include <cstdlib>
#include <numeric>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/gpu/small_model.h"

namespace smelt::same_bits_batch {
namespace {

constexpr int64_t kPositions = 384, kVocabulary = 1031, kRows = 24, kPages = 400;

struct ServedModel {
  const char *name, *family, *decoder;
  DType storage;
  bool int8_weights = false;
  int64_t window = 0;  // of keys; 0: all
};
void PrintTo(const ServedModel& model, std::ostream* out) { *out << model.name; }

class GpuSameBits : public ::testing::TestWithParam<ServedModel> {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << "no GPU on this machine";
  }
};

Description description_of(const ServedModel& model) {
  const Json spec = {
      {"family", model.family},      {"vocab_size", kVocabulary},    {"hidden", 128},
      {"max_positions", kPositions}, {"init", {{"deviation", 0.3}}}, {"decoder", Json::parse(model.decoder)}};
  return {Description::Kind::spec, "test", spec_from_object(spec, "test"), nullptr, Json::object(), {}};
}

std::unique_ptr<Session> session_of(const ServedModel& model, Mode mode) {
  CompileOptions options;
  options.mode = mode, options.target = "cuda", options.storage = model.storage;
  options.build.same_bits = true, options.build.dropout = 0;
  options.build.bounds = {{{"B"}, mode == Mode::train ? 2 : kRows}, {{"T"}, kPositions}};
  if (mode == Mode::train) {
    options.entries = {"evaluate", "train_step"}, options.training.accumulation = false;
  } else {
    options.build.caches = true, options.build.cache_pages = kPages;
    options.weight_type = model.int8_weights ? WeightType::int8 : WeightType::floats;
  }
  auto session =
      std::make_unique<Session>(std::make_shared<const Plan>(compile(description_of(model), options).plan));
  session->initialize(3);
  return session;
}

size_t request_count() {
  const char* asked = std::getenv("SMELT_REQUESTS");
  return asked ? std::strtoul(asked, nullptr, 10) : 48;
}

/// Some of the requests have equal beginnings.
std::vector<Request> random_requests(size_t count) {
  std::mt19937 random(5);
  const auto id = [&] { return static_cast<int32_t>(random() % kVocabulary); };
  std::vector<std::vector<int32_t>> beginnings(4);
  for (auto& beginning : beginnings)
    for (size_t i = 0; i < 20 + 60 * static_cast<size_t>(&beginning - beginnings.data()); ++i)
      beginning.push_back(id());
  std::vector<Request> requests(count);
  for (Request& request : requests) {
    if (random() % 2 == 0) request.prompt = beginnings[random() % beginnings.size()];
    for (size_t i = 1 + random() % 90; i > 0; --i) request.prompt.push_back(id());
    request.options.max_new_tokens = static_cast<int64_t>(2 + random() % 40);
    request.options.do_sample = random() % 2 == 0, request.options.top_p = 0.9;
    request.options.seed = static_cast<uint32_t>(random());
    request.log_probabilities = 0;
  }
  return requests;
}

using Results = std::vector<std::vector<NewToken>>;

/// The new tokens of each request; the requests are submitted in this order.
Results results_of(Session& session, std::span<const Request> requests, std::span<const size_t> order,
                   ContinuousBatchOptions options) {
  options.most_waiting = requests.size();
  ContinuousBatch batch(session, options);
  std::vector<ContinuousBatch::Id> ids(requests.size());
  for (const size_t i : order) ids[i] = batch.submit(requests[i]);
  while (batch.step()) continue;
  Results results;
  for (const auto one : ids) {
    const Progress progress = batch.poll(one);
    EXPECT_EQ(progress.error, "");
    results.push_back(progress.tokens);
  }
  EXPECT_EQ(batch.counts().failed, 0U);
  return results;
}

void expect_same(const Results& a, const Results& b, const char* what) {
  ASSERT_EQ(a.size(), b.size());
  size_t tokens = 0, different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << what << ", request " << i;
    for (size_t t = 0; t < a[i].size(); ++t, ++tokens)
      different += a[i][t].id != b[i][t].id || std::bit_cast<uint32_t>(a[i][t].log_probability) !=
                                                   std::bit_cast<uint32_t>(b[i][t].log_probability);
  }
  EXPECT_EQ(different, 0U) << what << ": of " << tokens << " tokens";
  EXPECT_GT(tokens, 0U);
}

float loss_of(Session& trainer, const std::string& entry, const std::vector<int32_t>& text, size_t place) {
  std::vector<int32_t> ids(2 * kPositions, 7), labels(2 * kPositions, -100);
  std::ranges::copy(text, ids.begin() + kPositions);  // the second row
  labels[kPositions + place] = text[place];
  const InputTensor inputs[] = {{"input_ids", DType::i32, {2, kPositions}, ids.data()},
                                {"labels", DType::i32, {2, kPositions}, labels.data()}};
  for (const HostTensor& output : trainer.run(entry, inputs))
    if (output.name.starts_with("loss")) return output.as<float>()[0];
  return std::numeric_limits<float>::quiet_NaN();
}

void expect_losses(Session& trainer, std::span<const Request> requests, const Results& results) {
  size_t all = 0;
  for (const char* entry : {"evaluate", "train_step"}) {
    size_t different = 0;
    for (size_t i = 0; i < std::min<size_t>(requests.size(), 12); ++i) {
      std::vector<int32_t> text = requests[i].prompt;
      for (const NewToken& token : results[i]) text.push_back(token.id);
      for (size_t t = 0; t < results[i].size(); t += 3, ++all) {
        const float loss = loss_of(trainer, entry, text, requests[i].prompt.size() + t);
        different += std::bit_cast<uint32_t>(-results[i][t].log_probability) != std::bit_cast<uint32_t>(loss);
      }
    }
    EXPECT_EQ(different, 0U) << entry;
  }
  EXPECT_GT(all, 0U);
}

TEST_P(GpuSameBits, OfRequests) {
  const std::vector<Request> requests = random_requests(request_count());
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  Results together;
  {
    const auto session = session_of(GetParam(), Mode::infer);
    together = results_of(*session, requests, order, {});
    std::ranges::shuffle(order, std::mt19937(9));
    expect_same(together, results_of(*session, requests, order, {.slots = 5, .chunk = 24}), "few slots");
    expect_same(together, results_of(*session, requests, order, {.shares_prefixes = false}), "no prefixes");
    const size_t some = std::min<size_t>(requests.size(), 16);
    Results alone;
    const size_t first[] = {0};
    for (size_t i = 0; i < some; ++i)
      alone.push_back(results_of(*session, {&requests[i], 1}, first, {.shares_prefixes = false})[0]);
    together.resize(requests.size());
    expect_same({together.begin(), together.begin() + static_cast<int64_t>(some)}, alone, "alone");
  }
  if (GetParam().int8_weights) return;  // they are not trained
  const auto trainer = session_of(GetParam(), Mode::train);
  trainer->scalar("learning_rate") = 0;
  expect_losses(*trainer, requests, together);
}

INSTANTIATE_TEST_SUITE_P(
    Models, GpuSameBits,
    ::testing::Values(
        ServedModel{"gpt2", "gpt2", R"({"layers": 2, "heads": 2})", DType::bf16},
        ServedModel{"llama", "llama", R"({"layers": 2, "heads": 4, "kv_heads": 2, "ffn": 352})", DType::bf16},
        ServedModel{"llama in f16", "llama", R"({"layers": 2, "heads": 4, "kv_heads": 1, "ffn": 352})",
                    DType::f16},
        ServedModel{"mistral", "mistral", R"({"layers": 2, "heads": 2, "kv_heads": 1, "ffn": 352})",
                    DType::bf16, false, 50},
        ServedModel{"llama with bytes", "llama", R"({"layers": 2, "heads": 2, "kv_heads": 2, "ffn": 352})",
                    DType::bf16, true}));

}  // namespace
}  // namespace smelt::same_bits_batch
