// Runs of prompts on a GPU are padded to a few lengths, which changes no result; and long prompts of many
// rows are read in parts where the plan's bounds ask for it.
#include <gtest/gtest.h>

#include <set>

#include "runtime/engine/generation/generator.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/runtime/engine/serving/random_requests.h"

namespace smelt {
namespace {

constexpr int64_t kSlots = 4, kPadded = 300;

std::set<int64_t> lengths_of(const RememberingExecutor& executor) {
  std::set<int64_t> lengths;
  for (const auto& [rows, tokens] : executor.shapes) lengths.insert(tokens);
  return lengths;
}

Tokens generate(Generator& generator, const Request& request) {
  return generator.generate({&request.prompt, 1}, request.options)[0];
}

TEST(PaddedLengths, AreFew) {
  EXPECT_EQ(padded_length(1, 512, 1024), 16U);
  EXPECT_EQ(padded_length(17, 512, 1024), 32U);
  EXPECT_EQ(padded_length(65, 512, 1024), 96U);
  EXPECT_EQ(padded_length(97, 512, 1024), 128U);
  EXPECT_EQ(padded_length(300, 512, 1024), 384U);
  EXPECT_EQ(padded_length(300, 330, 1024), 330U);
  EXPECT_EQ(padded_length(300, 512, 310), 310U);
}

TEST(PaddedRuns, OfAChatHaveAFewLengths) {
  RememberingModel model(padding_plan(kSlots, kPadded));
  Generator generator(*model.session);
  RandomRequests random;
  Request request = request_of(random.tokens(7), 3);
  while (request.prompt.size() + 10 < kPadded) {
    const Tokens found = generate(generator, request);
    EXPECT_EQ(found, alone(request)) << request.prompt.size();
    for (const Tokens& more : {found, random.tokens(1 + random.number(60))})
      request.prompt.insert(request.prompt.end(), more.begin(), more.end());
    request.prompt.resize(std::min<size_t>(request.prompt.size(), kPadded - 2));
  }
  for (const int64_t length : lengths_of(*model.executor))
    EXPECT_TRUE((std::set<int64_t>{1, 16, 32, 64}.contains(length))) << length;
}

TEST(PaddedRuns, OfUnequalPromptsGiveWhatEachGivesAlone) {
  RememberingModel model(padding_plan(kSlots, kPadded));
  Generator generator(*model.session);
  RandomRequests random;
  for (int i = 0; i < 40; ++i) {
    std::vector<Tokens> prompts, expected;
    while (prompts.size() < kSlots) prompts.push_back(random.tokens(1 + random.number(kPadded - 6)));
    GenerationOptions options;
    options.max_new_tokens = 5;
    for (const Tokens& prompt : prompts) expected.push_back(alone(request_of(prompt, 5)));
    EXPECT_EQ(generator.generate(prompts, options), expected);
  }
  EXPECT_LE(lengths_of(*model.executor).size(), 10U);
}

TEST(PaddedRuns, OfRequestsGiveWhatEachGivesAlone) {
  RememberingModel model(padding_plan(kSlots, kPadded));
  ContinuousBatch batch(*model.session, {.most_waiting = 200, .chunk = 100});
  RandomRequests random;
  std::vector<std::pair<ContinuousBatch::Id, Request>> requests;
  for (int i = 0; i < 200; ++i) {
    const Request request = random.next(kPadded - 16);
    requests.emplace_back(batch.submit(request), request);
  }
  while (batch.step()) continue;
  for (const auto& [id, request] : requests) EXPECT_EQ(ids_of(batch.poll(id)), alone(request)) << id;
  EXPECT_LE(lengths_of(*model.executor).size(), 12U);
}

// ---- sources of an encoder

Plan source_plan(int64_t slots, int64_t capacity) {
  Plan plan = padding_plan(slots, capacity);
  plan.symbols.bound({"S"}, capacity);
  plan.entries[0].inputs[0].name = "decoder_input_ids";
  const Shape shape = {Dim::symbol("B"), Dim::symbol("S")};
  PlanEntry encode{
      "encode", {{"input_ids", DType::i32, shape}, {"attention_mask", DType::i32, shape}}, {}, {}, 0};
  encode.inputs[1].optional = true, encode.inputs[1].fill = 1;
  plan.entries.push_back(encode);
  PlanEntry& reorder = plan.entries.emplace_back(plan.entries[1]);
  reorder.name = "reorder_sources", reorder.inputs[2].shape = {Dim::symbol("S")};
  return plan;
}

/// Tokens of a source that are masked are not looked at; others stand before the decoder's.
class SourceExecutor : public BreakingExecutor {
 public:
  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox&) override {
    const auto ints = [&](size_t i) { return static_cast<const int32_t*>(inputs[i]); };
    const auto rows = static_cast<size_t>(symbols.at("B"));
    if (entry.name == "encode") return encode(rows, static_cast<size_t>(symbols.at("S")), ints(0), ints(1));
    for (size_t row = 0; row < rows; ++row) {  // a token of each row at a time
      texts_[row].push_back(ints(0)[row]);
      std::ranges::copy(remembered_logits(texts_[row]), static_cast<float*>(outputs[0]) + row * kWords);
    }
  }

 private:
  void encode(size_t rows, size_t length, const int32_t* ids, const int32_t* mask) {
    shapes.emplace_back(rows, length);
    texts_.assign(rows, {});
    for (size_t i = 0; i < rows * length; ++i)
      if (!mask || mask[i] != 0) texts_[i / length].push_back(ids[i]);
  }
  std::vector<Tokens> texts_;
};

TEST(PaddedRuns, OfSourcesMaskWhatIsPadded) {
  auto made = std::make_unique<SourceExecutor>();
  const SourceExecutor& executor = *made;
  Session session(std::make_shared<const Plan>(source_plan(kSlots, kPadded)), std::move(made));
  Generator generator(session);
  RandomRequests random;
  GenerationOptions options;
  options.max_new_tokens = 5, options.decoder_start_token_id = 2;
  for (int i = 0; i < 40; ++i) {
    const std::vector<Tokens> sources = {random.tokens(1 + random.number(kPadded)),
                                         random.tokens(1 + random.number(kPadded))};
    std::vector<Tokens> expected;
    for (Tokens text : sources) {
      text.push_back(2);
      expected.push_back(alone(request_of(text, 5)));
    }
    EXPECT_EQ(generator.generate(sources, options), expected);
  }
  std::set<int64_t> lengths;
  for (const auto& [rows, length] : executor.shapes) lengths.insert(length);
  EXPECT_LE(lengths.size(), 9U);
}

TEST(PaddedRuns, DoNotExceedTheBoundOfAProduct) {
  for (const bool pads : {false, true}) {
    Plan plan = pads ? padding_plan(kSlots, kPadded) : remembering_plan(kSlots, kPadded);
    if (!pads) plan.entries[0].inputs.push_back(padding_plan(kSlots, kPadded).entries[0].inputs.back());
    plan.symbols.bound({"B", "T"}, 300);  // 75 tokens of each of four rows
    RememberingModel model(plan);
    Generator generator(*model.session);
    RandomRequests random;
    const std::vector<Tokens> prompts = {random.tokens(200), random.tokens(3), random.tokens(76),
                                         random.tokens(290)};
    std::vector<Tokens> expected;
    for (const Tokens& prompt : prompts) expected.push_back(alone(request_of(prompt, 5)));
    GenerationOptions options;
    options.max_new_tokens = 5;
    EXPECT_EQ(generator.generate(prompts, options), expected);
  }
}

}  // namespace
}  // namespace smelt
