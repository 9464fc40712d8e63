// Beam searches of an encoder-decoder in a continuous batch whose beams the plan chooses: each gives the ids
// and scores that the host finds for its source alone, while others join, end, fail and are cancelled.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "compiler/driver/compile.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kPlannedTokens = 25, kPlannedSource = 13, kPlannedWords = 43, kPlannedSlots = 12;

#define SMELT_PLANNED_SIZES                                                             \
  R"("vocab_size": 43, "hidden": 24, "max_positions": 48, "init": {"deviation": 0.3},)" \
  R"("decoder": {"layers": 2, "heads": 4, "ffn": 33}, "encoder": {"layers": 2, "heads": 4, "ffn": 31}})"
constexpr const char* kPlannedBart =
    R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}, )" SMELT_PLANNED_SIZES;
constexpr const char* kPlannedT5 =
    R"({"family": "t5", "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}, )" SMELT_PLANNED_SIZES;

std::unique_ptr<Session> planned_session(const char* spec, int64_t rows, bool has_sampler,
                                         const std::function<void(const StepDone&)>& after_step = {}) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, rows}, {{"T"}, kPlannedTokens}, {{"S"}, kPlannedSource}};
  options.build.caches = true, options.build.has_sampler = has_sampler;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr,
                                Json::object(),          {}};
  const SessionOptions session_options{.threads = 1, .poison = true, .after_step = after_step};
  auto session = std::make_unique<Session>(std::make_shared<const Plan>(compile(description, options).plan),
                                           session_options);
  session->initialize(5);
  return session;
}

/// Returns the session of a plan that is run as one for a GPU: runs are padded to a few sizes, sources share
/// runs, and groups of runs are started ahead of the host. `generation`: the model's own options.
std::unique_ptr<Session> session_as_of_a_gpu(const char* spec, int64_t rows,
                                             const Json& generation = Json::object(),
                                             const std::function<void(const StepDone&)>& after_step = {}) {
  const std::shared_ptr<const Plan> plan = planned_session(spec, rows, true)->shared_plan();
  auto renamed = std::make_shared<Plan>(*plan);
  renamed->target = "sm_90";
  Json about = Json::parse(plan->model);
  about["generation"] = generation;
  renamed->model = about.dump();
  auto session = std::make_unique<Session>(
      renamed, make_executor(plan, {.threads = 1, .poison = true, .after_step = after_step}));
  session->initialize(5);
  return session;
}

/// Random searches, most of which the plan supports.
class PlannedRequests {
 public:
  explicit PlannedRequests(int64_t others) : others_(others) {}

  /// Returns a request. One of `others` is a search that the plan does not support, has another number of
  /// beams, or is no search; 0: none is.
  Request next() {
    Request request{.prompt = {0}, .source = tokens(1 + number(kPlannedSource)), .options = {}};
    GenerationOptions& options = request.options;
    options.max_new_tokens = 1 + number(kPlannedTokens);
    options.num_beams = 4, options.num_return_sequences = 1 + number(4);
    options.length_penalty = 0.5 * static_cast<double>(number(4));
    options.early_stopping = static_cast<EarlyStopping>(number(3));
    if (number(2) == 0) options.eos_token_id = {5, 6, 7};
    change_scores(options);
    if (others_ > 0 && number(others_) == 0) be_another(options);
    return request;
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

 private:
  void change_scores(GenerationOptions& options) {
    if (number(4) == 0) options.min_new_tokens = number(6);
    if (number(4) == 0) options.bad_words_ids = {{9}, {10}};
    if (number(5) == 0) options.suppress_tokens = {11, 12}, options.begin_suppress_tokens = {13};
    if (number(5) == 0) options.sequence_bias = {{{14}, 1.5}};
    if (number(6) == 0) options.forced_bos_token_id = 17;
    if (number(6) == 0) options.forced_eos_token_id = {5};
  }
  void be_another(GenerationOptions& options) {
    const int64_t kind = number(3);
    if (kind == 0) options.no_repeat_ngram_size = 2;
    if (kind == 1) options.num_beams = 2, options.num_return_sequences = 1;
    if (kind == 2) options.want_one_sequence();
  }
  std::vector<int32_t> tokens(int64_t count) {
    std::vector<int32_t> result;
    while (std::ssize(result) < count) result.push_back(static_cast<int32_t>(number(kPlannedWords)));
    return result;
  }
  int64_t others_;
  std::mt19937 random_{11};
};

/// Adds what is new. Returns whether the request has ended.
bool add_news(Progress fresh, Progress& all) {
  all.tokens.insert(all.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
  all.beams = std::move(fresh.beams), all.finish = fresh.finish, all.error = fresh.error;
  return fresh.finish != Finish::none;
}

/// Requests that were submitted at random times, and what each got. Some are cancelled.
struct PlannedCrowd {
  std::vector<Request> requests;
  std::vector<Progress> found;

  PlannedCrowd(ContinuousBatch& batch, size_t count, int64_t others) : found(count) {
    PlannedRequests source(others);
    std::map<ContinuousBatch::Id, size_t> live;
    while (requests.size() < count || !live.empty()) {
      for (int64_t i = source.number(3); i-- > 0 && requests.size() < count;) {
        requests.push_back(source.next());
        live.emplace(batch.submit(requests.back()), requests.size() - 1);
      }
      if (source.number(20) == 0 && !live.empty()) batch.cancel(live.begin()->first);
      batch.step();
      std::erase_if(live,
                    [&](const auto& each) { return add_news(batch.poll(each.first), found[each.second]); });
    }
  }
};

std::vector<int32_t> planned_ids(const std::vector<NewToken>& tokens) {
  std::vector<int32_t> ids;
  for (const NewToken& token : tokens) ids.push_back(token.id);
  return ids;
}

void expect_as_alone(Generator& generator, const Request& request, const Progress& found) {
  if (found.finish == Finish::cancelled) return;
  ASSERT_NE(found.finish, Finish::failed) << found.error;
  if (request.options.num_beams == 1) {
    EXPECT_EQ(planned_ids(found.tokens), generator.generate({&request.source, 1}, request.options)[0]);
    return;
  }
  const auto expected = generator.search({&request.source, 1}, request.options)[0];
  ASSERT_EQ(found.beams.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(planned_ids(found.beams[i].tokens), expected[i].tokens) << i;
    EXPECT_NEAR(*found.beams[i].score, expected[i].score, 1e-5 + 1e-6 * std::abs(expected[i].score)) << i;
  }
}

struct PlannedCase {
  const char* name;
  const char* spec;
  size_t ahead = 0, together = 1;
  int64_t others = 0;
  bool as_of_a_gpu = false;
};
void PrintTo(const PlannedCase& c, std::ostream* out) { *out << c.name; }

class PlannedBeamsOfABatch : public ::testing::TestWithParam<PlannedCase> {};

TEST_P(PlannedBeamsOfABatch, GiveWhatTheHostFindsForEachAlone) {
  constexpr size_t kCount = 70;
  const PlannedCase& each = GetParam();
  const auto session = each.as_of_a_gpu ? session_as_of_a_gpu(each.spec, kPlannedSlots)
                                        : planned_session(each.spec, kPlannedSlots, true),
             alone = planned_session(each.spec, 4, false);
  ContinuousBatch batch(*session, {.most_waiting = 80, .ahead = each.ahead, .together = each.together});
  const PlannedCrowd crowd(batch, kCount, each.others);
  const ContinuousBatchCounts counts = batch.counts();
  EXPECT_EQ(counts.ended + counts.cancelled, kCount);
  EXPECT_GT(counts.cancelled, 0U);
  EXPECT_EQ(counts.used_slots, 0U);
  EXPECT_GT(counts.plan_tokens, 0U);
  EXPECT_EQ(counts.plan_tokens < counts.new_tokens, each.others > 0);
  Generator generator(*alone);
  for (size_t i = 0; i < kCount; ++i) {
    SCOPED_TRACE(i);
    expect_as_alone(generator, crowd.requests[i], crowd.found[i]);
  }
}

constexpr PlannedCase kPlannedCases[] = {{"bart", kPlannedBart},
                                         {"bart_ahead", kPlannedBart, 1, 1},
                                         {"bart_together", kPlannedBart, 0, 4},
                                         {"t5_as_on_a_gpu", kPlannedT5, 1, 4, 0, true},
                                         {"bart_and_others_as_on_a_gpu", kPlannedBart, 1, 4, 20, true},
                                         {"t5_far_ahead", kPlannedT5, 7, 20},
                                         {"bart_and_others", kPlannedBart, 0, 1, 16},
                                         {"t5_and_others_ahead", kPlannedT5, 1, 3, 20}};
INSTANTIATE_TEST_SUITE_P(Families, PlannedBeamsOfABatch, ::testing::ValuesIn(kPlannedCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// Sizes of runs, by entry.
using PlannedSizes = std::set<std::pair<std::string, SymbolValues>>;

/// Returns the sizes of the runs that a batch makes when it is constructed.
PlannedSizes prepared_sizes(const Json& generation, ContinuousBatchOptions options) {
  PlannedSizes sizes;
  const auto session =
      session_as_of_a_gpu(kPlannedBart, kPlannedSlots, generation,
                          [&](const StepDone& done) { sizes.emplace(done.entry.name, done.symbols); });
  const ContinuousBatch batch(*session, options);
  return sizes;
}

/// Searches find all sizes of their runs prepared, and the states as if nothing had been prepared.
TEST(PreparedBeams, HaveAllSizesOfTheirRuns) {
  constexpr size_t kCount = 70;
  PlannedSizes sizes;
  const auto session =
      session_as_of_a_gpu(kPlannedBart, kPlannedSlots, {{"num_beams", 4}},
                          [&](const StepDone& done) { sizes.emplace(done.entry.name, done.symbols); });
  const auto alone = planned_session(kPlannedBart, 4, false);
  ContinuousBatch batch(*session, {.most_waiting = 80, .prepares = true});
  const PlannedSizes prepared = sizes;
  for (const char* entry : {"encode", "begin_beams", "next_beams"})
    EXPECT_TRUE(std::ranges::any_of(prepared, [&](const auto& size) { return size.first == entry; }))
        << entry;
  const PlannedCrowd crowd(batch, kCount, 0);
  EXPECT_EQ(sizes, prepared);
  Generator generator(*alone);
  for (size_t i = 0; i < kCount; ++i) {
    SCOPED_TRACE(i);
    expect_as_alone(generator, crowd.requests[i], crowd.found[i]);
  }
}

/// Sources that a group of steps does not read together are not prepared together.
TEST(PreparedBeams, AreAsManyAsSourcesMayBeRead) {
  const auto sources_together = [](size_t chunk) {
    int64_t most = 0;
    for (const auto& [entry, size] :
         prepared_sizes({{"num_beams", 2}}, {.chunk = chunk, .prepares = true, .together = 2}))
      if (entry == "encode") most = std::max(most, size.at("B"));
    return most;
  };
  EXPECT_EQ(sources_together(1), 1);
  EXPECT_EQ(sources_together(static_cast<size_t>(kPlannedSource)), 2);
  EXPECT_EQ(sources_together(1000), 8) << "the six of all searches, with padding";
}

/// Nothing is prepared without the model's word, or if the plan does not choose the beams of its searches.
TEST(PreparedBeams, AreThoseOfTheModelsOptions) {
  for (const Json& generation :
       {Json::object(), Json{{"num_beams", 1}}, Json{{"num_beams", kPlannedSlots + 1}},
        Json{{"num_beams", 4}, {"no_repeat_ngram_size", 3}}})
    EXPECT_TRUE(prepared_sizes(generation, {.prepares = true}).empty()) << generation;
  EXPECT_TRUE(prepared_sizes({{"num_beams", 4}}, {.prepares = false}).empty());
}

Request planned_request(int64_t tokens) {
  Request request{.prompt = {0}, .source = {3, 4, 9}, .options = {}};
  request.options.num_beams = 3, request.options.max_new_tokens = tokens;
  return request;
}

/// A group of steps ends before the weights change.
TEST(PlannedBeamsOfUpdates, GoOnWithNewWeights) {
  const auto session = planned_session(kPlannedBart, 6, true), other = planned_session(kPlannedBart, 6, true);
  ContinuousBatch batch(*session, {.ahead = 1, .together = 2});
  const ContinuousBatch::Id first = batch.submit(planned_request(6));
  batch.step();
  batch.update_weights({.weights = copied_weights(*other), .version = 7});
  const ContinuousBatch::Id second = batch.submit(planned_request(3));
  batch.step();
  batch.update_weights({.weights = copied_weights(*other), .version = 9, .waits = true});
  EXPECT_TRUE(batch.update_waits());
  while (batch.step()) continue;
  EXPECT_EQ(batch.counts().weights_version, 9U);
  std::vector<uint64_t> versions;
  const Progress found = batch.poll(first);
  for (const NewToken& token : found.beams.at(0).tokens) versions.push_back(token.weights_version);
  EXPECT_EQ(versions, (std::vector<uint64_t>{0, 0, 7, 7, 7, 7}));
  EXPECT_EQ(batch.poll(second).beams.at(0).tokens.at(0).weights_version, 7U);
}

/// Gives the decoder's last normalization this weight: infinity makes all logits NaN, and no keys and values.
void break_logits(Session& session, float weight = std::numeric_limits<float>::infinity()) {
  for (const State& state : session.plan().states)
    for (const Segment& segment : state.segments)
      if (segment.name.ends_with("decoder.layers.1.final_layer_norm.weight")) {
        std::ranges::fill(session.segment(state.name, segment.name), weight);
        return;
      }
  FAIL() << "no weights of the decoder's last normalization";
}

/// A search of which no token can be chosen fails alone, and its rows have no effect on later ones.
TEST(PlannedBeamsOfUpdates, FailWithWeightsThatMakeNaN) {
  const auto session = planned_session(kPlannedBart, 6, true), good = planned_session(kPlannedBart, 6, true),
             bad = planned_session(kPlannedBart, 6, true);
  break_logits(*bad);
  ContinuousBatch batch(*session, {.ahead = 1, .together = 3});
  const ContinuousBatch::Id before = batch.submit(planned_request(5));
  while (batch.step()) continue;
  batch.update_weights({.weights = copied_weights(*bad)});
  const ContinuousBatch::Id failed = batch.submit(planned_request(5));
  while (batch.step()) continue;
  const std::string error = batch.poll(failed).error;
  EXPECT_HAS(error, "NaN: no token can be chosen");
  batch.update_weights({.weights = copied_weights(*good)});
  const ContinuousBatch::Id after = batch.submit(planned_request(5));
  while (batch.step()) continue;
  const Progress found = batch.poll(after);
  ASSERT_EQ(found.beams.size(), 1U) << found.error;
  EXPECT_EQ(planned_ids(found.beams[0].tokens), planned_ids(batch.poll(before).beams.at(0).tokens));
  EXPECT_EQ(batch.counts().failed, 1U);
}

TEST(PlannedBeamsOfUpdates, WeightsThatAreNaNAreRefusedBeforeAnyIsReplaced) {
  const auto session = planned_session(kPlannedBart, 6, true), bad = planned_session(kPlannedBart, 6, true);
  break_logits(*bad, std::numeric_limits<float>::quiet_NaN());
  ContinuousBatch batch(*session, {.ahead = 1, .together = 3});
  const ContinuousBatch::Id before = batch.submit(planned_request(5));
  while (batch.step()) continue;
  EXPECT_THROW(batch.update_weights({.weights = copied_weights(*bad)}), Error);
  const ContinuousBatch::Id after = batch.submit(planned_request(5));
  while (batch.step()) continue;
  EXPECT_EQ(planned_ids(batch.poll(after).beams.at(0).tokens),
            planned_ids(batch.poll(before).beams.at(0).tokens));
  EXPECT_EQ(batch.counts().weight_updates, 0U);
}

/// A run that fails ends all searches; later ones find the states as if there had been none.
TEST(PlannedBeamsOfUpdates, EndWithARunThatFails) {
  bool fails = false;
  const auto session = planned_session(kPlannedBart, 6, true, [&](const StepDone&) {
    if (fails) fail("the device is away");
  });
  ContinuousBatch batch(*session, {.ahead = 1, .together = 3});
  const ContinuousBatch::Id before = batch.submit(planned_request(7));
  while (batch.step()) continue;
  const ContinuousBatch::Id failed[] = {batch.submit(planned_request(7)), batch.submit(planned_request(9))};
  for (int i = 0; i < 2; ++i) batch.step();
  fails = true;
  for (int i = 0; i < 2; ++i) batch.step();
  fails = false;
  for (const ContinuousBatch::Id id : failed) {
    const Progress found = batch.poll(id);
    EXPECT_EQ(found.finish, Finish::failed);
    EXPECT_HAS(found.error, "the device is away");
  }
  EXPECT_TRUE(batch.idle());
  const ContinuousBatch::Id after = batch.submit(planned_request(7));
  while (batch.step()) continue;
  const Progress found = batch.poll(after);
  ASSERT_EQ(found.beams.size(), 1U) << found.error;
  EXPECT_EQ(planned_ids(found.beams[0].tokens), planned_ids(batch.poll(before).beams.at(0).tokens));
}

/// A search that waits takes the rows of one whose last run has been started, so no run has rows in vain.
TEST(PlannedBeamsOfSlots, AreLeftWhenNoRunIsToCome) {
  size_t runs = 0;
  const auto session = planned_session(kPlannedBart, 6, true, [&](const StepDone& done) {
    if (done.entry.name == entry::next_beams && done.step + 1 == std::ssize(done.entry.steps)) ++runs;
  });
  ContinuousBatch batch(*session, {.ahead = 1, .together = 2});
  const auto request = [](int64_t tokens) {
    Request never_ends = planned_request(tokens);
    never_ends.options.min_new_tokens = tokens, never_ends.options.eos_token_id = {2};
    return never_ends;
  };
  std::vector<ContinuousBatch::Id> ids;
  for (const int64_t tokens : {4, 12, 4, 4}) ids.push_back(batch.submit(request(tokens)));
  while (batch.step()) EXPECT_LE(batch.counts().used_slots, 6U);
  EXPECT_EQ(runs, 12U);
  for (const ContinuousBatch::Id id : ids) EXPECT_EQ(batch.poll(id).beams.size(), 1U);
}

/// More beams than half of the slots leave room for one search; a batch may end while runs are in progress.
TEST(PlannedBeamsOfSlots, WaitForTheirRows) {
  const auto session = planned_session(kPlannedT5, 5, true);
  ContinuousBatch batch(*session, {.ahead = 1, .together = 2});
  for (int i = 0; i < 2; ++i) batch.submit(planned_request(8));
  batch.step();
  EXPECT_EQ(batch.counts().running, 1U);
  EXPECT_EQ(batch.counts().waiting, 1U);
  EXPECT_EQ(batch.counts().used_slots, 3U);
}

}  // namespace
}  // namespace smelt
