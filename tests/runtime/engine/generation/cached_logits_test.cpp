// What is known of the caches when a run over them fails.
#include <gtest/gtest.h>

#include "runtime/engine/generation/generator.h"
#include "tests/runtime/engine/serving/random_requests.h"

namespace smelt {
namespace {

/// Fails when rows have been moved.
class FailsBehindAMove : public RememberingExecutor {
 public:
  using RememberingExecutor::RememberingExecutor;
  bool fails = false;

  void run(const PlanEntry& entry, const SymbolValues& symbols, std::span<const void* const> inputs,
           std::span<void* const> outputs, const Philox& philox) override {
    RememberingExecutor::run(entry, symbols, inputs, outputs, philox);
    if (entry.name == "reorder" && std::exchange(fails, false))
      fail_with(Status::internal, "the device is gone");
  }
};

TEST(CachedLogits, RowsThatHaveMovedAreNotTakenForOthersBehindAFailure) {
  auto made = std::make_unique<FailsBehindAMove>(4, 48);
  FailsBehindAMove& executor = *made;
  Session session(std::make_shared<const Plan>(padding_plan(4, 48)), std::move(made));
  Generator generator(session);
  RandomRequests random;
  const std::vector<Tokens> prompts = {random.tokens(9), random.tokens(8)};
  GenerationOptions options;
  options.max_new_tokens = 3;
  const auto expected = generator.generate(prompts, options);
  executor.fails = true;
  EXPECT_THROW(generator.generate(std::span(prompts).last(1), options), Error);
  EXPECT_FALSE(executor.fails);
  EXPECT_EQ(generator.generate(prompts, options), expected);
}

}  // namespace
}  // namespace smelt
