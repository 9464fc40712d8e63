// Plans of golden models whose kernels are HIP text, run on the host: a step of training and a step of
// decoding with sampling, against the same plans with CUDA text and against float64. And the code of all
// kernels of golden models for GPUs of AMD.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "frontend/description.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/training_entries.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/hip/compile_hip.h"
#include "tests/support/hip/hip_on_host.h"

namespace smelt {
namespace {

std::filesystem::path hip_golden(const std::string& model) {
  return std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / model;
}

/// Options of a GPU without what only those of NVIDIA have: attention and matmuls are steps of a library, and
/// launches do not overlap.
CompileOptions hip_options() {
  CompileOptions options;
  options.target = "sm_80";
  options.attention = AttentionForm::unfused;
  options.gemm_epilogues = GemmEpilogues::off;
  options.passes.disabled = {"fuse_small_m", "offer_gemm_epilogues", "mark_dependent_launches"};
  return options;
}

/// One entry of a module, and what it reads.
struct HipStep {
  std::unique_ptr<Module> module;
  SymbolValues symbols;
  Tensors inputs, states;
  Philox philox{.seed = 7, .step = 3, .micro_step = 0};

  const Graph& graph() const { return *module->graphs.front(); }
};

void keep_graph(Module& module, const std::string& name) {
  std::erase_if(module.graphs, [&](const auto& graph) { return graph->name != name; });
}

HipStep training_step(const std::string& model) {
  BuildOptions build;
  build.training = true, build.dropout = 0.2;
  HipStep step{.module = read_description(hip_golden(model)).build(build),
               .symbols = {{"B", 3}, {"T", 11}, {"S", 7}},
               .inputs = {},
               .states = {}};
  keep_graph(*step.module, "loss");
  decompose(*step.module->graphs.front(), {});
  flatten_parameters(*step.module, {});
  make_training_entries(*step.module, {});
  keep_graph(*step.module, "train_step");
  step.inputs = testing::random_inputs(step.graph(), 5, step.symbols);
  step.states = testing::random_states(*step.module, 6, step.symbols);
  return step;
}

void fill(Tensor& tensor, std::initializer_list<double> row) {
  for (size_t i = 0; i < tensor.data.size(); ++i) tensor.data[i] = row.begin()[i % row.size()];
}

/// Rows that hold tokens already. Their next tokens are drawn from the 9 best at a temperature of 0.8.
HipStep decoding_step(const std::string& model) {
  BuildOptions build;
  build.training = false, build.caches = build.has_sampler = true;
  HipStep step{.module = read_description(hip_golden(model)).build(build),
               .symbols = {{"B", 4}},
               .inputs = {},
               .states = {}};
  keep_graph(*step.module, "next");
  step.inputs = testing::random_inputs(step.graph(), 5, step.symbols);
  step.states = testing::random_states(*step.module, 6, step.symbols);
  fill(step.inputs.at("numbers"), {0.8, 0.95, 0});
  fill(step.inputs.at("integers"), {9, 11, 0, 0});
  fill(step.inputs.at("penalty"), {1.2});
  for (const char* none : {"held_back", "held_back_until", "forced", "forced_at"})
    fill(step.inputs.at(none), {-1});
  for (double& penalty : step.states.at("next.penalty").data) penalty = std::max(penalty, 0.0);
  return step;
}

Evaluation run_on_host(const HipStep& step, test::HostText text) {
  CompileOptions options = hip_options();
  options.mode = Mode::infer;  // the module's own graphs
  const Program program = compile(step.module->clone(), options, Stage::program).program;
  EXPECT_GT(program.kernels.size(), 5U);
  Session session = testing::cpu_session(test::plan_on_host(program, text));
  testing::write_states(session, step.states);
  Evaluation result;
  result.outputs = testing::run_entry(session, step.graph().name, step.philox, step.inputs);
  for (const State& state : session.plan().states)
    result.states[state.name] = testing::state_of(session, state.name);
  return result;
}

Evaluation evaluated(const HipStep& step) {
  const std::unique_ptr<Module> primitive = step.module->clone();
  decompose(*primitive->graphs.front(), {});
  return evaluate(*primitive->graphs.front(), step.inputs, step.states,
                  {.symbols = step.symbols, .philox = step.philox});
}

/// HIP and CUDA text compute the same bits on the host. `bound`: of the relative errors of tensors against
/// float64.
void expect_same_numbers(HipStep step, double bound) {
  testing::round_to_type(step.inputs), testing::round_to_type(step.states);
  const Evaluation hip = run_on_host(step, test::hip_host_text), cuda = run_on_host(step, test::host_text);
  const Evaluation expected = evaluated(step);
  int compared = 0;
  for (const auto tensors : {&Evaluation::outputs, &Evaluation::states})
    for (const auto& [name, tensor] : expected.*tensors) {
      const Tensor& found = (hip.*tensors).at(name);
      EXPECT_EQ(testing::relative_error(found, (cuda.*tensors).at(name)), 0) << name;
      EXPECT_LE(testing::relative_error(found, tensor), is_float(tensor.dtype) ? bound : 0) << name;
      ++compared;
    }
  EXPECT_GT(compared, 2);
}

class HipTraining : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, HipTraining, ::testing::Values("gpt2", "t5-gated"));

TEST_P(HipTraining, AStepIsTheSame) { expect_same_numbers(training_step(GetParam()), 5e-5); }

class HipDecoding : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, HipDecoding, ::testing::Values("gpt2", "llama-llama3"));

TEST_P(HipDecoding, AStepWithSamplingIsTheSame) { expect_same_numbers(decoding_step(GetParam()), 2e-6); }

// ---- code

struct HipPlan {
  const char* model;
  Mode mode;
  DType storage;
  const char* gpu;  // each plan for one, since compilation takes long
};

class HipPlans : public ::testing::TestWithParam<HipPlan> {};

TEST_P(HipPlans, HaveCodeForGpus) {
  if (*SMELT_HIP_COMPILER == '\0') GTEST_SKIP() << "there is no Clang for amdgcn";
  CompileOptions options = hip_options();
  options.mode = GetParam().mode, options.storage = GetParam().storage;
  const Program program =
      compile(read_description(hip_golden(GetParam().model)), options, Stage::program).program;
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : program.kernels) kernels.push_back(&kernel);
  ASSERT_GT(kernels.size(), 5U);
  const std::string text = test::hip_unit(kernels);
  const std::string code = test::compile_hip(SMELT_HIP_COMPILER, text, GetParam().gpu);
  for (const Kernel* kernel : kernels)
    EXPECT_NE(code.find("\n" + kernel->name + ":"), std::string::npos)
        << kernel->name << " on " << GetParam().gpu;
}

INSTANTIATE_TEST_SUITE_P(Models, HipPlans,
                         ::testing::Values(HipPlan{"gpt2", Mode::train, DType::f32, "gfx90a"},
                                           HipPlan{"bert-multi", Mode::train, DType::bf16, "gfx942"},
                                           HipPlan{"t5-gated", Mode::train, DType::f16, "gfx1100"},
                                           HipPlan{"llama-llama3", Mode::infer, DType::bf16, "gfx90a"}));

}  // namespace
}  // namespace smelt
