// guard_indices on random indices: whatever numbers a graph is given, what it reads and writes is inside of
// its tables, a fault is noted where an index was outside and nowhere else, and all else is as it was.
// SMELT_INDEX_CASES sets how many graphs are tried (20,000).
#include "tests/support/random_indices.h"

#include <cstdlib>

#include "passes/graph/simplify/guard_indices.h"
#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::RandomIndices;

/// The last node that indexes something: guards stand in front of it.
const Node& indexing_node(const Graph& graph) { return *graph.outputs[1].value->node(); }

int64_t rows_at(const Node& node, const SymbolValues& symbols) {
  const int64_t axis = node.has(attr::axis) ? node.get(attr::axis) : node.get(attr::axes).front();
  return node.operand(0)->shape()[static_cast<size_t>(axis)].evaluate(symbols);
}

/// A negative index of an insert leaves out what it is of.
bool is_fault(const Node& node, double index, int64_t rows) {
  return index >= static_cast<double>(rows) || (index < 0 && !node.is(Op::insert));
}

Tensors fault_states(const Module& module) {
  Tensors states;
  for (const State& state : module.states) states[state.name] = {DType::i32, {3}, {0, 0, 0}};
  return states;
}

bool any_noted(const Tensors& states) {
  return llvm::any_of(
      states, [](const auto& state) { return state.second.data[0] != 0 || state.second.data[1] != 0; });
}

class Case {
 public:
  explicit Case(uint64_t seed) : module_(RandomIndices(seed).make()), random_(seed) {}

  void run() {
    const auto guarded = module_->clone();
    try {
      guard_indices(*guarded->graphs.front(), {});
    } catch (const Error&) {
      for (int round = 0; round < 3; ++round) expect_fault();
      return;
    }
    testing::expect_valid(*guarded->graphs.front());
    for (int round = 0; round < 3; ++round) compare(*guarded);
  }

 private:
  EvaluateOptions options() {
    EvaluateOptions options;
    options.symbols = {{"T", 1 + static_cast<int64_t>(random_() % RandomIndices::kMostRows)}};
    options.philox.seed = static_cast<uint32_t>(random_());
    return options;
  }

  /// What was refused is wrong for any numbers.
  void expect_fault() {
    const auto copy = module_->clone();
    Graph& graph = *copy->graphs.front();
    const Node& node = indexing_node(*module_->graphs.front());  // the copy's is pruned
    const EvaluateOptions at = options();
    const int64_t rows = rows_at(node, at.symbols);
    const Tensors inputs = RandomIndices::inputs(graph, at.symbols, random_);
    graph.outputs.pop_back();
    graph.prune();
    const Tensor index = evaluate(graph, inputs, {}, at).outputs.at("i");
    EXPECT_TRUE(llvm::any_of(index.data, [&](double i) { return is_fault(node, i, rows); }))
        << print(*module_);
  }

  void compare(const Module& guarded) {
    const Graph& graph = *guarded.graphs.front();
    const Node& node = indexing_node(*module_->graphs.front());
    const EvaluateOptions at = options();
    const int64_t rows = rows_at(node, at.symbols);
    const Tensors inputs = RandomIndices::inputs(graph, at.symbols, random_);
    const Evaluation found = evaluate(graph, inputs, fault_states(guarded), at);
    const bool fault =
        llvm::any_of(found.outputs.at("i").data, [&](double i) { return is_fault(node, i, rows); });
    EXPECT_EQ(any_noted(found.states), fault) << print(guarded);
    if (fault) return;
    const Tensors expected = evaluate(*module_->graphs.front(), inputs, {}, at).outputs;
    EXPECT_EQ(found.outputs.at("y").data, expected.at("y").data) << print(guarded);
  }

  std::unique_ptr<Module> module_;
  std::mt19937_64 random_;
};

TEST(RandomIndices, StayInsideTheirTables) {
  const char* given = std::getenv("SMELT_INDEX_CASES");
  const int64_t cases = given ? std::atoll(given) : 20000;
  for (int64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      Case(static_cast<uint64_t>(seed)).run();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << print(*RandomIndices(static_cast<uint64_t>(seed)).make());
    }
  }
}

}  // namespace
}  // namespace smelt
