// Requests that fail because their logits are no numbers leave nothing in the caches of a continuous batch:
// later requests in the same slots and pages get the bits that they get in a new session.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "compiler/driver/compile.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

constexpr int64_t kInvalidLength = 48, kInvalidWords = 43;

/// A model that cannot read some texts, because a row of a parameter is no number: the row of a token, or
/// that of a position.
struct InvalidCase {
  const char* name;
  const char* spec;
  const char* parameter;  // end of its name
  int64_t row;
  bool has_source = false;
  int64_t pages = 0;
  bool chooses = false;
  size_t ahead = 0;
  int64_t step_tokens = 0;
  int64_t beams = 1;
};
void PrintTo(const InvalidCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_INVALID_SIZES \
  R"("vocab_size": 43, "hidden": 24, "max_positions": 48, "init": {"deviation": 0.3}, )"
#define SMELT_INVALID_DECODER SMELT_INVALID_SIZES R"("decoder": {"layers": 2, "heads": 4, "ffn": 33}})"
constexpr const char* kByPosition = R"({"family": "gpt2", )" SMELT_INVALID_DECODER;
constexpr const char* kByToken = R"({"family": "llama", "head": {"tied": false}, )" SMELT_INVALID_DECODER;
constexpr const char* kBySource =
    R"({"family": "bart", "tokens": {"pad": 1, "decoder_start": 2}, )" SMELT_INVALID_SIZES
    R"("encoder": {"layers": 2, "heads": 4, "ffn": 31}, "decoder": {"layers": 2, "heads": 4, "ffn": 33}})";
constexpr const char* kTokens = "embed_tokens.weight";
constexpr const char* kPlaces = "wpe.weight";
constexpr InvalidCase kInvalidCases[] = {
    {"gpt2_slots", kByPosition, kPlaces, 20},
    {"llama_slots", kByToken, kTokens, 7},
    {"gpt2_pages", kByPosition, kPlaces, 20, false, 14},
    {"llama_pages", kByToken, kTokens, 7, false, 14},
    {"llama_chosen", kByToken, kTokens, 7, false, 14, true, 1},
    {"gpt2_mixed", kByPosition, kPlaces, 20, false, 14, true, 1, 24},
    {"llama_mixed", kByToken, kTokens, 7, false, 14, true, 1, 24},
    {"bart_sources", kBySource, "encoder.embed_positions.weight", 12, true},
    {"bart_targets", kBySource, "decoder.embed_positions.weight", 8, true},
    {"gpt2_beams", kByPosition, kPlaces, 20, false, 0, false, 0, 0, 2},
    {"gpt2_beams_in_pages", kByPosition, kPlaces, 20, false, 14, true, 0, 0, 2},
    {"bart_planned_beams", kBySource, "encoder.embed_positions.weight", 12, true, 0, true, 0, 0, 2}};

std::shared_ptr<const Plan> invalid_plan(const InvalidCase& c) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, 4}, {{"T"}, kInvalidLength}};
  if (c.has_source) options.build.bounds.push_back({{"S"}, kInvalidLength});
  options.build.caches = true, options.build.cache_pages = c.pages;
  options.build.has_sampler = c.chooses, options.build.step_tokens = c.step_tokens;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(c.spec), nullptr,
                                Json::object(),          {}};
  return std::make_shared<const Plan>(compile(description, options).plan);
}

/// Makes a row of a parameter invalid.
void spoil(Session& session, std::string_view end, int64_t row) {
  for (const State& state : session.plan().states)
    for (const Segment& segment : state.segments) {
      if (!segment.name.ends_with(end)) continue;
      std::vector<float> values = session.read_segment(state.name, segment.name);
      const auto width = segment.shape.back();
      std::fill_n(values.begin() + row * width, width, std::numeric_limits<float>::quiet_NaN());
      return session.write_segment(state.name, segment.name, values);
    }
  FAIL() << "there is no parameter " << end;
}

std::unique_ptr<Session> invalid_session(const InvalidCase& c, const std::shared_ptr<const Plan>& plan) {
  auto session = std::make_unique<Session>(plan, SessionOptions{.threads = 1, .poison = true});
  session->initialize(5);
  spoil(*session, c.parameter, c.row);
  return session;
}

class InvalidCaches : public ::testing::TestWithParam<InvalidCase> {
 protected:
  std::unique_ptr<ContinuousBatch> batch_of(Session& session) const {
    return std::make_unique<ContinuousBatch>(session, ContinuousBatchOptions{.ahead = GetParam().ahead});
  }
  int64_t number(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }
  std::vector<int32_t> tokens(int64_t count) {
    std::vector<int32_t> result;
    while (std::ssize(result) < count) result.push_back(static_cast<int32_t>(8 + number(kInvalidWords - 8)));
    if (number(3) == 0) result[static_cast<size_t>(number(count))] = 7;
    return result;
  }
  Request request() {
    Request request{.prompt = {2}, .source = {}, .options = {}, .log_probabilities = 0};
    (GetParam().has_source ? request.source : request.prompt) = tokens(1 + number(18));
    request.options.max_new_tokens = 1 + number(12);
    request.options.num_beams = GetParam().beams, request.options.do_sample = GetParam().beams == 1;
    if (GetParam().beams > 1) request.log_probabilities.reset();
    request.options.seed = static_cast<uint32_t>(number(1000));
    return request;
  }

  std::mt19937 random_{11};
};

std::vector<int32_t> ids_of_all(const Progress& progress) {
  std::vector<int32_t> ids;
  for (const NewToken& token : progress.tokens) ids.push_back(token.id);
  for (const Progress& beam : progress.beams)
    for (const NewToken& token : beam.tokens) ids.push_back(token.id);
  return ids;
}

void append_progress(Progress& all, Progress fresh) {
  all.tokens.insert(all.tokens.end(), fresh.tokens.begin(), fresh.tokens.end());
  all.beams = std::move(fresh.beams), all.finish = fresh.finish, all.error = fresh.error;
}

TEST_P(InvalidCaches, LeaveNothingToLaterRequests) {
  const auto plan = invalid_plan(GetParam());
  const auto session = invalid_session(GetParam(), plan);
  const auto batch = batch_of(*session);
  std::map<ContinuousBatch::Id, size_t> live;
  std::vector<Request> requests;
  std::vector<Progress> found(60);
  while (requests.size() < found.size() || !live.empty()) {
    if (requests.size() < found.size() && number(2) == 0) {
      requests.push_back(request());
      live.emplace(batch->submit(requests.back()), requests.size() - 1);
    }
    if (number(12) == 0 && !live.empty()) batch->cancel(live.begin()->first);
    batch->step();
    std::erase_if(live, [&](const auto& each) {
      append_progress(found[each.second], batch->poll(each.first));
      return found[each.second].finish != Finish::none;
    });
  }
  size_t failed = 0, ended = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (found[i].finish == Finish::cancelled) continue;
    const auto alone_session = invalid_session(GetParam(), plan);
    const auto alone = batch_of(*alone_session);
    const ContinuousBatch::Id id = alone->submit(requests[i]);
    while (alone->step()) continue;
    const Progress expected = alone->poll(id);
    EXPECT_EQ(found[i].finish, expected.finish) << i << ": " << found[i].error;
    EXPECT_EQ(ids_of_all(found[i]), ids_of_all(expected)) << i;
    (expected.finish == Finish::failed ? failed : ended) += 1;
  }
  EXPECT_GT(failed, 2U);
  EXPECT_GT(ended, 10U);
}

INSTANTIATE_TEST_SUITE_P(Of, InvalidCaches, ::testing::ValuesIn(kInvalidCases),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace smelt
