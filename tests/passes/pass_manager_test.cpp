#include "passes/pass_manager.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/passes/support.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Module> small() {
  return parse_module(R"(
graph @first(%x: f32[3,5]) {
  %zero = constant {value = 0.0} : f32[3,5]
  %s = add %x, %zero : f32[3,5]
  %y = softmax %s "norm" : f32[3,5]
  return y = %y
}

graph @second(%x: f32[7]) {
  %y = silu %x "act" : f32[7]
  return y = %y
}
)");
}

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(fs::temp_directory_path() / ("smelt-" + name + "-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  fs::path path_;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Pipeline, ReadsAndWritesItself) {
  const auto calls =
      pass_registry().parse(" decompose{keep=softmax+gelu} , simplify,differentiate{output=f, seed=2}");
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].str(), "decompose{keep=softmax+gelu}");
  EXPECT_EQ(calls[1].str(), "simplify");
  EXPECT_EQ(calls[2].str(), "differentiate{output=f,seed=2}");
  EXPECT_TRUE(pass_registry().parse("").empty());
}

TEST(Pipeline, SaysWhatIsWrong) {
  EXPECT_NE(message_of([] {
              pass_registry().parse("simplfy");
            }).find("no pass 'simplfy'; there are bound_ids, decompose"),
            std::string::npos);
  EXPECT_NE(message_of([] { pass_registry().parse("decompose{keep}"); }).find("'='"), std::string::npos);
  EXPECT_NE(message_of([] { pass_registry().parse("decompose{keep=gelu"); }).find("'}'"), std::string::npos);
  EXPECT_NE(message_of([] { pass_registry().parse("simplify,"); }).find("the name of a pass"),
            std::string::npos);
  const auto module = small();
  for (const char* pipeline :
       {"decompose{keep=matmul}", "decompose{drop=gelu}", "simplify{fast=1}", "differentiate{seed=x}"})
    EXPECT_THROW(PassManager().add(pipeline).run(*module), Error) << pipeline;
}

TEST(Pipeline, NumbersHaveBounds) {
  for (const char* call : {"flatten_parameters{ranks=2,bucket=0}", "flatten_parameters{padding=-1}",
                           "flatten_parameters{ranks=0}", "chunk_rows{rows=-5}", "rematerialize{price=-1}",
                           "rematerialize{price=nan}", "rematerialize{share=7}", "rematerialize{layers=-1}",
                           "cut_stages{stages=0}", "cut_stages{parts_a_stage=0}"})
    EXPECT_NE(message_of([&] { pass_registry().parse(call); }).find("expected a number from"),
              std::string::npos)
        << call;
}

TEST(PassManager, RunsEveryPassOverEveryGraph) {
  const auto module = small();
  PassManager manager;
  EXPECT_TRUE(manager.add("decompose,simplify").run(*module));
  EXPECT_EQ(manager.records().size(), 4u);
  EXPECT_EQ(manager.records()[1].graph, "second");
  EXPECT_EQ(testing::count(*module->graphs[0], Op::softmax), 0u);
  EXPECT_NE(manager.timing_report().find("simplify"), std::string::npos);
  EXPECT_FALSE(PassManager().add("decompose,simplify").run(*module));
}

TEST(PassManager, PrintsBeforeAndAfter) {
  const auto module = small();
  std::string printed;
  PassManagerOptions options;
  options.print_before = {"decompose"};
  options.print_after_all = true;
  options.print_to = [&](std::string_view text) { printed += text; };
  PassManager(options).add("decompose,simplify").run(*module->graphs[0]);
  for (const char* expected : {"// before decompose\n", "// after decompose\n", "// after simplify\n"})
    EXPECT_NE(printed.find(expected), std::string::npos) << expected;
  EXPECT_EQ(printed.find("// before simplify"), std::string::npos);
}

TEST(PassManager, DumpsNumberedFiles) {
  const TemporaryFolder folder("dump");
  PassManagerOptions options;
  options.dump_dir = folder.path();
  PassManager(options).add("decompose,simplify").run(*small()->graphs[0]);
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"001-first-decompose.ir", "002-first-simplify.ir"}));
}

TEST(PassManager, PartsOfOnePipelineCountOn) {
  const TemporaryFolder folder("parts");
  PassManagerOptions options;
  options.dump_dir = folder.path();
  options.bisect_limit = 1;
  const auto module = small();
  PassManager(options).add("simplify,decompose").run(*module->graphs[0]);
  PassManager second(options);
  second.add("simplify,decompose").run(*module->graphs[0]);
  EXPECT_EQ(second.changes(), 1);
  EXPECT_EQ(folder.files().back(), "003-first-decompose.ir");
}

TEST(PassManager, StopsAfterSoManyChanges) {
  for (int64_t limit : {0, 1, 2}) {
    const auto module = small();
    Graph& graph = *module->graphs[0];
    PassManagerOptions options;
    options.bisect_limit = limit;
    PassManager manager(options);
    manager.add("simplify,decompose,simplify").run(graph);
    EXPECT_LE(manager.changes(), limit);
    EXPECT_EQ(testing::count(graph, Op::softmax), 0u) << "decompose is required, whatever the limit";
    EXPECT_EQ(graph.find_input("x")->result()->users()[0]->is(ScalarOp::add), limit == 0);
  }
}

TEST(PassManager, LeavesOutDisabledPasses) {
  PassManagerOptions options;
  options.disabled = {"simplify"};
  PassManager manager(options);
  EXPECT_FALSE(manager.add("simplify").run(*small()->graphs[0]));
  EXPECT_TRUE(manager.records().empty());
  options.disabled = {"decompose"};
  EXPECT_NE(message_of([&] { PassManager other(options); }).find("cannot be disabled"), std::string::npos);
  options.disabled = {"nothing"};
  EXPECT_THROW(PassManager other(options), Error);
}

TEST(PassManager, NoticesAPassThatDoesNotTellTheTruth) {
  PassManagerOptions options;
  options.verify_each = true;
  const auto module = small();
  PassManager manager(options);
  manager.add({"simplify", {}, [](Graph& graph) {
                 graph.outputs[0].name = "renamed";
                 return false;
               }});
  const std::string message = message_of([&] { manager.run(*module->graphs[0]); });
  EXPECT_NE(message.find("pass simplify on @first: it changed the graph"), std::string::npos) << message;
}

TEST(PassManager, NoticesAnInvalidGraph) {
  PassManagerOptions options;
  options.verify_each = true;
  const auto module = small();
  PassManager manager(options);
  manager.add({"simplify", {}, [](Graph& graph) {
                 graph.outputs[0].value->type.shape = {3, 7};
                 return true;
               }});
  const std::string message = message_of([&] { manager.run(*module->graphs[0]); });
  EXPECT_NE(message.find("the result of simplify is not valid"), std::string::npos) << message;
  EXPECT_NE(message.find("softmax \"norm\""), std::string::npos) << message;
}

TEST(PassManager, LeavesAReproducerThatRunsAgain) {
  const TemporaryFolder folder("reproducer");
  PassManagerOptions options;
  options.reproducer_dir = folder.path();
  const auto module = small();
  PassManager manager(options);
  manager.add("simplify,differentiate{output=nowhere}");
  const std::string message = message_of([&] { manager.run(*module->graphs[0]); });
  EXPECT_NE(message.find("reproducer-differentiate.ir"), std::string::npos) << message;
  std::ifstream file(folder.path() + "/reproducer-differentiate.ir");
  std::stringstream text;
  text << file.rdbuf();
  const std::string prefix = "// RUN: ";
  std::string first;
  std::getline(text, first);
  ASSERT_EQ(first, "// RUN: differentiate{output=nowhere}");
  const auto again = parse_module(text.str(), "reproducer");
  ASSERT_EQ(again->graphs.size(), 1u);
  PassManager second;
  second.add(first.substr(prefix.size()));
  const std::string repeated = message_of([&] { second.run(*again); });
  EXPECT_EQ(repeated, message.substr(0, repeated.size()));
}

TEST(PassManager, RefusesModulePassesOnOneGraph) {
  EXPECT_THROW(PassManager().add("flatten_parameters").run(*small()->graphs[0]), Error);
}

}  // namespace
}  // namespace smelt
