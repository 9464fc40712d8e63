// Frozen parameters cost nothing: no gradient, no product towards one, no moments, masters or sums.
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

/// Three layers, whose first two are frozen, with a map of low rank beside the second: the shape of adapters.
std::unique_ptr<Module> three_layers(bool frozen) {
  const std::string mark = frozen ? "{frozen = true} " : "";
  return parse_module(R"(
symbols B <= 64
parameter "w1" )" + mark +
                      R"(: f32[6,5]
parameter "w2" )" + mark +
                      R"(: f32[6,6]
parameter "a" : f32[2,6]
parameter "b" : f32[6,2]
parameter "w3" )" + mark +
                      R"(: f32[3,6]
graph @loss(%x: f32[B,5]) {
  %w1 = parameter "w1" : f32[6,5]
  %w2 = parameter "w2" : f32[6,6]
  %a = parameter "a" : f32[2,6]
  %b = parameter "b" : f32[6,2]
  %w3 = parameter "w3" : f32[3,6]
  %h1 = linear %x, %w1 : f32[B,6]
  %t1 = tanh %h1 : f32[B,6]
  %h2 = linear %t1, %w2 : f32[B,6]
  %low = linear %t1, %a : f32[B,2]
  %d = linear %low, %b : f32[B,6]
  %s = add %h2, %d : f32[B,6]
  %t2 = tanh %s : f32[B,6]
  %y = linear %t2, %w3 : f32[B,3]
  %q = mul %y, %y : f32[B,3]
  %sum = reduce add %q {axes = [0, 1]} : f32[]
  %one = constant {value = 1.0} : f32[B]
  %count = reduce add %one {axes = [0]} : f32[]
  return loss_sum = %sum, token_count = %count
}
)");
}

TrainingOptions options_with(Optimizer optimizer) {
  TrainingOptions options;
  options.optimizer.optimizer = optimizer;
  return options;
}

size_t products(const Module& module, const char* entry) {
  Graph& graph = *module.find_graph(entry);
  decompose(graph, {});
  return testing::count(graph, Op::matmul);
}

TEST(FrozenParameters, HaveNoProductsOfTheirOwn) {
  const auto frozen = three_layers(true), trained = three_layers(false);
  for (Module* module : {frozen.get(), trained.get()})
    make_training_entries(*module, options_with(Optimizer::adamw));
  // Forward 5. Backward: of all by weight 5, by input 4 (w3, b, a and w2); of the adapter by weight 2, by
  // input 2 (w3 and b).
  EXPECT_EQ(products(*trained, "train_step"), 5u + 5 + 4);
  EXPECT_EQ(products(*frozen, "train_step"), 5u + 2 + 2);
  EXPECT_EQ(products(*frozen, "accumulate"), 5u + 2 + 2);
}

TEST(FrozenParameters, StatesHaveWhatIsTrainedAlone) {
  const auto module = three_layers(true);
  flatten_parameters(*module, {.storage = DType::bf16});
  make_training_entries(*module, options_with(Optimizer::adamw));
  const int64_t low = 16 * 2, base = 32 + 48 + 32;  // segments begin at multiples of 16 elements
  for (const State& state : module->states) {
    const int64_t expected = state.shape.empty() ? 1 : state.name == kFrozenParameters ? base : low;
    EXPECT_EQ(*element_count(state.shape).constant(), expected) << state.name;
    const bool narrow = state.name == kFrozenParameters || state.copy_of == kParameters;
    EXPECT_EQ(state.dtype, narrow ? DType::bf16 : DType::f32) << state.name;
  }
  for (const char* name : {"parameters", "parameters.bf16", "gradients", "adam.m", "adam.v"})
    EXPECT_NE(module->find_state(name), nullptr) << name;
  EXPECT_EQ(module->state_of_parameter("w2")->name, kFrozenParameters);
  EXPECT_EQ(module->find_parameter_state("w2", DType::f32), nullptr);
  EXPECT_EQ(module->find_parameter_state("a", DType::f32)->name, kParameters);
  EXPECT_EQ(module->find_parameter_state("a", DType::bf16)->copy_of, kParameters);
}

TEST(FrozenParameters, GradientsOfTheOthersAreThoseOfTheWholeModel) {
  const auto frozen = three_layers(true), trained = three_layers(false);
  for (Module* module : {frozen.get(), trained.get()}) differentiate(*module->find_graph("loss"), {});
  EvaluateOptions options;
  options.symbols = {{"B", 7}};
  const Tensors states = testing::random_states(*trained, 3, {}),
                inputs = testing::random_inputs(*trained->find_graph("loss"), 5, options.symbols);
  const Evaluation part = testing::run(*frozen->find_graph("loss"), inputs, states, options),
                   whole = testing::run(*trained->find_graph("loss"), inputs, states, options);
  for (const char* name : {"grad.a", "grad.b"})
    EXPECT_EQ(part.outputs.at(name).data, whole.outputs.at(name).data) << name;
  for (const char* name : {"grad.w1", "grad.w2", "grad.w3"})
    EXPECT_FALSE(part.outputs.contains(name)) << name;
}

TEST(FrozenParameters, NoEntryWritesThem) {
  const auto module = three_layers(true);
  make_training_entries(*module, options_with(Optimizer::lamb));
  for (const auto& graph : module->graphs)
    for (const auto& node : graph->nodes()) {
      if (!node->is(Op::update)) continue;
      EXPECT_NE(node->get(attr::state), kFrozenParameters) << graph->name;
    }
  for (const auto& graph : module->graphs) testing::expect_valid(*graph);
}

TEST(FrozenParameters, NothingToTrainIsAnError) {
  const auto module = three_layers(true);
  for (Module::Parameter& parameter : module->parameters) parameter.frozen = true;
  try {
    make_training_entries(*module, options_with(Optimizer::sgd));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("all parameters are frozen"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace smelt
