// Optimisers against plain reference code over several steps, and the entries of a training plan.
#include "passes/graph/training/apply_optimizer.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::relative_error;

/// A small regression model: loss_sum = sum over counted rows of (x w + b - y)^2; labels of 0 are not
/// counted.
std::unique_ptr<Module> regression() {
  return parse_module(R"(
symbols B <= 64
parameter "w" {init = normal(0.02)} : f32[7,5]
parameter "b" {decay = false} : f32[7]
parameter "idle" {decay = false} : f32[3]
graph @loss(%x: f32[B,5], %labels: i32[B], %y: f32[B,7]) {
  %w = parameter "w" : f32[7,5]
  %b = parameter "b" : f32[7]
  %p = linear %x, %w, %b : f32[B,7]
  %d = sub %p, %y : f32[B,7]
  %q = mul %d, %d : f32[B,7]
  %rows = reduce add %q {axes = [1]} : f32[B]
  %zero = constant {value = 0.0} : i32[B]
  %counted = ne %labels, %zero : bool[B]
  %weight = convert %counted : f32[B]
  %kept = mul %rows, %weight : f32[B]
  %sum = reduce add %kept {axes = [0]} : f32[]
  %count = reduce add %weight {axes = [0]} : f32[]
  return loss_sum = %sum, token_count = %count
}
)");
}

std::vector<double> flat_values(const State& flat, const Tensors& by_name) {
  std::vector<double> values(static_cast<size_t>(flat.shape[0].constant().value()));
  for (const Segment& segment : flat.segments)
    std::copy(by_name.at(segment.name).data.begin(), by_name.at(segment.name).data.end(),
              values.begin() + segment.offset);
  return values;
}

/// States of a module as a session holds them: flat parameters from `by_name`, the others at their initial
/// value.
Tensors initial_states(Module& module, const Tensors& by_name, double learning_rate) {
  Tensors states;
  for (const State& state : module.states) {
    Tensor tensor{state.dtype, {}, {}};
    int64_t elements = 1;
    for (const Dim& dim : state.shape) tensor.shape.push_back(*dim.constant()), elements *= *dim.constant();
    tensor.data.assign(static_cast<size_t>(elements), state.init.a);
    states[state.name] = tensor;
  }
  states["parameters"].data = flat_values(*module.find_state("parameters"), by_name);
  states["learning_rate"].data = {learning_rate};
  return states;
}

Evaluation step(Module& module, const std::string& entry, const Tensors& inputs, Tensors& states,
                int64_t batch) {
  EvaluateOptions options;
  options.symbols = {{"B", batch}};
  const Evaluation result = testing::run(*module.find_graph(entry), inputs, states, options);
  for (const auto& [name, tensor] : result.states) states[name] = tensor;
  return result;
}

/// Textbook optimisers on one vector, as torch.optim states them.
struct Reference {
  ApplyOptimizerOptions o;
  std::vector<double> m, v;
  int t = 0;
  const State* flat = nullptr;  // whose segments are the layers of lamb

  double number(std::optional<double> UpdateNumbers::* member, std::optional<double> given) const {
    return given.value_or((default_numbers(o.optimizer).*member).value_or(0));
  }
  double beta1() const { return number(&UpdateNumbers::beta1, o.beta1); }
  double beta2() const { return number(&UpdateNumbers::beta2, o.beta2); }
  double eps() const { return number(&UpdateNumbers::eps, o.eps); }
  double momentum() const { return number(&UpdateNumbers::momentum, o.momentum); }

  void update(std::vector<double>& p, std::vector<double> g, const std::vector<bool>& decays, double lr) {
    ++t;
    m.resize(p.size());
    v.resize(p.size(), o.initial_accumulator_value);
    double norm = 0;
    for (double x : g) norm += x * x;
    if (o.clip_norm > 0)
      for (double& x : g) x *= std::min(1.0, o.clip_norm / (std::sqrt(norm) + 1e-6));
    for (size_t i = 0; i < p.size(); ++i) {
      const double decay = o.decay_all || decays[i] ? o.weight_decay : 0;
      if (adds_decay_to_gradient()) g[i] += decay * p[i];
      element(p[i], g[i], m[i], v[i], decay, lr);
    }
    if (o.optimizer == Optimizer::lamb)
      for (const Segment& layer : flat->segments) lamb(layer, p, lr);
  }

  bool adds_decay_to_gradient() const {
    return o.optimizer != Optimizer::adamw && o.optimizer != Optimizer::lamb &&
           o.optimizer != Optimizer::lion;
  }

  void lamb(const Segment& layer, std::vector<double>& p, double lr) const {
    double p2 = 0, u2 = 0;
    std::vector<double> u;
    for (auto i = static_cast<size_t>(layer.offset); i < static_cast<size_t>(layer.offset + layer.elements());
         ++i) {
      const double decay = o.decay_all || layer.decay ? o.weight_decay : 0;
      u.push_back(m[i] / (1 - std::pow(beta1(), t)) / (std::sqrt(v[i] / (1 - std::pow(beta2(), t))) + eps()) +
                  decay * p[i]);
      p2 += p[i] * p[i], u2 += u.back() * u.back();
    }
    const double ratio = p2 > 0 && u2 > 0 ? std::sqrt(p2 / u2) : 1;
    for (size_t i = 0; i < u.size(); ++i) p[static_cast<size_t>(layer.offset) + i] -= lr * ratio * u[i];
  }

  void element(double& p, double g, double& m, double& v, double decay, double lr) const {
    switch (o.optimizer) {
      case Optimizer::sgd:
        p -= lr * g;
        break;
      case Optimizer::momentum:
        m = t == 1 ? g : momentum() * m + (1 - o.dampening) * g;
        p -= lr * (o.nesterov ? g + momentum() * m : m);
        break;
      case Optimizer::adagrad:
        v += g * g;
        p -= lr / (1 + (t - 1) * o.learning_rate_decay) * g / (std::sqrt(v) + eps());
        break;
      case Optimizer::adamw:
        p -= lr * decay * p;
        [[fallthrough]];
      case Optimizer::adam:
        m = beta1() * m + (1 - beta1()) * g;
        v = beta2() * v + (1 - beta2()) * g * g;
        p -= lr / (1 - std::pow(beta1(), t)) * m /
             (std::sqrt(v) / std::sqrt(1 - std::pow(beta2(), t)) + eps());
        break;
      case Optimizer::lion: {
        const double direction = beta1() * m + (1 - beta1()) * g;
        p -= lr * decay * p;
        p -= direction > 0 ? lr : direction < 0 ? -lr : 0;
        m = beta2() * m + (1 - beta2()) * g;
        break;
      }
      case Optimizer::lamb:
        m = beta1() * m + (1 - beta1()) * g;
        v = beta2() * v + (1 - beta2()) * g * g;
        break;
      default:  // those of matrices are compared in tests/python/package/test_optimizers.py
        break;
    }
  }
};

struct OptimizerCase {
  std::string name;
  ApplyOptimizerOptions options;
};
void PrintTo(const OptimizerCase& c, std::ostream* out) { *out << c.name; }

ApplyOptimizerOptions with(Optimizer optimizer, double decay, double clip = 0) {
  ApplyOptimizerOptions options;
  options.optimizer = optimizer;
  options.weight_decay = decay;
  options.clip_norm = clip;
  return options;
}

std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> cases = {{"sgd", with(Optimizer::sgd, 0)},
                                      {"sgd_decay_clip", with(Optimizer::sgd, 0.1, 0.5)},
                                      {"momentum", with(Optimizer::momentum, 0.1)},
                                      {"nesterov", with(Optimizer::momentum, 0)},
                                      {"dampened", with(Optimizer::momentum, 0)},
                                      {"adagrad", with(Optimizer::adagrad, 0.1)},
                                      {"adam", with(Optimizer::adam, 0.1)},
                                      {"adamw", with(Optimizer::adamw, 0.1)},
                                      {"adamw_all_clip", with(Optimizer::adamw, 0.1, 0.01)},
                                      {"lion", with(Optimizer::lion, 0.1)},
                                      {"lamb", with(Optimizer::lamb, 0.1)},
                                      {"lamb_clip", with(Optimizer::lamb, 0, 0.01)}};
  cases[3].options.nesterov = true;
  cases[4].options.dampening = 0.4;
  cases[5].options.learning_rate_decay = 0.2;
  cases[5].options.initial_accumulator_value = 0.3;
  cases[8].options.decay_all = true;
  return cases;
}

class Optimizers : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(Optimizers, FollowTheReferenceOverSeveralSteps) {
  const auto module = regression();
  TrainingOptions training{GetParam().options, false, "loss"};
  make_training_entries(*module, training);
  Graph& graph = *module->find_graph("train_step");
  testing::expect_valid(graph);
  const Tensors initial = testing::random_states(*regression(), 3, {});
  Tensors states = initial_states(*module, initial, 0.05);

  // The reference differentiates the same loss separately, parameter by parameter.
  const auto plain = regression();
  differentiate(*plain->find_graph("loss"), {"loss_sum", {}, 1});
  Tensors parameters = initial;
  const State& flat = *module->find_state("parameters");
  Reference reference{GetParam().options, {}, {}, 0, &flat};
  std::vector<bool> decays(states.at("parameters").data.size());
  for (const Segment& s : flat.segments)
    for (int64_t i = 0; i < s.elements(); ++i) decays[static_cast<size_t>(s.offset + i)] = s.decay;

  for (uint64_t t = 0; t < 4; ++t) {
    EvaluateOptions options;
    options.symbols = {{"B", 9}};
    const Tensors inputs = testing::random_inputs(graph, 10 + t, options.symbols);
    Evaluation expected = testing::run(*plain->find_graph("loss"), inputs, parameters, options);
    const double count = expected.outputs.at("token_count").data[0];
    ASSERT_GT(count, 0);
    Tensors gradients;
    double norm = 0;
    for (const Segment& s : flat.segments) {
      gradients[s.name] = expected.outputs.at("grad." + s.name);
      for (double& x : gradients[s.name].data) x /= count, norm += x * x;
    }
    std::vector<double> p = flat_values(flat, parameters);
    reference.update(p, flat_values(flat, gradients), decays, 0.05);
    const Evaluation actual = step(*module, "train_step", inputs, states, 9);
    EXPECT_NEAR(actual.outputs.at("loss").data[0], expected.outputs.at("loss_sum").data[0] / count, 1e-12);
    EXPECT_NEAR(actual.outputs.at("gradient_norm").data[0], std::sqrt(norm), 1e-12);
    EXPECT_EQ(actual.outputs.at("token_count").data[0], count);
    EXPECT_EQ(states.at("step").data[0], static_cast<double>(t + 1));
    EXPECT_LT(relative_error(states.at("parameters"), Tensor{DType::f32, states.at("parameters").shape, p}),
              1e-12);
    for (const Segment& s : flat.segments)
      parameters[s.name].data.assign(p.begin() + s.offset, p.begin() + s.offset + s.elements());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::ValuesIn(optimizer_cases()),
                         [](const auto& p) { return p.param.name; });

TEST(TrainingEntries, AccumulatedBatchesEqualOneLargeBatch) {
  const auto module = regression();
  make_training_entries(*module, {with(Optimizer::adamw, 0.1, 0.5), true, "loss"});
  for (const auto& graph : module->graphs) testing::expect_valid(*graph);
  const Tensors initial = testing::random_states(*regression(), 3, {});
  Tensors once = initial_states(*module, initial, 0.05), pieces = once;
  for (uint64_t round = 0; round < 3; ++round) {
    const Tensors whole = testing::random_inputs(*module->find_graph("loss"), 20 + round, {{"B", 12}});
    const Evaluation large = step(*module, "train_step", whole, once, 12);
    for (size_t part = 0; part < 3; ++part) {
      Tensors inputs = whole;
      for (auto& [name, tensor] : inputs) {
        const size_t size = tensor.data.size() / 3;
        tensor.data = {tensor.data.begin() + part * size, tensor.data.begin() + (part + 1) * size};
        tensor.shape[0] = 4;
      }
      step(*module, "accumulate", inputs, pieces, 4);
    }
    const Evaluation applied = step(*module, "apply", {}, pieces, 1);
    for (const char* output : {"loss", "token_count", "gradient_norm"})
      EXPECT_NEAR(applied.outputs.at(output).data[0], large.outputs.at(output).data[0], 1e-12) << output;
    EXPECT_LT(relative_error(pieces.at("parameters"), once.at("parameters")), 1e-12);
    for (const char* sums : {"gradients", "loss_sum", "token_count"})
      for (double left : pieces.at(sums).data) EXPECT_EQ(left, 0) << sums;
  }
}

/// A batch whose gradients are not finite spoils its own update alone.
TEST(TrainingEntries, ApplyLeavesNothingOfNaNs) {
  const auto module = regression();
  make_training_entries(*module, {with(Optimizer::sgd, 0), true, "loss"});
  Tensors states = initial_states(*module, testing::random_states(*regression(), 3, {}), 0.05);
  for (const char* sums : {"gradients", "loss_sum", "token_count"})
    std::ranges::fill(states.at(sums).data, std::nan(""));
  step(*module, "apply", {}, states, 1);
  for (const char* sums : {"gradients", "loss_sum", "token_count"})
    for (double left : states.at(sums).data) EXPECT_EQ(left, 0) << sums;
}

TEST(TrainingEntries, ATrainStepBetweenLeavesTheSumsAlone) {
  const auto module = regression();
  make_training_entries(*module, {with(Optimizer::sgd, 0), true, "loss"});
  const Tensors inputs = testing::random_inputs(*module->find_graph("loss"), 5, {{"B", 6}});
  Tensors states = initial_states(*module, testing::random_states(*regression(), 3, {}), 0.05);
  step(*module, "accumulate", inputs, states, 6);
  const Tensors before = states;
  step(*module, "train_step", inputs, states, 6);
  EXPECT_NE(states.at("parameters").data, before.at("parameters").data);
  for (const char* sums : {"gradients", "loss_sum", "token_count"})
    EXPECT_EQ(states.at(sums).data, before.at(sums).data) << sums;
}

TEST(TrainingEntries, NoCountedTargetChangesNothing) {
  const auto module = regression();
  make_training_entries(*module, {with(Optimizer::sgd, 0), false, "loss"});
  Tensors inputs = testing::random_inputs(*module->find_graph("loss"), 5, {{"B", 6}});
  inputs["labels"].data.assign(6, 0);
  Tensors states = initial_states(*module, testing::random_states(*regression(), 3, {}), 0.05);
  const Tensors before = states;
  const Evaluation result = step(*module, "train_step", inputs, states, 6);
  EXPECT_EQ(result.outputs.at("loss").data[0], 0);
  EXPECT_EQ(states.at("parameters").data, before.at("parameters").data);
}

TEST(ApplyOptimizer, UpdatesEveryElement) {  // none is left over by a grid that is too small
  const auto module = parse_module(R"(
parameter "w" : f32[5003]
graph @loss() {
  %w = parameter "w" : f32[5003]
  %sum = reduce add %w {axes = [0]} : f32[]
  %one = constant {value = 1.0} : f32[]
  return loss_sum = %sum, token_count = %one
}
)");
  make_training_entries(*module, {with(Optimizer::adam, 0), false, "loss"});
  Tensors states = initial_states(*module, testing::random_states(*module, 3, {}), 0.05);
  const Tensors before = states;
  step(*module, "train_step", {}, states, 1);
  for (size_t i = 0; i < 5003; ++i)
    ASSERT_NEAR(states["parameters"].data[i], before.at("parameters").data[i] - 0.05, 1e-6) << i;
}

TEST(ApplyOptimizer, NeedsAllGradients) {
  const auto module = regression();
  flatten_parameters(*module);
  Graph& graph = *module->find_graph("loss");
  differentiate(graph, {"loss_sum", {"w"}, 1});
  EXPECT_THROW(apply_optimizer(graph, {}), Error);
}

TEST(FlattenParameters, OrdersAlignsAndKeepsGroupsTogether) {
  const auto module = parse_module(R"(
parameter "b1" {decay = false} : f32[3]
parameter "w1" : f32[3,5]
parameter "w2" : f32[1,7]
parameter "b2" {decay = false} : f32[5]
parameter "w3" : f32[33]
)");
  module->adjacent = {{"w1", "w3"}, {"b1", "b2"}};
  EXPECT_TRUE(flatten_parameters(*module));
  EXPECT_FALSE(flatten_parameters(*module));
  const State& flat = *module->find_state("parameters");
  std::map<std::string, int64_t> offsets;
  int64_t end = 0;
  for (const Segment& segment : flat.segments) {
    offsets[segment.name] = segment.offset;
    EXPECT_GE(segment.offset, end);
    end = segment.offset + segment.elements();
  }
  EXPECT_EQ(offsets,
            (std::map<std::string, int64_t>{{"w1", 0}, {"w3", 15}, {"w2", 48}, {"b1", 64}, {"b2", 67}}));
  EXPECT_EQ(flat.shape[0], Dim(80));
  EXPECT_EQ(decay_boundary(flat), 55);
  EXPECT_EQ(flat.role, Role::parameter);
}

}  // namespace
}  // namespace smelt
