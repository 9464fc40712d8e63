// Runs passes over graphs, modules, programs and kernels: verifies the IR, checks the reported change of a
// pass, measures time, prints, and on a failure writes a file that reproduces it. Unused nodes of graphs are
// removed after every pass over graphs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program/program.h"
#include "passes/pass_registry.h"

namespace smelt {

/// Counters that all pass managers of one compilation share.
struct PassProgress {
  int64_t changes = 0;  // of optional passes
  int dumped = 0;       // files
};

struct PassManagerOptions {
  bool verify_each =
      false;  // verify after every pass, and check that a pass that reports no change made none
  bool print_before_all = false, print_after_all = false;
  std::vector<std::string> print_before, print_after;  // names of passes
  std::function<void(std::string_view)> print_to;      // receives printed text
  std::string dump_dir;                                // numbered files: the unit after each pass
  std::string reproducer_dir;         // directory for the input of a failing pass; empty: none
  int64_t bisect_limit = -1;          // number of changes after which optional passes stop; -1: never
  std::vector<std::string> disabled;  // optional passes that do not run
  /// Receives the name of each phase and pass of a compilation before it runs. An exception that it throws
  /// ends the compilation.
  std::function<void(std::string_view)> on_step;
  /// Shared by all managers made from copies of these options, so that a pipeline in several parts continues
  /// the count.
  std::shared_ptr<PassProgress> progress = std::make_shared<PassProgress>();
};

/// One run of one pass.
struct PassRecord {
  std::string pass, graph;  // graph is empty for other units
  double seconds = 0;
  bool changed = false;
};

class PassManager {
 public:
  /// `registry` resolves the names of passes in options and pipelines. Requires: it outlives the manager.
  explicit PassManager(PassManagerOptions options = {}, const PassRegistry& registry = pass_registry());

  /// Appends "decompose{keep=softmax},simplify".
  PassManager& add(std::string_view pipeline);
  PassManager& add(PassCall call);

  // ---- all passes that were added; true when something changed
  /// Runs the passes; throws Error for passes over other units.
  bool run(Graph& graph);
  /// Runs pass by pass; a pass over graphs runs over all graphs that the module has at that time. Throws
  /// Error for passes over programs.
  bool run(Module& module);
  /// Runs passes over programs and kernels only.
  bool run(Program& program);
  /// Runs passes over kernels only.
  bool run(Kernel& kernel);

  /// Runs `calls`, not the added passes: over the module up to a lowering, which fills the program, then over
  /// the program.
  bool run(llvm::ArrayRef<PassCall> calls, Module& module, Program& program);

  const std::vector<PassRecord>& records() const { return records_; }
  int64_t changes() const { return options_.progress->changes; }  // of optional passes
  /// Returns a table of the time of each pass, summed over all graphs.
  std::string timing_report() const;

 private:
  template <typename Unit>
  bool run_added(Unit& unit);
  bool run_call(const PassCall& call, Graph& graph);
  bool run_call(const PassCall& call, Module& module);
  bool run_call(const PassCall& call, Program& program);
  bool run_call(const PassCall& call, Kernel& kernel);
  bool lower(const PassCall& call, const Module& module, Program& program);
  bool is_left_out(const PassCall& call) const;
  template <typename Unit>
  std::string kept_input(const Unit& unit, const PassCall& call) const;
  /// `given`: the text of the input, where that is another unit.
  template <typename Unit>
  bool run_on(const PassCall& call, Unit& unit, const std::function<bool(Unit&)>& body,
              const std::optional<std::string>& given = {});
  template <typename Unit>
  bool checked(const PassCall& call, Unit& unit, const std::function<bool(Unit&)>& body) const;
  template <typename Unit>
  void print_unit(const PassCall& call, const Unit& unit, bool before) const;
  void dump(const PassCall& call, std::string_view unit, const std::string& text);
  void record(const PassCall& call, std::string_view graph, double seconds, bool changed);

  PassManagerOptions options_;
  const PassRegistry& registry_;
  std::vector<PassCall> calls_;
  std::vector<PassRecord> records_;
};

/// Returns a module's text with the pipeline that failed on one of its graphs as its first line: a file test,
/// and input of `smelt opt`.
std::string reproducer(const Module& module, std::string_view graph, const PassCall& call);

}  // namespace smelt
