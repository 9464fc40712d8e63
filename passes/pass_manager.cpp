#include "passes/pass_manager.h"

#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "ir/text/text.h"
#include "ir/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) fail_with(Status::io, "{}: cannot be written", path.string());
}

}  // namespace

PassManager::PassManager(PassManagerOptions options) : options_(std::move(options)) {
  for (const std::string& name : options_.disabled)
    if (find_pass(name).required) fail("pass {} cannot be disabled: later stages rely on it", name);
  for (const auto* names : {&options_.print_before, &options_.print_after})
    for (const std::string& name : *names) find_pass(name);
}

PassManager& PassManager::add(std::string_view pipeline) {
  for (PassCall& call : parse_pipeline(pipeline)) {
    const PassInfo* info = &find_pass(call.name);
    stages_.push_back({std::move(call), info, {}});
  }
  return *this;
}

PassManager& PassManager::add(PassCall call, std::function<bool(Graph&)> run) {
  const PassInfo* info = &find_pass(call.name);
  stages_.push_back({std::move(call), info, std::move(run)});
  return *this;
}

bool PassManager::run(Graph& graph) {
  bool changed = false;
  for (const Stage& stage : stages_) {
    if (stage.info->run_module) fail("pass {} works on a module, not on one graph", stage.call.name);
    changed |= run_stage(stage, graph);
  }
  return changed;
}

bool PassManager::run(Module& module) {
  bool changed = false;
  for (const Stage& stage : stages_) {
    if (stage.info->run_module) {
      changed |= run_stage(stage, module);
      continue;
    }
    for (const auto& graph : module.graphs) changed |= run_stage(stage, *graph);
  }
  return changed;
}

bool PassManager::left_out(const Stage& stage) const {
  if (stage.info->required) return false;
  if (options_.bisect_limit >= 0 && changes() >= options_.bisect_limit) return true;
  return llvm::is_contained(options_.disabled, stage.call.name);
}

bool PassManager::run_stage(const Stage& stage, Graph& graph) {
  if (left_out(stage)) return false;
  if (options_.on_step) options_.on_step(stage.call.name);
  print_graph(stage, graph, true);
  // The input is kept as text, since the pass may throw halfway through.
  const std::string input =
      options_.reproducer_dir.empty() ? "" : reproducer(graph.module(), graph.name, stage.call);
  try {
    const Stopwatch watch;
    const bool changed = checked(stage, graph);
    record(stage, graph.name, watch.seconds(), changed);
    print_graph(stage, graph, false);
    if (!options_.dump_dir.empty()) dump(stage, graph.name, print(graph));
    return changed;
  } catch (const Error& error) {
    std::string message = fmt::format("pass {} on @{}: {}", stage.call.str(), graph.name, error.what());
    if (!input.empty()) {
      const auto path =
          std::filesystem::path(options_.reproducer_dir) / ("reproducer-" + stage.call.name + ".ir");
      write_file(path, input);
      message += fmt::format("\n{} runs it again", path.string());
    }
    throw Error(message, error.status());
  }
}

bool PassManager::checked(const Stage& stage, Graph& graph) {
  const std::string before = options_.verify_each ? print(graph) : "";
  bool changed = stage.run ? stage.run(graph) : stage.info->run_graph(graph, stage.call.arguments);
  if (options_.verify_each && !changed && print(graph) != before)
    fail_with(Status::internal, "it changed the graph and reported that it did not");
  changed |= graph.prune();
  if (options_.verify_each) verify_after(stage, verify(graph));
  return changed;
}

bool PassManager::run_stage(const Stage& stage, Module& module) {
  if (options_.on_step) options_.on_step(stage.call.name);
  const Stopwatch watch;
  const bool changed = stage.info->run_module(module, stage.call.arguments);
  record(stage, "", watch.seconds(), changed);
  if (options_.verify_each) verify_after(stage, verify(module));
  if (!options_.dump_dir.empty()) dump(stage, "module", print(module));
  return changed;
}

void PassManager::verify_after(const Stage& stage, const std::vector<std::string>& messages) const {
  if (!messages.empty())
    fail_with(Status::internal, "the result of {} is not valid:\n{}", stage.call.name,
              fmt::join(messages, "\n"));
}

void PassManager::print_graph(const Stage& stage, const Graph& graph, bool before) {
  const bool all = before ? options_.print_before_all : options_.print_after_all;
  const auto& names = before ? options_.print_before : options_.print_after;
  if (!options_.print_to || (!all && !llvm::is_contained(names, stage.call.name))) return;
  options_.print_to(fmt::format("// {} {}\n{}", before ? "before" : "after", stage.call.str(), print(graph)));
}

void PassManager::dump(const Stage& stage, std::string_view graph, const std::string& text) {
  const std::string name = fmt::format("{:03}-{}-{}.ir", ++options_.progress->dumped, graph, stage.call.name);
  write_file(std::filesystem::path(options_.dump_dir) / name, text);
}

void PassManager::record(const Stage& stage, std::string_view graph, double seconds, bool changed) {
  records_.push_back({stage.call.name, std::string(graph), seconds, changed});
  if (changed && !stage.info->required) ++options_.progress->changes;
}

std::string PassManager::timing_report() const {
  struct Row {
    double seconds = 0;
    int runs = 0, changed = 0;
  };
  std::vector<std::pair<std::string, Row>> rows;
  for (const PassRecord& r : records_) {
    auto it = llvm::find_if(rows, [&](const auto& row) { return row.first == r.pass; });
    if (it == rows.end()) it = rows.insert(rows.end(), {r.pass, {}});
    it->second.seconds += r.seconds;
    it->second.runs += 1;
    it->second.changed += r.changed;
  }
  std::string text = fmt::format("{:<24} {:>8} {:>8} {:>10}\n", "pass", "runs", "changed", "ms");
  for (const auto& [name, row] : rows)
    text += fmt::format("{:<24} {:>8} {:>8} {:>10.2f}\n", name, row.runs, row.changed, row.seconds * 1e3);
  return text;
}

std::string reproducer(const Module& module, std::string_view graph, const PassCall& call) {
  const std::unique_ptr<Module> copy = module.clone();
  llvm::erase_if(copy->graphs, [&](const auto& other) { return other->name != graph; });
  return fmt::format("// RUN: {}\n{}", call.str(), print(*copy));
}

}  // namespace smelt
