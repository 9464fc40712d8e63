// Runs of prompts on a GPU are padded to a few lengths, which changes no result; and long prompts of many
// rows are read in parts where the plan's bounds ask for it.
#include <gtest/gtest.h>

#include <set>

#include "runtime/generation/generator.h"
#include "runtime/generation/prompt_lengths.h"
#include "runtime/serving/continuous_batch.h"
#include "tests/runtime/serving/random_requests.h"

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
