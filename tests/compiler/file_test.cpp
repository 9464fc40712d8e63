// The file tests (tests/support/file_test.h) that need code generation: tests/compiler/**/*.ir, and the lines
// EXEC-CPU of all others. What a pipeline left is fused and placed where it has not been, compiled for the
// CPU, and run over an arena full of NaNs; outputs and states are those of the evaluator.
#include "tests/support/file_test.h"

#include "codegen/make_plan.h"
#include "compiler/driver/pass_pipeline.h"
#include "passes/all_passes.h"
#include "tests/compiler/cpu_against_evaluator.h"

namespace smelt {
namespace {

using testing::Exec;

/// The stages that remain after a pipeline, up to a plan.
Plan finish(Module& module, llvm::ArrayRef<PassCall> calls) {
  std::vector<PassCall> rest;
  if (!testing::runs(calls, "fuse")) rest = {pass::decompose(), pass::fuse()};
  if (!testing::runs(calls, "assign_layout")) {
    if (!module.parameters.empty() && !module.find_state("parameters"))
      rest.push_back(pass::flatten_parameters());
    rest.push_back(pass::assign_layout());
  }
  for (PassCall& call : program_passes({}, {})) rest.push_back(std::move(call));
  Program program;
  testing::verifying_manager(all_passes()).run(rest, module, program);
  return make_plan(program);
}

/// Within 1e-6 of float64 (4e-3 past a rounding to 16 bits), or 4 times the evaluator's own error in float32.
void expect_close(const Tensors& actual, const Tensors& expected, const Tensors& single, double least) {
  for (const auto& [name, reference] : expected) {
    ASSERT_TRUE(actual.count(name)) << name << " is gone";
    const double bound = std::max(least, 4 * testing::relative_error(single.at(name), reference));
    EXPECT_LE(testing::relative_error(actual.at(name), reference), bound) << name;
  }
}

Tensors states_of(Session& session, const Tensors& like) {
  Tensors states;
  for (const auto& [name, tensor] : like) {
    const std::span<std::byte> bytes = session.state(name);
    states[name] = testing::to_tensor({name, tensor.dtype, tensor.shape, {bytes.begin(), bytes.end()}});
  }
  return states;
}

/// What lies between the segments of a flat state is zero from the start and stays so.
void clear_padding(const Module& module, Tensors& states) {
  for (const State& state : module.states) {
    const auto it = states.find(state.name);
    if (it == states.end() || state.segments.empty()) continue;
    std::vector<double> cleared(it->second.data.size());
    for (const Segment& segment : state.segments)
      std::copy_n(it->second.data.begin() + segment.offset, segment.elements(),
                  cleared.begin() + segment.offset);
    it->second.data = std::move(cleared);
  }
}

void expect_graph_on_cpu(const Graph& graph, const Graph& written, const Plan& plan, const Exec& exec) {
  Tensors inputs = testing::random_inputs(written, exec.seed, exec.options.symbols);
  Tensors states = testing::random_states(graph, exec.seed, exec.options.symbols);
  clear_padding(graph.module(), states);
  testing::round_to_type(inputs);
  testing::round_to_type(states);
  EvaluateOptions evaluation = exec.options;
  evaluation.round = true;
  const Evaluation expected = testing::run(graph, inputs, states, evaluation);
  evaluation.single = true;
  const Evaluation single = testing::run(graph, inputs, states, evaluation);
  Session session = testing::cpu_session(plan);
  testing::write_states(session, states);
  const Tensors outputs = testing::run_entry(session, graph.name, evaluation.philox, inputs);
  const double least = testing::rounds_to_half(graph) ? 4e-3 : 1e-6;
  expect_close(outputs, expected.outputs, single.outputs, least);
  expect_close(states_of(session, expected.states), expected.states, single.states, least);
}

void run_part_on_cpu(const std::filesystem::path& path, const std::string& text) {
  const auto execs = testing::directives(text, "EXEC-CPU");
  if (execs.empty()) return;
  std::vector<PassCall> calls = testing::calls_of(text, all_passes());
  llvm::erase_if(calls, [](const PassCall& call) { return unit_of(call.body) >= PassUnit::lowering; });
  const auto before = parse_module(text, path.string());
  const auto after = before->clone();
  testing::run_passes(calls, *after);
  const Plan plan = finish(*after->clone(), calls);
  for (const std::string& line : execs) {
    SCOPED_TRACE("EXEC-CPU: " + line);
    const Exec exec = testing::parse_exec(line);
    testing::expect_same_results(*before, *after, exec);
    for (const auto& graph : after->graphs) {
      const Graph* written = before->find_graph(graph->name);  // knows best what integers index
      expect_graph_on_cpu(*graph, written ? *written : *graph, plan, exec);
    }
  }
}

class ProgramFileTests : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ProgramFileTests, Pass) { testing::run_file(GetParam(), all_passes()); }

INSTANTIATE_TEST_SUITE_P(All, ProgramFileTests, ::testing::ValuesIn(testing::files_with("RUN", "compiler")),
                         [](const auto& p) { return testing::test_name(p.param); });

class CpuFileTests : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(CpuFileTests, Agree) {
  for (const std::string& part : testing::parts_of(testing::read_file(GetParam()))) {
    SCOPED_TRACE(GetParam().string() + "\n" + part);
    ASSERT_NO_THROW(run_part_on_cpu(GetParam(), part));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuFileTests, ::testing::ValuesIn(testing::files_with("EXEC-CPU")),
                         [](const auto& p) { return testing::test_name(p.param); });

}  // namespace
}  // namespace smelt
