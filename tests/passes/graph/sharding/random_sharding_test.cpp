// Random graphs with random shardings: all ranks of a mesh together compute what one does.
#include <gtest/gtest.h>

#include "ir/graph/verifier.h"
#include "ir/text/text.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"
#include "passes/graph/sharding/sums.h"
#include "tests/support/minimize_module.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

constexpr const char* kMeshes[] = {
    "data=2", "data=4", "data=8", "data=2,model=2", "data=2,model=2,stage=2", "data=3,model=2"};

/// Some axes for some dims, none of them twice.
Sharding random_sharding(const Shape& shape, const Mesh& mesh, std::mt19937_64& random) {
  Sharding sharding{std::vector<std::vector<size_t>>(shape.size()), {}};
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (shape.empty() || random() % 3 == 0) continue;
    const size_t dim = random() % shape.size();
    auto& axes = sharding.dims[dim];
    axes.push_back(axis);
    if (!can_cut(shape[dim], parts_of(mesh, axes))) axes.pop_back();
  }
  return sharding;
}

/// Annotates about one value of `every`, and parameters.
void annotate(Module& module, std::mt19937_64& random, unsigned every) {
  for (Module::Parameter& parameter : module.parameters)
    if (random() % every == 0)
      parameter.sharding = random_sharding(parameter.type.shape, module.mesh(), random);
  for (const auto& node : module.graphs[0]->nodes())
    for (const auto& result : node->results())
      if (!node->is(Op::parameter) && random() % every == 0)
        result->sharding = random_sharding(result->shape(), module.mesh(), random);
}

/// norm(a - b) / (1 + norm(b)) of the worst tensor; infinite where one is missing.
double worst_error(const Tensors& a, const Tensors& b) {
  double worst = 0;
  for (const auto& [name, tensor] : b) {
    double norm = 0;
    for (const double x : tensor.data) norm += std::isfinite(x) ? x * x : 0;
    worst = std::max(worst, a.contains(name) ? testing::relative_error(a.at(name), tensor) * std::sqrt(norm) /
                                                   (1 + std::sqrt(norm))
                                             : INFINITY);
  }
  return worst;
}

/// Sizes over all ranks of which each has 1 or 2, and symbols that are not cut as they come.
SymbolValues whole_sizes(const Module& partitioned, uint64_t seed) {
  SymbolValues sizes{{"B", static_cast<int64_t>(1 + seed % 2)},
                     {"T", static_cast<int64_t>(1 + seed / 2 % 3)}};
  for (const auto& [symbol, axes] : *partitioned.partitioned)
    sizes[symbol] *= parts_of(partitioned.mesh(), axes);
  return sizes;
}

size_t collectives = 0;  // of all graphs so far

double error_over_ranks(const Module& module, uint64_t seed, bool propagated) {
  const auto local = module.clone();
  if (propagated) propagate_shardings(*local->graphs[0], {});
  std::vector<CollectiveEntry> log;
  partition(*local, {.batch = {}, .log = &log});
  verify_or_throw(*local);
  reassociate_sums(*local->graphs[0], {});
  verify_or_throw(*local);
  collectives += log.size();
  EvaluateOptions options;
  options.symbols = whole_sizes(*local, seed);
  options.philox.seed = static_cast<uint32_t>(seed);
  const Tensors inputs = testing::random_inputs(*module.graphs[0], seed, options.symbols);
  const Tensors states = testing::random_states(*module.graphs[0], seed, options.symbols);
  const Evaluation expected = testing::run(*module.graphs[0], inputs, states, options);
  const Evaluation actual = testing::run_ranks(*local->graphs[0], inputs, states, options);
  return std::max(worst_error(actual.outputs, expected.outputs), worst_error(actual.states, expected.states));
}

std::string what_fails(const Module& module, uint64_t seed, bool propagated) {
  try {
    const double error = error_over_ranks(module, seed, propagated);
    return error < 1e-12 ? "" : fmt::format("error {}", error);
  } catch (const Error& error) {
    return error.what();
  }
}

class RandomShardings : public ::testing::TestWithParam<uint64_t> {
 protected:
  static void TearDownTestSuite() { EXPECT_GT(collectives, 0u) << "the graphs proved nothing"; }
};

TEST_P(RandomShardings, RanksComputeTheWhole) {
  const uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  testing::RandomGraphOptions shape;
  shape.nodes = 12;
  const auto module = testing::random_module(seed, shape);
  if (seed / 6 % 2 == 0) decompose(*module->graphs[0], {});
  module->set_mesh(parse_mesh(kMeshes[seed % std::size(kMeshes)]));
  annotate(*module, random, seed % 3 == 0 ? 2 : 6);
  for (const bool propagated : {true, false}) {
    const std::string fault = what_fails(*module, seed, propagated);
    if (fault.empty()) continue;
    const auto fails = [&](const Module& smaller) { return !what_fails(smaller, seed, propagated).empty(); };
    const auto least = testing::minimize(*module, fails);
    ADD_FAILURE() << fault << "\n" << print(*least) << what_fails(*least, seed, propagated);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomShardings, ::testing::Range<uint64_t>(0, 36));

}  // namespace
}  // namespace smelt
