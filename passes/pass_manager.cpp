#include "passes/pass_manager.h"

#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "ir/graph/verifier.h"
#include "ir/program_verifier.h"
#include "ir/text/text.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/error.h"
#include "runtime/base/interrupt.h"

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

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) fail_with(Status::io, "{}: cannot be written", path.string());
}

// ---- one function for each unit

std::string unit_name(const Graph& graph) { return graph.name; }
std::string unit_name(const Module&) { return "module"; }
std::string unit_name(const Program&) { return "program"; }
std::string unit_name(const Kernel& kernel) { return kernel.name; }

bool tidy(Graph& graph) { return graph.prune(); }
template <typename Unit>
bool tidy(Unit&) {
  return false;
}

std::string reproducer_of(const Graph& graph, const PassCall& call) {
  return reproducer(graph.module(), graph.name, call);
}
template <typename Unit>
std::string reproducer_of(const Unit& unit, const PassCall& call) {
  return fmt::format("// RUN: {}\n{}", call.str(), print(unit));
}

/// A pass over kernels as one over a program's kernels.
std::function<bool(Program&)> over_kernels(const std::function<bool(Kernel&)>& body) {
  return [&body](Program& program) {
    bool changed = false;
    for (Kernel& kernel : program.kernels)
      if (!kernel.has_template()) changed |= body(kernel);
    return changed;
  };
}

template <typename Body>
const Body& body_for(const PassCall& call, std::string_view unit) {
  if (const Body* body = std::get_if<Body>(&call.body)) return *body;
  fail("pass {} works on a {}, not on one {}", call.name, name(unit_of(call.body)), unit);
}

}  // namespace

PassManager::PassManager(PassManagerOptions options, const PassRegistry& registry)
    : options_(std::move(options)), registry_(registry) {
  for (const std::string& name : options_.disabled)
    if (registry_.find(name).required) fail("pass {} cannot be disabled: later passes rely on it", name);
  for (const auto* names : {&options_.print_before, &options_.print_after})
    for (const std::string& name : *names) registry_.find(name);
}

PassManager& PassManager::add(std::string_view pipeline) {
  for (PassCall& call : registry_.parse(pipeline)) calls_.push_back(std::move(call));
  return *this;
}

PassManager& PassManager::add(PassCall call) {
  calls_.push_back(std::move(call));
  return *this;
}

template <typename Unit>
bool PassManager::run_added(Unit& unit) {
  bool changed = false;
  for (const PassCall& call : calls_) changed |= run_call(call, unit);
  return changed;
}

bool PassManager::run(Graph& graph) { return run_added(graph); }
bool PassManager::run(Module& module) { return run_added(module); }
bool PassManager::run(Program& program) { return run_added(program); }
bool PassManager::run(Kernel& kernel) { return run_added(kernel); }

bool PassManager::run(llvm::ArrayRef<PassCall> calls, Module& module, Program& program) {
  bool changed = false;
  for (const PassCall& call : calls) {
    const PassUnit unit = unit_of(call.body);
    if (unit == PassUnit::lowering)
      changed |= lower(call, module, program);
    else
      changed |= unit < PassUnit::lowering ? run_call(call, module) : run_call(call, program);
  }
  return changed;
}

bool PassManager::run_call(const PassCall& call, Graph& graph) {
  return run_on(call, graph, body_for<std::function<bool(Graph&)>>(call, "graph"));
}

bool PassManager::run_call(const PassCall& call, Module& module) {
  if (unit_of(call.body) != PassUnit::graph)
    return run_on(call, module, body_for<std::function<bool(Module&)>>(call, "module"));
  bool changed = false;
  for (const auto& graph : module.graphs) changed |= run_call(call, *graph);
  return changed;
}

bool PassManager::run_call(const PassCall& call, Program& program) {
  if (const auto* body = std::get_if<std::function<bool(Kernel&)>>(&call.body))
    return run_on(call, program, over_kernels(*body));
  return run_on(call, program, body_for<std::function<bool(Program&)>>(call, "program"));
}

bool PassManager::run_call(const PassCall& call, Kernel& kernel) {
  return run_on(call, kernel, body_for<std::function<bool(Kernel&)>>(call, "kernel"));
}

/// The module is printed before it, and the program after it.
bool PassManager::lower(const PassCall& call, const Module& module, Program& program) {
  print_unit(call, module, true);
  const std::function<bool(Program&)> fill = [&](Program& empty) {
    empty = std::get<std::function<Program(const Module&)>>(call.body)(module);
    return true;
  };
  return run_on(call, program, fill, kept_input(module, call));
}

/// The text of the input, since the pass may throw halfway through; empty where no reproducer is asked for.
template <typename Unit>
std::string PassManager::kept_input(const Unit& unit, const PassCall& call) const {
  return options_.reproducer_dir.empty() ? "" : reproducer_of(unit, call);
}

bool PassManager::is_left_out(const PassCall& call) const {
  if (registry_.find(call.name).required) return false;
  if (options_.bisect_limit >= 0 && changes() >= options_.bisect_limit) return true;
  return llvm::is_contained(options_.disabled, call.name);
}

template <typename Unit>
bool PassManager::run_on(const PassCall& call, Unit& unit, const std::function<bool(Unit&)>& body,
                         const std::optional<std::string>& given) {
  if (is_left_out(call)) return false;
  poll_interrupt();
  if (options_.on_step) options_.on_step(call.name);
  if (unit_of(call.body) != PassUnit::lowering) print_unit(call, unit, true);
  const std::string input = given ? *given : kept_input(unit, call);
  constexpr bool is_graph = std::is_same_v<Unit, Graph>;
  try {
    const Stopwatch watch;
    const bool changed = checked(call, unit, body);
    record(call, is_graph ? unit_name(unit) : "", watch.seconds(), changed);
    print_unit(call, unit, false);
    if (!options_.dump_dir.empty()) dump(call, unit_name(unit), print(unit));
    return changed;
  } catch (const Error& error) {
    std::string message = error.what();
    // The pass itself names the fault in a user's model or options; the graph's name locates it.
    if (is_graph || error.status() == Status::internal)
      message = fmt::format("pass {} on {}{}: {}", call.str(), is_graph ? "@" : "", unit_name(unit), message);
    if (!input.empty()) {
      const auto path = std::filesystem::path(options_.reproducer_dir) / ("reproducer-" + call.name + ".ir");
      write_text(path, input);
      message += fmt::format("\n{} runs it again", path.string());
    }
    throw Error(message, error.status());
  }
}

template <typename Unit>
bool PassManager::checked(const PassCall& call, Unit& unit, const std::function<bool(Unit&)>& body) const {
  const std::string before = options_.verify_each ? print(unit) : "";
  bool changed = body(unit);
  if (options_.verify_each && !changed && print(unit) != before)
    fail_with(Status::internal, "it changed the {} and reported that it did not",
              std::is_same_v<Unit, Graph> ? "graph" : unit_name(unit));
  changed |= tidy(unit);
  if (!options_.verify_each) return changed;
  const std::vector<std::string> messages = verify(unit);
  if (!messages.empty())
    fail_with(Status::internal, "the result of {} is not valid:\n{}", call.name, fmt::join(messages, "\n"));
  return changed;
}

template <typename Unit>
void PassManager::print_unit(const PassCall& call, const Unit& unit, bool before) const {
  const bool all = before ? options_.print_before_all : options_.print_after_all;
  const auto& names = before ? options_.print_before : options_.print_after;
  if (!options_.print_to || (!all && !llvm::is_contained(names, call.name))) return;
  options_.print_to(fmt::format("// {} {}\n{}", before ? "before" : "after", call.str(), print(unit)));
}

void PassManager::dump(const PassCall& call, std::string_view unit, const std::string& text) {
  const std::string name = fmt::format("{:03}-{}-{}.ir", ++options_.progress->dumped, unit, call.name);
  write_text(std::filesystem::path(options_.dump_dir) / name, text);
}

void PassManager::record(const PassCall& call, std::string_view graph, double seconds, bool changed) {
  records_.push_back({call.name, std::string(graph), seconds, changed});
  if (changed && !registry_.find(call.name).required) ++options_.progress->changes;
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
