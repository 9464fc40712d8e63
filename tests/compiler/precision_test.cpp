// Narrow storage from end to end on the CPU: random graphs against the evaluator in rounding mode, what a
// training step launches, copies of masters, overflow, and runs that are stopped and resumed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "compiler/driver/summary.h"
#include "ir/evaluate/rounding.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/graph/autodiff/differentiate.h"
#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::relative_error;

// ---- random graphs

/// The fused graph as the plan runs it, in float64 with all its roundings, against the CPU. A number next to
/// the middle between two narrow ones falls either way and takes others with it: as far as the evaluator in
/// float32 is from itself in float64, the CPU may be too.
void expect_narrow_matches(std::unique_ptr<Module> module, DType storage, uint64_t seed) {
  const SymbolValues sizes = testing::random_sizes(seed);
  Tensors inputs = testing::random_inputs(*module->graphs.front(), seed, sizes);
  const auto primitive = module->clone();
  decompose(*primitive->graphs.front(), {});
  Tensors states = testing::random_states(*primitive->graphs.front(), seed, sizes);
  testing::round_to_type(inputs);
  for (auto& [name, tensor] : states)
    for (double& x : tensor.data)
      if (is_float(tensor.dtype)) x = round_to(storage, x);
  CompileOptions options;
  options.mode = Mode::infer;
  options.storage = storage, options.masters = false;
  if (storage == DType::f16) options.masters = true;
  Compilation compiled = compile(module->clone(), options);
  EvaluateOptions evaluation{
      .symbols = sizes, .philox = {.seed = 7, .step = 3, .micro_step = 0}, .round = true};
  const Graph& graph = *compiled.fused->graphs.front();
  for (auto& [name, guard] : testing::random_states(graph, seed, sizes))  // of indices: nothing is told yet
    if (!states.contains(name))
      states[name] = {guard.dtype, guard.shape, std::vector<double>(guard.data.size())};
  const Tensors expected = evaluate(graph, inputs, states, evaluation).outputs;
  evaluation.single = true;
  const Tensors single = evaluate(graph, inputs, states, evaluation).outputs;
  Session session = testing::cpu_session(std::move(compiled.plan));
  testing::write_states(session, states);
  const Tensors actual =
      testing::run_entry(session, session.plan().entries.front().name, evaluation.philox, inputs);
  const double least = storage == DType::bf16 ? 8e-3 : 1.2e-3;
  for (const auto& [name, reference] : expected) {
    EXPECT_EQ(actual.at(name).dtype, reference.dtype) << "outputs keep their types";
    const double bound = std::max(least, 8 * relative_error(single.at(name), reference));
    EXPECT_LE(relative_error(actual.at(name), reference), bound) << name << "\n" << print(*module);
  }
}

class NarrowGraphs : public ::testing::TestWithParam<uint64_t> {};

TEST_P(NarrowGraphs, RunAsTheEvaluatorRounds) {
  for (DType storage : {DType::bf16, DType::f16})
    expect_narrow_matches(testing::random_module(GetParam(), {.integers = GetParam() % 2 == 0}), storage,
                          GetParam() + 1);
}

TEST_P(NarrowGraphs, GradientsToo) {
  auto module = testing::random_module(GetParam() + 2000, {.nodes = 8, .scalar = true});
  differentiate(*module->graphs.front(), {.output = "loss", .wrt = {"x"}, .seed = 1});
  expect_narrow_matches(std::move(module), DType::bf16, GetParam() + 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NarrowGraphs, ::testing::Range<uint64_t>(0, 16));

TEST(StochasticRounding, IsTheEvaluatorsBitByBitAndUnbiased) {
  const auto module = parse_module(R"(symbols N <= 777
random_ids 1
graph @main(%x: f32[N]) {
  %r = random {id = 0} : i32[N]
  %y = convert %x, %r : bf16[N]
  %w = convert %y : f32[N]
  return y = %w
})");
  Tensors inputs{{"x", {DType::f32, {777}, {}}}};
  for (int i = 0; i < 777; ++i) inputs["x"].data.push_back(static_cast<float>(1 + std::sin(i) * 1e-3));
  EvaluateOptions options{
      .symbols = {{"N", 777}}, .philox = {.seed = 7, .step = 3, .micro_step = 0}, .round = true};
  const Tensors expected = evaluate(*module->graphs.front(), inputs, {}, options).outputs;
  const Tensors actual =
      testing::run_on_cpu(*module, {.symbols = options.symbols, .philox = options.philox}, inputs, {});
  EXPECT_EQ(actual.at("y").data, expected.at("y").data);
  double sum = 0, exact = 0;
  for (size_t i = 0; i < 777; ++i) {
    const double x = inputs["x"].data[i], y = actual.at("y").data[i];
    EXPECT_LE(std::fabs(y - x), 0x1p-7) << x;
    sum += y, exact += x;
  }
  EXPECT_NEAR(sum / 777, exact / 777, 6e-4);  // steps of 2^-7 and 2^-8: to the nearest all would be 1
}

// ---- training

constexpr const char* kSpec = R"({"family": "gpt2", "vocab_size": 41, "hidden": 32, "max_positions": 32,
  "decoder": {"layers": 2, "heads": 4}})";

Compilation compile_training(DType storage, bool masters, bool accumulation = false,
                             Optimizer optimizer = Optimizer::adamw) {
  CompileOptions options;
  options.storage = storage, options.masters = masters;
  options.build.dropout = 0.1;
  options.training.accumulation = accumulation;
  options.training.optimizer.optimizer = optimizer;
  options.training.optimizer.weight_decay = 0.1;
  options.training.optimizer.clip_norm = 1;
  options.build.bounds = {{{"B"}, 4}, {{"T"}, 16}};
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(kSpec), nullptr,
                                Json::object(),          {}};
  return compile(description, options);
}

struct Training {
  std::shared_ptr<const Plan> plan;
  Session session;
  explicit Training(Compilation compiled)
      : plan(std::make_shared<const Plan>(std::move(compiled.plan))),
        session(plan, {.threads = 1, .seed = 5}) {
    session.initialize(5);
  }
  std::map<std::string, float> run(const char* entry, int64_t step) {
    std::vector<int32_t> ids(4 * 16);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7 % 41);
    session.set_random(5, step);
    session.scalar("learning_rate") = 0.01f;
    std::vector<InputTensor> inputs;
    for (const Port& port : session.entry(entry).inputs)
      inputs.push_back({port.name, DType::i32, {4, 16}, ids.data()});
    std::map<std::string, float> scalars;
    for (const HostTensor& t : session.run(entry, inputs))
      if (t.bytes.size() == sizeof(float)) scalars[t.name] = t.as<float>()[0];
    return scalars;
  }
  std::vector<std::byte> bytes(const std::string& name) const {
    const auto memory = session.state(name);
    return {memory.begin(), memory.end()};
  }
  std::map<std::string, std::vector<std::byte>> states() const {
    std::map<std::string, std::vector<std::byte>> all;
    for (const State& state : plan->states)
      if (state.role != Role::gradient) all[state.name] = bytes(state.name);
    return all;
  }
};

struct TrainingCase {
  const char* name;
  DType storage;
  bool masters, accumulation;
  Optimizer optimizer = Optimizer::adamw;
};
constexpr TrainingCase kTrainingCases[] = {
    {"fp32", DType::f32, true, false},
    {"bf16", DType::bf16, true, false},
    {"bf16_accumulated", DType::bf16, true, true},
    {"bf16_no_masters", DType::bf16, false, false},
    {"bf16_no_masters_accumulated", DType::bf16, false, true},
    {"fp16", DType::f16, true, false},
    {"fp16_accumulated", DType::f16, true, true},
    {"fp16_lamb", DType::f16, true, false, Optimizer::lamb},
    {"bf16_lamb_no_masters", DType::bf16, false, false, Optimizer::lamb},
};

class NarrowTraining : public ::testing::TestWithParam<TrainingCase> {
 protected:
  static Compilation compiled() {
    return compile_training(GetParam().storage, GetParam().masters, GetParam().accumulation,
                            GetParam().optimizer);
  }
  static double update(Training& training, int64_t step) {
    if (!GetParam().accumulation) return training.run("train_step", step).at("loss");
    for (int i = 0; i < 2; ++i) training.run("accumulate", step);
    return training.run("apply", step).at("loss");
  }
};

TEST_P(NarrowTraining, LearnsAndResumesToTheSameBits) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("smelt-precision-{}-{}.safetensors", GetParam().name, ::getpid());
  Training whole(compiled());
  const double first = update(whole, 0);
  for (int64_t step = 1; step < 6; ++step) update(whole, step);
  write_checkpoint(path, whole.session, {6, "{}", {}});
  double last = 0;
  for (int64_t step = 6; step < 12; ++step) last = update(whole, step);
  EXPECT_LT(last, (GetParam().optimizer == Optimizer::lamb ? 0.97 : 0.9) * first);

  Training rest(compiled());
  read_checkpoint(path, rest.session);
  for (int64_t step = 6; step < 12; ++step) update(rest, step);
  EXPECT_EQ(rest.states(), whole.states());
  std::filesystem::remove(path);
}

/// Losses of the first steps are those of fp32 but for rounding.
TEST_P(NarrowTraining, FollowsSinglePrecision) {
  Training narrow(compiled()),
      wide(compile_training(DType::f32, true, GetParam().accumulation, GetParam().optimizer));
  for (int64_t step = 0; step < 5; ++step) {
    const double reference = update(wide, step);
    EXPECT_NEAR(update(narrow, step), reference, 0.03 * reference) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowTraining, ::testing::ValuesIn(kTrainingCases),
                         [](const auto& info) { return std::string(info.param.name); });

bool is_copy_rounded(Training& training) {
  const auto masters = training.session.state_f32("parameters");
  std::vector<uint16_t> expected(masters.size());
  narrow(masters.data(), expected.data(), DType::bf16, static_cast<int64_t>(masters.size()));
  const auto bytes = std::as_bytes(std::span(expected));
  return training.bytes("parameters.bf16") == std::vector<std::byte>(bytes.begin(), bytes.end());
}

TEST(ParameterCopy, IsTheRoundedMasterAfterEveryStepAndEveryWrite) {
  Training training(compile_training(DType::bf16, true));
  for (int64_t step = 0; step < 3; ++step) {
    training.run("train_step", step);
    EXPECT_TRUE(is_copy_rounded(training)) << step;
  }
  const float before = training.run("evaluate", 3).at("loss_sum");
  const std::string name = training.plan->find_state("parameters")->segments[0].name;
  std::vector<float> values = training.session.read_segment("parameters", name);
  for (float& x : values) x = -2 * x;
  training.session.write_segment("parameters", name, values);
  EXPECT_NE(training.run("evaluate", 3).at("loss_sum"), before);
  EXPECT_TRUE(is_copy_rounded(training));
}

TEST(LossScale, AnOverflowChangesNothingButTheScale) {
  Training training(compile_training(DType::f16, true));
  EXPECT_EQ(training.session.scalar("loss_scale"), 65536);
  training.run("train_step", 0);
  auto before = training.states();
  training.session.scalar("loss_scale") = 0x1p24f;
  const auto outputs = training.run("train_step", 1);
  EXPECT_FALSE(std::isfinite(outputs.at("gradient_norm")));
  EXPECT_TRUE(std::isfinite(outputs.at("loss")));
  EXPECT_EQ(outputs.at("loss_scale"), 0x1p24f);
  EXPECT_EQ(outputs.at("skipped_steps"), 1);
  EXPECT_EQ(training.session.scalar("loss_scale"), 0x1p23f);
  EXPECT_EQ(training.session.scalar("good_steps"), 0);
  auto after = training.states();
  for (const char* name : {"loss_scale", "good_steps", "skipped_steps"})
    before.erase(name), after.erase(name);
  EXPECT_EQ(after, before);
  for (int64_t step = 2; step < 14; ++step) training.run("train_step", step);
  EXPECT_TRUE(std::isfinite(training.run("train_step", 14).at("gradient_norm"))) << "it finds its scale";
}

// ---- launches

struct Launches {
  int64_t all = 0, sweeps = 0;
};

/// `sweeps`: launches of the update that move anything of the flat state's size.
Launches launches(DType storage, bool masters, Optimizer optimizer = Optimizer::adamw) {
  const Compilation compiled = compile_training(storage, masters, false, optimizer);
  const PlanEntry& entry =
      *llvm::find_if(compiled.program.entries, [](const PlanEntry& e) { return e.name == "train_step"; });
  const int64_t flat =
      *llvm::find_if(compiled.program.states, [](const State& s) { return s.name == "parameters"; })
           ->shape[0]
           .constant();
  Launches count{static_cast<int64_t>(entry.steps.size()), 0};
  for (const Step& step : entry.steps)
    count.sweeps += step.phase == "update" && step_bytes(compiled.program, step) >= flat * 2;
  return count;
}

TEST(NarrowLaunches, AreThoseOfSinglePrecision) {
  const Launches wide = launches(DType::f32, true);
  for (DType storage : {DType::bf16, DType::f16}) {
    const Launches narrow = launches(storage, true);
    EXPECT_LE(narrow.all, wide.all + (storage == DType::f16 ? 4 : 0))
        << name(storage);  // scalars of the scale
    EXPECT_EQ(narrow.sweeps, wide.sweeps) << name(storage);
  }
  EXPECT_EQ(wide.sweeps, 2) << "the norm, the update";
  EXPECT_EQ(launches(DType::bf16, false).sweeps, 2);
  EXPECT_LE(launches(DType::bf16, true, Optimizer::lamb).sweeps, 4);
}

TEST(Masters, AreNeededForF16) {
  EXPECT_THROW(compile_training(DType::f16, false), Error);
  EXPECT_THROW(compile_training(DType::f32, false), Error);
}

}  // namespace
}  // namespace smelt
