// File tests: an .ir file with a RUN line is a test. Lines with these directives specify it:
//
//   // RUN: simplify,fuse                pass pipeline, which runs over all graphs of the file
//   // CHECK...: text                    LLVM FileCheck directives for the printed result
//   // EXEC: seed=1, B=2, T=3            expects equal results of the evaluator before and after the pipeline
//   // EXEC: mesh=data:2,model:2, B=4    the same; before on one rank, after on all ranks of the mesh
//   // EXEC-CPU: seed=1, B=2, T=3        the same, for the result on the CPU (tests/compiler/file_test.cpp)
//   // FAILS: text                       expects that the pipeline throws an Error with this text
//   // CHECKS: generated                 with the environment variable BLESS, the CHECK lines are rewritten
//
// There may be several EXEC lines. If the pipeline lowers the module (tests/compiler only), the program is
// printed. If the pipeline begins with a pass over programs, the file is a program. A file may have several
// tests, separated by lines "// -----".
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "ir/text/text.h"
#include "passes/pass_manager.h"
#include "runtime/base/error.h"
#include "tests/support/file_check.h"
#include "tests/support/primitive_run.h"
#include "tests/support/random_tensors.h"

namespace smelt::testing {

/// An EXEC line.
struct Exec {
  uint64_t seed = 1;
  EvaluateOptions options;
  std::string mesh;  // mesh of the module after the pipeline, as parse_mesh expects it; empty: one rank
};

/// If an item of an EXEC line is an axis of the mesh, adds it to exec.mesh and returns true. The first axis
/// is written "mesh=data:2", and each later axis "model:2".
inline bool take_axis(llvm::StringRef item, Exec& exec) {
  item = item.trim();
  const bool first = item.consume_front("mesh=");
  if (!first && (exec.mesh.empty() || item.contains('='))) return false;
  const auto [axis, size] = item.split(':');
  exec.mesh += fmt::format("{}{}={}", first ? "" : ",", axis.str(), size.str());
  return true;
}

inline Exec parse_exec(const std::string& text) {
  Exec exec;
  llvm::SmallVector<llvm::StringRef, 4> items;
  llvm::StringRef(text).split(items, ',', -1, false);
  for (llvm::StringRef item : items) {
    if (take_axis(item, exec)) continue;
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

/// Expects that all outputs and states of the graphs in `before` have the same values in `after`. `after` may
/// have additional outputs and states.
inline void expect_same_results(const Module& before, const Module& after, const Exec& exec) {
  for (const auto& graph : before.graphs) {
    const Graph* twin = after.find_graph(graph->name);
    ASSERT_TRUE(twin) << "graph @" << graph->name << " is gone";
    const Tensors inputs = random_inputs(*graph, exec.seed, exec.options.symbols);
    const Tensors states = random_states(*graph, exec.seed, exec.options.symbols);
    const Evaluation expected = run(*graph, inputs, states, exec.options);
    if (!exec.mesh.empty()) {
      ASSERT_EQ(after.mesh(), parse_mesh(exec.mesh)) << "the mesh of EXEC is not the module's";
    }
    const Evaluation actual = exec.mesh.empty() ? run(*twin, inputs, states, exec.options)
                                                : run_ranks(*twin, inputs, states, exec.options);
    for (const auto& [name, tensor] : expected.outputs) {
      ASSERT_TRUE(actual.outputs.count(name)) << "output " << name << " is gone";
      EXPECT_LT(relative_error(actual.outputs.at(name), tensor), 1e-9) << "output " << name;
    }
    for (const auto& [name, tensor] : expected.states)
      EXPECT_LT(relative_error(actual.states.at(name), tensor), 1e-9) << "state " << name;
  }
}

/// Returns the pass calls of all RUN lines.
inline std::vector<PassCall> calls_of(const std::string& text, const PassRegistry& registry) {
  std::vector<PassCall> calls;
  for (const std::string& pipeline : directives(text, "RUN"))
    llvm::append_range(calls, registry.parse(pipeline));
  return calls;
}

/// Returns whether one of the calls is of this pass.
inline bool runs(llvm::ArrayRef<PassCall> calls, std::string_view pass) {
  return llvm::any_of(calls, [&](const PassCall& call) { return call.name == pass; });
}

/// Result of a pipeline: a module, and the program if it was lowered; for pipelines over programs, a program
/// only. `before` is the module before the pipeline.
struct Outcome {
  std::unique_ptr<Module> before, module;
  std::optional<Program> program;
  std::string text() const { return program ? print(*program) : print(*module); }
};

inline PassManager verifying_manager(const PassRegistry& registry = pass_registry()) {
  PassManagerOptions options;
  options.verify_each = true;
  return PassManager(options, registry);
}

inline void run_passes(llvm::ArrayRef<PassCall> calls, Module& module) {
  Program none;
  verifying_manager().run(calls, module, none);
}

inline Outcome run_pipeline(const std::string& text, const std::string& path, const PassRegistry& registry) {
  const std::vector<PassCall> calls = calls_of(text, registry);
  PassManager manager = verifying_manager(registry);
  Outcome outcome;
  if (unit_of(calls.at(0).body) == PassUnit::program) {
    outcome.program = parse_program(text, path);
    for (const PassCall& call : calls) manager.add(call);
    manager.run(*outcome.program);
    return outcome;
  }
  outcome.module = parse_module(text, path);
  outcome.before = outcome.module->clone();
  Program program;
  manager.run(calls, *outcome.module, program);
  if (runs(calls, "lower")) outcome.program = std::move(program);
  return outcome;
}

/// Runs one part of a file, with its directives RUN, FAILS, CHECK and EXEC. If BLESS is set, replaces
/// generated CHECK lines in `text`.
inline void run_part(const std::filesystem::path& path, std::string& text, const PassRegistry& registry) {
  if (directives(text, "RUN").empty()) return;
  const auto failures = directives(text, "FAILS");
  Outcome outcome;
  try {
    outcome = run_pipeline(text, path.string(), registry);
  } catch (const Error& error) {
    if (failures.empty()) throw;
    for (const std::string& expected : failures)
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    return;
  }
  EXPECT_TRUE(failures.empty()) << "the pipeline was to fail with: " << failures[0];
  const std::string output = outcome.text();
  if (std::getenv("BLESS") && !directives(text, "CHECKS").empty()) text = blessed(text, output);
  if (text.find("// CHECK") != std::string::npos) {
    const std::string complaint = check(path.string(), text, output);
    EXPECT_EQ(complaint, "") << "the output is\n" << output;
  }
  for (const std::string& exec : directives(text, "EXEC"))
    expect_same_results(*outcome.before, *outcome.module, parse_exec(exec));
}

inline void run_file(const std::filesystem::path& path, const PassRegistry& registry) {
  const std::string text = read_file(path);
  std::vector<std::string> parts = parts_of(text);
  for (std::string& part : parts) {
    SCOPED_TRACE(path.string() + ", the part with RUN: " +
                 (directives(part, "RUN").empty() ? "" : directives(part, "RUN")[0]));
    ASSERT_NO_THROW(run_part(path, part, registry));
  }
  if (!std::getenv("BLESS")) return;
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : "// -----\n") + part;
  if (result != text) std::ofstream(path, std::ios::binary) << result;
}

}  // namespace smelt::testing
