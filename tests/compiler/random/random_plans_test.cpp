// Plans of random graphs, and of their gradients, prove their own memory, whoever reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codegen/make_plan.h"
#include "compiler/driver/compile.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/plan/plan_validate.h"
#include "tests/support/random_graph.h"

namespace smelt {
namespace {

std::unique_ptr<Module> graph_or_gradients(uint64_t seed) {
  if (seed % 2 == 0) return testing::random_module(seed);
  auto module = testing::random_module(seed + 1000, {.nodes = 8, .scalar = true});
  differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x"}, .seed = 1});
  return module;
}

/// Among them rows with padded ends that another buffer takes in place (90, 9774).
TEST(RandomPlans, NoMemoryIsSharedByWhatLivesAtATime) {
  std::vector<uint64_t> seeds = {9774};
  for (uint64_t seed = 0; seed < 200; ++seed) seeds.push_back(seed);
  for (const char* target : {"cpu", "sm_90"})
    for (const uint64_t seed : seeds) {
      CompileOptions options;
      options.target = target, options.mode = Mode::infer;
      SCOPED_TRACE(fmt::format("{} seed {}", target, seed));
      const Plan plan = plan_without_code(compile(graph_or_gradients(seed), options, Stage::program).program);
      for (const PlanEntry& entry : plan.entries) EXPECT_NO_THROW(check_lifetimes(plan, entry));
    }
}

}  // namespace
}  // namespace smelt
