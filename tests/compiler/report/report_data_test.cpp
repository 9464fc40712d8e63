// What a report shows: every number of a step, buffer, kernel and text leads somewhere, and nothing is left
// out.
#include "compiler/report/report_data.h"

#include <gtest/gtest.h>

#include "codegen/make_plan.h"
#include "compiler/report/node_links.h"
#include "compiler/report/report_page.h"
#include "ir/analysis/reading_order.h"
#include "runtime/base/error.h"
#include "tests/compiler/report/reported_models.h"

namespace smelt {
namespace {

Json data_of(const ReportedPlan& plan) { return report_data(plan, {.command = "smelt report", .times = {}}); }

TEST(ReportData, StepsHaveTheirBytesTimesAndBuffers) {
  const ReportedPlan plan = testing::gpt2({"train_step"});
  const Json data = data_of(plan), entry = data["entries"][0];
  ASSERT_EQ(entry["steps"].size(), plan.program.entries[0].steps.size());
  std::set<int> buffers;
  for (const Json& buffer : entry["buffers"]) buffers.insert(buffer["id"].get<int>());
  for (const Json& step : entry["steps"]) {
    EXPECT_GT(step["estimated"].get<double>(), 0);
    EXPECT_GE(step["bytes"].get<int64_t>(), 0);
    EXPECT_FALSE(step.contains("measured"));
    EXPECT_LT(step["layer"].get<size_t>(), data["texts"].size());
    EXPECT_LT(step["kernel"].get<int>(), static_cast<int>(data["kernels"].size()));
    for (const char* uses : {"reads", "writes"})
      for (const Json& buffer : step[uses]) EXPECT_TRUE(buffers.contains(buffer.get<int>()));
  }
  EXPECT_EQ(entry["memory"]["used"].size(), entry["steps"].size());
}

TEST(ReportData, AllRefusalsHaveBytesAndAReason) {
  const ReportedPlan plan = testing::gpt2({"train_step"});
  const Json data = data_of(plan), entry = data["entries"][0];
  ASSERT_EQ(entry["borders"].size(), plan.fusions.borders.size());
  ASSERT_EQ(entry["kernels"].size(), plan.fusions.kernels.size());
  for (const Json& border : entry["borders"]) {
    EXPECT_GT(border["bytes"].get<int64_t>(), 0) << border;
    EXPECT_NE(border["reason"], "fused");
    EXPECT_LE(border["from"].get<size_t>(), entry["kernels"].size());
    EXPECT_LE(border["into"].get<size_t>(), entry["kernels"].size());
  }
}

/// All steps that kernels and the library run come from a node, and the nodes have the steps' sources.
TEST(ReportData, NodesLeadToTheirStepsAndKernelsToTheirNodes) {
  const ReportedPlan plan = testing::gpt2({"train_step"});
  const PlanEntry& entry = plan.program.entries[0];
  const std::vector<NodeSteps> links = link_steps(*plan.fused->graphs[0], entry);
  std::set<int> reached;
  for (const NodeSteps& link : links) {
    EXPECT_FALSE(link.steps.empty()) << link.node->describe();
    int gemms = 0;
    for (const int number : link.steps) {
      const Step& step = entry.steps[static_cast<size_t>(number)];
      EXPECT_EQ(step.phase, name(link.node->phase));
      gemms += std::holds_alternative<GemmStep>(step.what) ? 1 : 0;
      EXPECT_TRUE(reached.insert(number).second) << number << " " << link.node->describe();
    }
    EXPECT_EQ(gemms, link.node->is(Op::matmul) ? 1 : 0) << link.node->describe();
  }
  for (size_t i = 0; i < entry.steps.size(); ++i)
    EXPECT_TRUE(!std::holds_alternative<GemmStep>(entry.steps[i].what) ||
                reached.contains(static_cast<int>(i)))
        << i;
  const std::vector<int> kernels = link_kernels(plan.fusions, links, entry.name);
  ASSERT_EQ(kernels.size(), plan.fusions.kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i] >= 0) {
      EXPECT_EQ(links[static_cast<size_t>(kernels[i])].node->source, plan.fusions.kernels[i].source);
    }
  EXPECT_GT(std::ranges::count_if(kernels, [](int place) { return place >= 0; }),
            static_cast<std::ptrdiff_t>(kernels.size() * 9 / 10));
}

TEST(ReportData, BodiesAreWrittenWithNumbersOfTheirOwn) {
  const ReportedPlan plan = testing::of_text(R"(
symbols N <= 10
graph @g(%x: f32[N,4], %y: f32[N,4]) {
  %0 = mul %x, %y "a"
  %1 = reduce add %0 "a" {axes = [1]}
  return sum = %1
})");
  std::string text;
  for (const auto& node : plan.fused->graphs[0]->nodes())
    if (node->body) text = body_text(*node->body);
  EXPECT_EQ(text,
            "%a0 = input : f32[N,4]\n%a1 = input : f32[N,4]\n%0 = mul %a0, %a1 : f32[N,4]\n"
            "%1 = reduce add %0 {axes = [1]} : f32[N]\nreturn %1");
}

/// How many instructions that compute something come from an operation, and how many of those have its name.
/// Reductions are spelled out in others.
std::pair<int, int> count_origins(const Kernel& kernel, const Graph& body) {
  const llvm::SmallVector<const Node*> nodes = reading_order(body);
  int known = 0, same = 0;
  for (const Instruction& instruction : kernel.instructions) {
    const int place = instruction.origin.node;
    if (instruction.kind != Instruction::Kind::scalar || place < 0) continue;
    EXPECT_LT(place, std::ssize(nodes)) << kernel.name;
    const Node& from = *nodes[static_cast<size_t>(place)];
    ++known;
    same += from.is(Op::reduce) || (from.is(Op::pointwise) && from.scalar_op == instruction.scalar_op);
  }
  return {known, same};
}

const Kernel* plain_kernel(const ReportedPlan& plan, const NodeSteps& link) {
  if (!link.node->is(Op::fusion) || link.steps.size() != 1) return nullptr;
  const Step& step = plan.program.entries[0].steps[static_cast<size_t>(link.steps[0])];
  const auto* launch = std::get_if<KernelStep>(&step.what);
  if (launch == nullptr) return nullptr;
  const Kernel& kernel = plan.program.kernels[static_cast<size_t>(launch->kernel)];
  const bool plain = !kernel.has_template() && kernel.beside.empty() && kernel.tail.empty();
  return plain ? &kernel : nullptr;
}

void expect_origins(const ReportedPlan& plan) {
  int known = 0, same = 0;
  for (const NodeSteps& link : link_steps(*plan.fused->graphs[0], plan.program.entries[0]))
    if (const Kernel* kernel = plain_kernel(plan, link)) {
      const auto [some, right] = count_origins(*kernel, *link.node->body);
      known += some, same += right;
    }
  EXPECT_GT(known, 100);
  EXPECT_GT(same, known * 19 / 20);
}

TEST(ReportData, InstructionsComeFromTheOperationsOfTheirNode) {
  expect_origins(testing::gpt2({"train_step"}));
  expect_origins(testing::gpt2({"train_step"}, [](CompileOptions& o) { o.target = "sm_90"; }));
}

/// A plan's file has no graph, but the same steps, bytes and memory.
TEST(ReportData, APlanGivesTheStepsOfItsModel) {
  ReportedPlan model = testing::gpt2({"logits"});
  const ReportedPlan plan = reported(make_plan(model.program), "a.plan");
  const Json a = data_of(model), b = data_of(plan);
  EXPECT_TRUE(b["head"]["from_plan"].get<bool>());
  EXPECT_FALSE(b["entries"][0].contains("graph"));
  const Json &left = a["entries"][0], &right = b["entries"][0];
  ASSERT_EQ(left["steps"].size(), right["steps"].size());
  for (size_t i = 0; i < left["steps"].size(); ++i)
    for (const char* field : {"kind", "phase", "bytes", "flops", "estimated", "reads", "writes"})
      EXPECT_EQ(left["steps"][i][field], right["steps"][i][field]) << i << " " << field;
  EXPECT_EQ(left["memory"], right["memory"]);
}

// ---- measured times

std::string trace(const std::string& entry, int step, const std::string& name) {
  Json event = {{"name", name}, {"dur", 1500.0}};
  event["args"] = {{"entry", entry}, {"step", step}};
  return Json{{"traceEvents", Json::array({event})}}.dump();
}

TEST(StepTimes, AreThoseOfTheProfile) {
  const ReportedPlan plan = testing::gpt2({"logits"});
  const std::string kernel = plan.program.kernels[0].name;
  int number = 0;
  for (size_t i = 0; i < plan.program.entries[0].steps.size(); ++i)
    if (const auto* launch = std::get_if<KernelStep>(&plan.program.entries[0].steps[i].what);
        launch && launch->kernel == 0)
      number = static_cast<int>(i);
  const StepTimes times = read_step_times(plan.program, trace("logits", number, kernel), "times.json");
  ASSERT_EQ(times.size(), 1u);
  const Json data = report_data(plan, {.command = "", .times = times});
  EXPECT_DOUBLE_EQ(data["entries"][0]["steps"][static_cast<size_t>(number)]["measured"].get<double>(),
                   0.0015);
  EXPECT_TRUE(data["head"]["measured"].get<bool>());
}

void expect_message(const ReportedPlan& plan, const std::string& text, const std::string& part) {
  try {
    read_step_times(plan.program, text, "times.json");
    FAIL() << "expected an error about " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(StepTimes, OfAnotherPlanAreRefused) {
  const ReportedPlan plan = testing::gpt2({"logits"});
  expect_message(plan, trace("train_step", 0, "k0"), "@train_step");
  expect_message(plan, trace("logits", 100000, "k0"), "step 100000");
  expect_message(plan, trace("logits", -1, "k0"), "step -1");
  expect_message(plan, trace("logits", 0, "no such step"), "no such step");
  expect_message(plan, R"({"traceEvents": [{"name": "a", "dur": 1, "args": {"sources": []}}]})", "--trace");
  expect_message(plan, R"({"traceEvents": []})", "no events");
  expect_message(plan, R"({"traceEvents": [{"name": 7}]})", "times.json");
  expect_message(plan, "soup", "times.json");
}

// ---- the page

TEST(ReportPage, IsOneFileThatAsksForNothing) {
  ReportedPlan plan = testing::gpt2({"train_step"});
  add_codes(plan);
  const std::string page = report_page(data_of(plan), "a <b> & c");
  EXPECT_NE(page.find("<title>a &lt;b> &amp; c</title>"), std::string::npos);
  for (const char* part :
       {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "@DATA@", "@SCRIPT@", "@STYLE@"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_LT(page.size(), size_t{2} << 20);
}

TEST(ReportPage, NamesOfAModelAreNoMarkup) {
  Json data = {{"name", "</script><script>alert(1)</script><!--"}};
  const std::string page = report_page(data, "x");
  EXPECT_EQ(page.find("</script><script>alert"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
}

}  // namespace
}  // namespace smelt
