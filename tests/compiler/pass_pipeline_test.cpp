// The pass pipeline as a value: what is printed is what runs, and can be read again.
#include "compiler/driver/pass_pipeline.h"

#include <set>

#include "tests/compiler/cli.h"

namespace smelt {
namespace {

CompileOptions options_for(const std::string& target, DType storage, Mode mode,
                           const std::string& mesh = "") {
  CompileOptions options;
  options.target = target, options.storage = storage, options.mode = mode;
  if (!mesh.empty()) options.mesh = parse_mesh(mesh);
  return options;
}

std::vector<PassPipeline> pipelines() {
  std::vector<PassPipeline> all;
  for (const char* target : {"cpu", "sm_80", "sm_90"})
    for (const DType storage : {DType::f32, DType::bf16, DType::f16})
      for (const Mode mode : {Mode::train, Mode::infer})
        for (const char* mesh : {"", "data=2,model=2", "stage=2"}) {
          const CompileOptions options = options_for(target, storage, mode, mesh);
          const ModuleFacts facts{.trains = mode == Mode::train, .mesh = options.mesh};
          all.push_back(pass_pipeline(facts, options, parse_target(target)));
        }
  return all;
}

TEST(PassPipeline, CallsAreReadAsTheyAreWritten) {
  for (const PassPipeline& pipeline : pipelines())
    for (const PipelinePhase& phase : pipeline)
      for (const PassCall& call : phase.calls) {
        const std::vector<PassCall> read = all_passes().parse(call.str());
        ASSERT_EQ(read.size(), 1u);
        EXPECT_EQ(read[0].str(), call.str());
        EXPECT_EQ(unit_of(read[0].body), unit_of(call.body)) << call.str();
      }
}

/// Units come in order: none of a program before the lowering, none of a module after it.
TEST(PassPipeline, LowersOnce) {
  for (const PassPipeline& pipeline : pipelines()) {
    int lowered = 0;
    for (const PipelinePhase& phase : pipeline)
      for (const PassCall& call : phase.calls) {
        const PassUnit unit = unit_of(call.body);
        EXPECT_EQ(unit > PassUnit::lowering, lowered == 1 && unit != PassUnit::lowering) << call.str();
        lowered += unit == PassUnit::lowering;
      }
    EXPECT_EQ(lowered, 1);
  }
}

TEST(PassPipeline, NamesAreThoseOfOnePassEach) {
  std::set<std::string_view> names;
  for (const Pass& pass : all_passes().all()) EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
}

TEST(PassPipeline, TellsTheNewNameOfAPass) {
  try {
    all_passes().find("raise_attention");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "pass raise_attention is now match_attention");
  }
}

class OptionalPasses : public ::testing::TestWithParam<const char*> {};

/// A limit of no changes leaves all optional passes out, of every unit.
TEST_P(OptionalPasses, MayBeLeftOut) {
  CompileOptions options = options_for(GetParam(), DType::f32, Mode::train);
  options.passes.bisect_limit = 0;
  options.passes.verify_each = true;
  const Description description = read_description(test::kGolden.string());
  EXPECT_FALSE(compile(description, options).plan.entries.empty());
  options.passes.bisect_limit = -1;
  for (const Pass& pass : all_passes().all())
    if (!pass.required) options.passes.disabled.emplace_back(pass.name);
  EXPECT_FALSE(compile(description, options).plan.entries.empty());
  options.passes.disabled = {"plan_memory"};
  EXPECT_THROW(compile(description, options), Error);
}

INSTANTIATE_TEST_SUITE_P(Targets, OptionalPasses, ::testing::Values("cpu", "sm_90"));

using PipelineCommand = test::CommandLine;

/// docs/architecture.md quotes what the command prints, indented by four.
TEST_F(PipelineCommand, PrintsWhatTheArchitecturePageQuotes) {
  const std::string source = SMELT_SOURCE_DIR, page = test::slurp(source + "/docs/architecture.md");
  const std::string prompt = "    $ smelt ", flag = "--print-pipeline\n";
  const size_t begin = page.rfind(prompt, page.find(flag)), end = page.find(flag) + flag.size();
  ASSERT_NE(begin, std::string::npos);
  const std::string arguments = page.substr(begin + prompt.size(), end - 1 - begin - prompt.size());
  const test::Outcome outcome = shell("cd '" + source + "' && " + binary() + " " + arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string printed;
  for (std::string text; std::getline(lines, text);) printed += "    " + text + "\n";
  EXPECT_EQ(page.substr(end, printed.size() + 1), printed + "\n") << "the output is\n" << printed;
}

TEST_F(PipelineCommand, OptRunsPassesOverAProgram) {
  const test::Outcome dumped =
      smelt("dump $GOLDEN --mode=infer --max B=2,T=16 --target=sm_90 --emit=program -o program.ir");
  ASSERT_EQ(dumped.status, 0) << dumped.err;
  const test::Outcome ordered = smelt("opt program.ir --pipeline=order_steps,plan_memory --timing");
  EXPECT_EQ(ordered.status, 0) << ordered.err;
  EXPECT_NE(ordered.out.find("entry @logits"), std::string::npos) << ordered.out;
  EXPECT_NE(ordered.err.find("plan_memory"), std::string::npos) << ordered.err;
  const test::Outcome refused = smelt("opt program.ir --pipeline=simplify");
  EXPECT_NE(refused.err.find("pass simplify works on a graph, not on one program"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace smelt
