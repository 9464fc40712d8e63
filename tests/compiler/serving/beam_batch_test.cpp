// Beam searches in a continuous batch: among other requests that join, leave and are cancelled, each gives
// the ids and scores that Generator gives for its prompt alone, and each other request gets its own ids.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kBeamTextTokens = 45, kBeamSourceTokens = 17, kBeamWords = 43, kBeamSlots = 12;

struct BeamCase {
  const char* name;
  const char* spec;
  bool has_source = false;
  int64_t pages = 0;  // 0: slots
  bool chooses = false;
  size_t ahead = 0;
  int64_t step_tokens = 0;
  size_t draft = 0;
};
void PrintTo(const BeamCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_BEAM_SIZES                                                                \
  R"("vocab_size": 43, "hidden": 24, "max_positions": 48, "init": {"deviation": 0.3},)" \
  R"("decoder": {"layers": 2, "heads": 4, "ffn": 33})"
#define SMELT_BEAM_BOTH SMELT_BEAM_SIZES R"(, "encoder": {"layers": 2, "heads": 4, "ffn": 31}})"
#define SMELT_BEAM_GPT2 R"({"family": "gpt2", )" SMELT_BEAM_SIZES "}"
#define SMELT_BEAM_LLAMA R"({"family": "llama", )" SMELT_BEAM_SIZES "}"
#define SMELT_BEAM_BART \
  R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_BEAM_BOTH
#define SMELT_BEAM_MISTRAL R"({"family": "mistral", "attention": {"window": 6}, )" SMELT_BEAM_SIZES "}"
constexpr BeamCase kBeamCases[] = {
    {"bart", SMELT_BEAM_BART, true},
    {"t5", R"({"family": "t5", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_BEAM_BOTH,
     true},
    {"gpt2", SMELT_BEAM_GPT2},
    {"mistral_ring", SMELT_BEAM_MISTRAL},
    {"gpt2_pages", SMELT_BEAM_GPT2, false, 36},
    {"llama_pages", SMELT_BEAM_LLAMA, false, 64},
    {"gpt2_chosen", SMELT_BEAM_GPT2, false, 36, true, 1},
    {"gpt2_mixed", SMELT_BEAM_GPT2, false, 36, true, 0, 24},
    {"llama_mixed_ahead", SMELT_BEAM_LLAMA, false, 64, true, 1, 24},
    {"gpt2_drafts", SMELT_BEAM_GPT2, false, 36, true, 0, 24, 3},
    {"bart_candidates", SMELT_BEAM_BART, true, 0, true},
    {"gpt2_candidates", SMELT_BEAM_GPT2, false, 0, true},
    {"mistral_ring_candidates", SMELT_BEAM_MISTRAL, false, 0, true}};

std::unique_ptr<Session> beam_session(const BeamCase& beam, int64_t rows, bool for_batch) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, rows}, {{"T"}, kBeamTextTokens}};
  if (beam.has_source) options.build.bounds.push_back({{"S"}, kBeamSourceTokens});
  options.build.caches = true;
  if (for_batch) {
    options.build.cache_pages = beam.pages, options.build.has_sampler = beam.chooses;
    if (beam.chooses) options.build.step_tokens = beam.step_tokens;
  }
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(beam.spec), nullptr,
                                Json::object(),          {}};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  return session;
}

class BeamRequests {
 public:
  explicit BeamRequests(bool has_source) : has_source_(has_source) {}

  Request next() {
    Request request{.prompt = tokens(1 + number(20)), .source = {}, .options = {}};
    if (has_source_) request.source = tokens(1 + number(kBeamSourceTokens)), request.prompt = {0};
    if (!has_source_ && number(3) == 0 && request.prompt.size() > 17)
      std::fill_n(request.prompt.begin(), 16, 5);  // a page that many have
    GenerationOptions& options = request.options;
    options.max_new_tokens = 1 + number(25);
    options.seed = static_cast<uint32_t>(number(1000));
    if (number(2) == 0) options.eos_token_id = {5, 6, 7};
    if (number(4) == 0) options.repetition_penalty = 1.2;
    if (number(4) == 0) options.no_repeat_ngram_size = 2;
    number(3) > 0 ? search(options) : void(options.do_sample = number(2) == 0);
    return request;
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  void search(GenerationOptions& options) {
    options.num_beams = 2 + number(4);
    options.num_return_sequences = 1 + number(options.num_beams);
    options.length_penalty = 0.5 * static_cast<double>(number(4));
    options.early_stopping = static_cast<EarlyStopping>(number(3));
    if (options.num_beams == 4 && number(2) == 0)
      options.num_beam_groups = 2, options.diversity_penalty = 0.5;
  }
  std::vector<int32_t> tokens(int64_t count) {
    std::vector<int32_t> result;
    while (std::ssize(result) < count) result.push_back(static_cast<int32_t>(number(kBeamWords)));
    return result;
  }
  bool has_source_;
  std::mt19937 random_{7};
};

/// Requests that were submitted at random times, and what each got. Some are cancelled.
struct BeamCrowd {
  std::vector<Request> requests;
  std::vector<Progress> found;

  BeamCrowd(ContinuousBatch& batch, size_t count, bool has_source) : found(count) {
    BeamRequests source(has_source);
    std::map<ContinuousBatch::Id, size_t> live;
    while (requests.size() < count || !live.empty()) {
      for (int64_t i = source.number(3); i-- > 0 && requests.size() < count;) {
        requests.push_back(source.next());
        live.emplace(batch.submit(requests.back()), requests.size() - 1);
      }
      if (source.number(30) == 0 && !live.empty()) batch.cancel(live.begin()->first);
      batch.step();
      std::erase_if(live, [&](const auto& each) { return take(batch.poll(each.first), found[each.second]); });
    }
  }

 private:
  /// Returns whether the request has ended.
  static bool take(Progress fresh, Progress& all) {
    EXPECT_NE(fresh.finish, Finish::failed) << fresh.error;
    all.tokens.insert(all.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
    all.beams = std::move(fresh.beams), all.finish = fresh.finish;
    return fresh.finish != Finish::none;
  }
};

std::vector<int32_t> ids_of(const Progress& progress) {
  std::vector<int32_t> ids;
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  return ids;
}

class ServedBeams : public ::testing::TestWithParam<BeamCase> {
 protected:
  void expect_as_alone(const Request& request, const Progress& found) {
    const auto& prompt = GetParam().has_source ? request.source : request.prompt;
    if (request.options.num_beams == 1) {
      EXPECT_EQ(ids_of(found), generator_.generate({&prompt, 1}, request.options)[0]);
      return;
    }
    const auto expected = generator_.search({&prompt, 1}, request.options)[0];
    ASSERT_EQ(found.beams.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(ids_of(found.beams[i]), expected[i].tokens) << i;
      EXPECT_NEAR(*found.beams[i].score, expected[i].score, 1e-5) << i;
    }
  }
  std::unique_ptr<Session> alone_ = beam_session(GetParam(), 5, false);
  Generator generator_{*alone_};
};

TEST_P(ServedBeams, GiveWhatGeneratorGivesForEachAlone) {
  const auto session = beam_session(GetParam(), kBeamSlots, true);
  ContinuousBatch batch(
      *session, {.most_waiting = 80, .chunk = 17, .ahead = GetParam().ahead, .draft = GetParam().draft});
  const BeamCrowd crowd(batch, 80, GetParam().has_source);
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_EQ(counts.ended + counts.cancelled, 80U);
  EXPECT_EQ(counts.pages.used + counts.pages.shared + counts.pages.reserved, 0U);
  for (size_t i = 0; i < crowd.requests.size(); ++i) {
    SCOPED_TRACE(i);
    if (crowd.found[i].finish != Finish::cancelled) expect_as_alone(crowd.requests[i], crowd.found[i]);
  }
}

/// A search waits for as many rows as it has beams; until then others that came later wait, too.
TEST_P(ServedBeams, WaitForTheirRows) {
  const auto session = beam_session(GetParam(), 5, true);
  ContinuousBatch batch(*session);
  Request request{.prompt = {3}, .source = {}, .options = {}};
  if (GetParam().has_source) request.source = {4, 5};
  request.options.max_new_tokens = 4, request.options.num_beams = 3;
  for (int i = 0; i < 2; ++i) batch.submit(request);
  batch.step();
  EXPECT_EQ(batch.counts().running, 1U);
  EXPECT_EQ(batch.counts().waiting, 1U);
  while (batch.step()) continue;
  EXPECT_EQ(batch.counts().ended, 2U);
}

INSTANTIATE_TEST_SUITE_P(Families, ServedBeams, ::testing::ValuesIn(kBeamCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BeamBatch, RefusesByName) {
  const auto session = beam_session(kBeamCases[2], 4, true);
  ContinuousBatch batch(*session);
  const auto refusal = [&](int64_t beams, const std::function<void(Request&)>& change) {
    Request request{.prompt = {1}, .options = {}};
    request.options.num_beams = beams;
    change(request);
    return message_of([&] { batch.check(request); });
  };
  EXPECT_HAS(refusal(5, [](Request&) {}), "num_beams 5: expected at most 4");
  EXPECT_HAS(refusal(2, [](Request& request) { request.log_probabilities = 0; }), "log-probabilities");
  EXPECT_HAS(refusal(2, [](Request& request) { request.options.max_new_tokens = 0; }), "max_new_tokens 0");
  EXPECT_HAS(refusal(2,
                     [](Request& request) {
                       request.stop = {"a"};
                       request.text = [](std::optional<int32_t>) { return std::string(); };
                     }),
             "stop texts");
}

/// A search goes on with new weights as other requests do, and its tokens have the versions.
TEST(BeamBatch, GoesOnWithNewWeights) {
  const auto session = beam_session(kBeamCases[2], 4, true), other = beam_session(kBeamCases[2], 4, true);
  ContinuousBatch batch(*session);
  Request request{.prompt = {1}, .options = {}};
  request.options.max_new_tokens = 5, request.options.num_beams = 3;
  const ContinuousBatch::Id first = batch.submit(request);
  for (int i = 0; i < 2; ++i) batch.step();
  batch.update_weights({.weights = copied_weights(*other), .version = 7});
  const ContinuousBatch::Id second = batch.submit(request);
  batch.step();
  batch.update_weights({.weights = copied_weights(*other), .version = 9, .waits = true});
  while (batch.step()) continue;
  EXPECT_EQ(batch.counts().weights_version, 9U);
  std::vector<uint64_t> versions;
  const Progress found = batch.poll(first);
  for (const NewToken& token : found.beams.at(0).tokens) versions.push_back(token.weights_version);
  EXPECT_EQ(versions, (std::vector<uint64_t>{0, 0, 7, 7, 7}));
  EXPECT_EQ(batch.poll(second).beams.at(0).tokens.at(0).weights_version, 9U);
}

TEST(BeamBatch, NeedsPagesForEachBeam) {
  const auto session = beam_session({.name = "few_pages", .spec = SMELT_BEAM_GPT2, .pages = 5}, 4, true);
  ContinuousBatch batch(*session);
  Request request{.prompt = {1}, .options = {}};
  request.options.max_new_tokens = kBeamTextTokens, request.options.num_beams = 2;
  EXPECT_HAS(message_of([&] { batch.check(request); }), "2 beams of 45 tokens take 6 pages of 16");
  request.options.max_new_tokens = 32;
  for (int i = 0; i < 3; ++i) batch.submit(request);
  while (batch.step()) EXPECT_LE(batch.counts().running, 1U);
  EXPECT_EQ(batch.counts().ended, 3U);
  EXPECT_EQ(batch.counts().pages.used + batch.counts().pages.reserved, 0U);
}

}  // namespace
}  // namespace smelt
