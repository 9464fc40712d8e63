// File tests: every tests/**/*.ir that has a line
//
//   // RUN: simplify,fuse                the pipeline that runs over all graphs of the file
//   // CHECK...: text                    LLVM FileCheck directives for the printed result
//   // EXEC: seed=1, B=2, T=3            the evaluator's results before and after agree (several lines:
//   several sizes)
//   // FAILS: text                       the pipeline throws an Error that holds the text
//   // CHECKS: generated                 BLESS=1 writes the CHECK lines anew
//
// A file of several tests has them parted by lines "// -----".
#include <filesystem>
#include <fstream>
#include <sstream>

#include "llvm/ADT/SmallString.h"
#include "llvm/FileCheck/FileCheck.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "passes/pass_manager.h"
#include "support.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What follows "// KEY:" on each line that begins so.
std::vector<std::string> directives(const std::string& text, const std::string& key) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string prefix = "// " + key + ":";
    if (line.rfind(prefix, 0) != 0) continue;
    const llvm::StringRef rest = llvm::StringRef(line).drop_front(prefix.size()).trim();
    found.push_back(rest.str());
  }
  return found;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == "// -----")
      parts.emplace_back();
    else
      parts.back() += line + "\n";
  }
  return parts;
}

std::vector<fs::path> test_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(SMELT_SOURCE_DIR) / "tests"))
    if (entry.path().extension() == ".ir" && !directives(read_file(entry.path()), "RUN").empty())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// FileCheck's complaint; empty where the output passes.
std::string check(const std::string& file_name, const std::string& checks, const std::string& output) {
  llvm::FileCheckRequest request;
  request.CheckPrefixes = {"CHECK"};
  request.CommentPrefixes = {"COM"};
  request.EnableVarScope = true;
  llvm::FileCheck file_check(request);
  if (!file_check.ValidateCheckPrefixes()) return "the prefix CHECK is not valid";
  std::string complaint;
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* text) {
        llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
        diagnostic.print("", stream, false);
      },
      &complaint);
  auto add = [&](const std::string& text, const std::string& name) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, name);
    llvm::SmallString<4096> storage;
    const std::string canonical = file_check.CanonicalizeFile(*buffer, storage).str();
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(canonical, name);
    const llvm::StringRef reference = copy->getBuffer();
    sources.AddNewSourceBuffer(std::move(copy), llvm::SMLoc());
    return reference;
  };
  if (file_check.readCheckFile(sources, add(checks, file_name))) return complaint;
  if (file_check.checkInput(sources, add(output, "output"))) return "";
  return complaint.empty() ? "the output does not pass" : complaint;
}

struct Exec {
  uint64_t seed = 1;
  EvaluateOptions options;
};

Exec parse_exec(const std::string& text) {
  Exec exec;
  llvm::SmallVector<llvm::StringRef, 4> items;
  llvm::StringRef(text).split(items, ',', -1, false);
  for (llvm::StringRef item : items) {
    const auto [key, value] = item.split('=');
    int64_t number = 0;
    if (value.trim().getAsInteger(10, number)) fail("EXEC: '{}' is no number", value.str());
    if (key.trim() == "seed")
      exec.seed = static_cast<uint64_t>(number);
    else
      exec.options.symbols[key.trim().str()] = number;
  }
  exec.options.philox.seed = static_cast<uint32_t>(exec.seed);
  return exec;
}

/// What a graph computed before it computes after; a pass may add outputs and states.
void expect_same_results(const Module& before, const Module& after, const Exec& exec) {
  for (const auto& graph : before.graphs) {
    const Graph* twin = after.find_graph(graph->name);
    ASSERT_TRUE(twin) << "graph @" << graph->name << " is gone";
    const Tensors inputs = testing::random_inputs(*graph, exec.seed, exec.options.symbols);
    const Tensors states = testing::random_states(*graph, exec.seed, exec.options.symbols);
    const Evaluation expected = testing::run(*graph, inputs, states, exec.options);
    const Evaluation actual = testing::run(*twin, inputs, states, exec.options);
    for (const auto& [name, tensor] : expected.outputs) {
      ASSERT_TRUE(actual.outputs.count(name)) << "output " << name << " is gone";
      EXPECT_LT(testing::relative_error(actual.outputs.at(name), tensor), 1e-9) << "output " << name;
    }
    for (const auto& [name, tensor] : expected.states)
      EXPECT_LT(testing::relative_error(actual.states.at(name), tensor), 1e-9) << "state " << name;
  }
}

/// The text with CHECK lines that match `output` exactly, in place of those it had.
std::string blessed(const std::string& text, const std::string& output) {
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("// CHECK", 0) != 0 || line.rfind("// CHECKS:", 0) == 0) result += line + "\n";
    if (line.rfind("// CHECKS: generated", 0) != 0) continue;
    std::istringstream printed(output);
    const char* directive = "CHECK";
    for (std::string each; std::getline(printed, each);
         directive = each.empty() ? "CHECK-EMPTY" : "CHECK-NEXT")
      result += each.empty() ? "// CHECK-EMPTY:\n" : fmt::format("// {}{{LITERAL}}: {}\n", directive, each);
  }
  return result;
}

void run_part(const fs::path& path, std::string& text) {
  const auto pipelines = directives(text, "RUN");
  if (pipelines.empty()) return;
  const std::unique_ptr<Module> module = parse_module(text, path.string());
  const std::unique_ptr<Module> before = module->clone();
  PassManagerOptions options;
  options.verify_each = true;
  PassManager manager(options);
  const auto failures = directives(text, "FAILS");
  try {
    for (const std::string& pipeline : pipelines) manager.add(pipeline);
    manager.run(*module);
  } catch (const Error& error) {
    if (failures.empty()) throw;
    for (const std::string& expected : failures)
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    return;
  }
  EXPECT_TRUE(failures.empty()) << "the pipeline was to fail with: " << failures[0];
  const std::string output = print(*module);
  if (std::getenv("BLESS") && !directives(text, "CHECKS").empty()) text = blessed(text, output);
  if (text.find("// CHECK") != std::string::npos) {
    const std::string complaint = check(path.string(), text, output);
    EXPECT_EQ(complaint, "") << "the output is\n" << output;
  }
  for (const std::string& exec : directives(text, "EXEC"))
    expect_same_results(*before, *module, parse_exec(exec));
}

class FileTests : public ::testing::TestWithParam<fs::path> {};

TEST_P(FileTests, Pass) {
  const fs::path path = GetParam();
  const std::string text = read_file(path);
  std::vector<std::string> parts = parts_of(text);
  for (std::string& part : parts) {
    SCOPED_TRACE(path.string() + ", the part with RUN: " +
                 (directives(part, "RUN").empty() ? "" : directives(part, "RUN")[0]));
    ASSERT_NO_THROW(run_part(path, part));
  }
  if (!std::getenv("BLESS")) return;
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : "// -----\n") + part;
  if (result != text) std::ofstream(path, std::ios::binary) << result;
}

INSTANTIATE_TEST_SUITE_P(All, FileTests, ::testing::ValuesIn(test_files()), [](const auto& p) {
  std::string name = fs::relative(p.param, fs::path(SMELT_SOURCE_DIR) / "tests").string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FileTests);

TEST(FileTestRunner, SeesWhatFails) {
  EXPECT_EQ(check("t", "// CHECK: add %x\n", "  %y = add %x, %x : f32[3]\n"), "");
  EXPECT_NE(check("t", "// CHECK: sub %x\n", "  %y = add %x, %x : f32[3]\n"), "");
  EXPECT_NE(check("t", "// CHECK: add\n// CHECK-NOT: mul\n", "add\nmul\n"), "");
}

}  // namespace
}  // namespace smelt
