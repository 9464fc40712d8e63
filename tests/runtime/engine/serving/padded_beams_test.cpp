// Beam searches and other requests in runs that are padded to a few numbers of rows, as on a GPU, and whose
// beams read the slots of others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/engine/serving/remembering_model.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

constexpr int64_t kPaddedSlots = 11, kPaddedCapacity = 24;

/// padding_plan with the entry decode_beams.
Plan beams_plan() {
  Plan plan = padding_plan(kPaddedSlots, kPaddedCapacity);
  const Dim b = Dim::symbol("B");
  const auto output = [&](const DecodePort& port, const Dim& width) {
    return Port{std::string(port), port.dtype, {b, width}, -1, false};
  };
  const auto input = [&](const DecodePort& port, const Dim& width) {
    return Port{std::string(port), DType::i32, {b, width}};
  };
  PlanEntry& entry = plan.entries.emplace_back();
  entry.name = entry::decode_beams;
  entry.inputs = {input(port::input_ids, 1), Port{std::string(port::past_length), DType::i32, {b}},
                  input(port::place_rows, kPaddedCapacity)};
  entry.outputs = {output(port::logits, kWords), output(port::candidate_ids, kBeamCandidates),
                   output(port::candidate_log_probabilities, kBeamCandidates)};
  return plan;
}

class BeamsExecutor : public RememberingExecutor {
 public:
  BeamsExecutor() : RememberingExecutor(kPaddedSlots, kPaddedCapacity) {}
  size_t beam_runs = 0, runs_with_logits = 0;

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& random) override {
    if (entry.name != entry::decode_beams)
      return RememberingExecutor::run(entry, symbols, inputs, outputs, random);
    const auto rows = static_cast<size_t>(symbols.at("B"));
    shapes.emplace_back(rows, 1), ++beam_runs, runs_with_logits += outputs[0] ? 1 : 0;
    const auto ints = [&](size_t i) { return static_cast<const int32_t*>(inputs[i]); };
    for (size_t row = 0; row < rows; ++row) {
      const std::vector<float> logits =
          decode(row, ints(0)[row], static_cast<size_t>(ints(1)[row]), ints(2) + row * kPaddedCapacity);
      if (outputs[0]) std::ranges::copy(logits, static_cast<float*>(outputs[0]) + row * logits.size());
      give(logits, static_cast<int32_t*>(outputs[1]) + row * kBeamCandidates,
           static_cast<float*>(outputs[2]) + row * kBeamCandidates);
    }
  }

 private:
  std::vector<float> decode(size_t row, int32_t token, size_t past, const int32_t* slots) {
    cache_[row][past] = token;
    std::vector<int32_t> tokens;
    for (size_t place = 0; place < past; ++place)
      tokens.push_back(cache_[static_cast<size_t>(slots[place])][place]);
    tokens.push_back(token);
    return remembered_logits(tokens);
  }
  static void give(const std::vector<float>& logits, int32_t* tokens, float* scores) {
    std::vector<int32_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto logit = [&](int32_t token) { return logits[static_cast<size_t>(token)]; };
    std::ranges::stable_sort(order, std::ranges::greater(), logit);
    double sum = 0;
    for (const float x : logits) sum += std::exp(double{x});
    std::fill_n(tokens, kBeamCandidates, -1);
    std::fill_n(scores, kBeamCandidates, -std::numeric_limits<float>::infinity());
    for (size_t i = 0; i < order.size(); ++i)
      tokens[i] = order[i], scores[i] = static_cast<float>(logit(order[i]) - std::log(sum));
  }
};

std::vector<Request> padded_requests() {
  std::vector<Request> all;
  for (int32_t i = 0; i < 14; ++i) {
    Request request{.prompt = {1 + i, 3, i}, .source = {}, .options = {}};
    request.options.max_new_tokens = 3 + i % 9;
    if (i % 2 == 0) request.options.num_beams = 2 + i % 3, request.options.num_return_sequences = 2;
    if (i % 4 == 0) request.options.eos_token_id = {7};
    if (i == 6) request.options.no_repeat_ngram_size = 2;  // by logits
    all.push_back(request);
  }
  return all;
}

std::vector<Progress> results_of(Session& session) {
  ContinuousBatch batch(session);
  std::vector<ContinuousBatch::Id> ids;
  for (const Request& request : padded_requests()) ids.push_back(batch.submit(request));
  while (batch.step()) continue;
  std::vector<Progress> all;
  for (const ContinuousBatch::Id id : ids) all.push_back(batch.poll(id));
  return all;
}

std::vector<int32_t> ids_of_tokens(const std::vector<NewToken>& tokens) {
  std::vector<int32_t> ids;
  for (const NewToken& token : tokens) ids.push_back(token.id);
  return ids;
}

TEST(PaddedBeams, GiveWhatOtherRunsGive) {
  const RememberingModel plain(kPaddedSlots, kPaddedCapacity);
  auto made = std::make_unique<BeamsExecutor>();
  const BeamsExecutor& executor = *made;
  Session padded(std::make_shared<const Plan>(beams_plan()), std::move(made));
  const std::vector<Progress> expected = results_of(*plain.session), found = results_of(padded);
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(ids_of_tokens(found[i].tokens), ids_of_tokens(expected[i].tokens));
    ASSERT_EQ(found[i].beams.size(), expected[i].beams.size());
    for (size_t beam = 0; beam < found[i].beams.size(); ++beam) {
      EXPECT_EQ(ids_of_tokens(found[i].beams[beam].tokens), ids_of_tokens(expected[i].beams[beam].tokens));
      EXPECT_NEAR(*found[i].beams[beam].score, *expected[i].beams[beam].score, 1e-4);
    }
  }
  EXPECT_GT(executor.beam_runs, executor.runs_with_logits);
  for (const auto& [rows, tokens] : executor.shapes)
    EXPECT_TRUE(rows == 1 || rows == 2 || rows == 4 || rows == 8 || rows == kPaddedSlots) << rows;
}

}  // namespace
}  // namespace smelt
