// A continuous batch of an encoder-decoder: requests with sources of different lengths that join, leave and
// are cancelled get the ids that Generator gives for each source alone, and the same bits as alone.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kDecoderTokens = 29, kSourceTokens = 19, kSourceWords = 43;

struct SourceCase {
  const char* name;
  const char* spec;
};
void PrintTo(const SourceCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_SOURCE_SIZES                                                                          \
  R"("vocab_size": 43, "hidden": 24, "max_positions": 40, "init": {"deviation": 0.3}, "encoder": )" \
  R"({"layers": 2, "heads": 4, "ffn": 31}, "decoder": {"layers": 2, "heads": 4, "ffn": 33}})"
constexpr SourceCase kSourceCases[] = {
    {"bart",
     R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_SOURCE_SIZES},
    {"marian",
     R"({"family": "marian", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_SOURCE_SIZES},
    {"t5", R"({"family": "t5", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_SOURCE_SIZES}};

std::unique_ptr<Session> source_session(const SourceCase& source, int64_t slots) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, slots}, {{"T"}, kDecoderTokens}, {{"S"}, kSourceTokens}};
  options.build.caches = true;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(source.spec), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

class SourceRequests {
 public:
  Request next() {
    Request request{.prompt = {static_cast<int32_t>(number(3))}, .source = {}, .options = {}};
    request.log_probabilities = 1;
    for (int64_t left = 1 + number(kSourceTokens); left > 0; --left)
      request.source.push_back(static_cast<int32_t>(number(kSourceWords)));
    GenerationOptions& options = request.options;
    options.decoder_start_token_id = request.prompt[0];
    options.max_new_tokens = 1 + number(kDecoderTokens);
    options.do_sample = number(3) == 0, options.seed = static_cast<uint32_t>(number(1000));
    options.repetition_penalty = 1 + 0.1 * static_cast<double>(number(3));
    options.encoder_repetition_penalty = 1 + 0.1 * static_cast<double>(number(2));
    options.encoder_no_repeat_ngram_size = number(4);
    if (number(2) == 0) options.forced_bos_token_id = static_cast<int32_t>(number(kSourceWords));
    if (number(2) == 0) options.eos_token_id = {5, 6, 7};
    return request;
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  std::mt19937 random_{7};
};

/// Requests that were submitted at random times, and the tokens that each got. One in eight is cancelled.
struct SourceCrowd {
  std::vector<Request> requests;
  std::vector<std::vector<NewToken>> found;
  std::vector<bool> cancelled;
  size_t most_running = 0;

  SourceCrowd(ContinuousBatch& batch, size_t count) : found(count), cancelled(count) {
    SourceRequests source;
    std::map<ContinuousBatch::Id, size_t> live;
    while (requests.size() < count || !live.empty()) {
      for (int64_t i = source.number(3); i-- > 0 && requests.size() < count;) {
        requests.push_back(source.next());
        live.emplace(batch.submit(requests.back()), requests.size() - 1);
      }
      if (source.number(40) == 0 && !live.empty()) batch.cancel(live.rbegin()->first);
      batch.step();
      most_running = std::max(most_running, batch.counts().running);
      std::erase_if(live, [&](const auto& each) { return take(batch.poll(each.first), each.second); });
    }
  }

 private:
  /// Returns whether the request has ended.
  bool take(const Progress& progress, size_t index) {
    EXPECT_NE(progress.finish, Finish::failed) << progress.error;
    found[index].insert(found[index].end(), progress.tokens.begin(), progress.tokens.end());
    cancelled[index] = progress.finish == Finish::cancelled;
    return progress.finish != Finish::none;
  }
};

class ServedSources : public ::testing::TestWithParam<SourceCase> {};

TEST_P(ServedSources, GetWhatGeneratorGivesForEachAlone) {
  const auto session = source_session(GetParam(), 12), other = source_session(GetParam(), 1);
  ContinuousBatch batch(*session, {.most_waiting = 80, .chunk = 40});
  const SourceCrowd crowd(batch, 80);
  EXPECT_GE(crowd.most_running, 8U);
  Generator generator(*other);
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<std::vector<float>> scores;
    const std::vector<int32_t> expected =
        generator.generate({&crowd.requests[i].source, 1}, crowd.requests[i].options, {}, {}, &scores)[0];
    const size_t count = crowd.cancelled[i] ? crowd.found[i].size() : expected.size();
    ASSERT_EQ(crowd.found[i].size(), count);
    for (size_t t = 0; t < count; ++t) {
      EXPECT_EQ(crowd.found[i][t].id, expected[t]) << t;
      EXPECT_NEAR(crowd.found[i][t].log_probability, scores[0][t], 1e-5) << t;
    }
  }
}

/// The batch counts the tokens of sources as those of prompts, and a row's first token, too.
TEST_P(ServedSources, AreReadOnceEach) {
  const auto session = source_session(GetParam(), 4);
  ContinuousBatch batch(*session);
  Request request{.prompt = {0}, .source = {3, 4, 5, 6}, .options = {}};
  request.options.max_new_tokens = 3;
  for (int i = 0; i < 3; ++i) batch.submit(request);
  while (batch.step()) continue;
  EXPECT_EQ(batch.counts().prompt_tokens, 3 * (4U + 1U));
  EXPECT_EQ(batch.counts().new_tokens, 9U);
  EXPECT_EQ(batch.counts().steps, 3U);
}

INSTANTIATE_TEST_SUITE_P(Families, ServedSources, ::testing::ValuesIn(kSourceCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SourceBatch, RefusesByName) {
  const auto session = source_session(kSourceCases[0], 2);
  EXPECT_HAS(message_of([&] { ContinuousBatch(*session, {.draft = 2}); }), "encoder-decoder");
  ContinuousBatch batch(*session);
  const auto refusal = [&](std::vector<int32_t> source, int64_t tokens = 1) {
    Request request{.prompt = {0}, .source = std::move(source), .options = {}};
    request.options.max_new_tokens = tokens;
    return message_of([&] { batch.check(request); });
  };
  EXPECT_HAS(refusal({}), "source is empty");
  EXPECT_HAS(refusal({1, 43}), "token 43 of the source");
  EXPECT_HAS(refusal(std::vector<int32_t>(kSourceTokens + 1, 1)), "--max S=");
  EXPECT_HAS(refusal({1}, kDecoderTokens + 1), "--max T=");
  Request longest{.prompt = {0}, .source = std::vector<int32_t>(kSourceTokens, 1), .options = {}};
  longest.options.max_new_tokens = kDecoderTokens;
  EXPECT_NO_THROW(batch.check(longest));
  Request scored{.prompt = {0}, .source = {1}, .options = {}, .prompt_log_probabilities = 1};
  EXPECT_HAS(message_of([&] { batch.check(scored); }), "log-probabilities of the prompt");
}

}  // namespace
}  // namespace smelt
