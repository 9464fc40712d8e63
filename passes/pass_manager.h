// Runs passes over units, which are graphs, modules, programs and kernels, and measures the time of each
// pass. Options turn on verification of the IR, printing of the IR, and files that reproduce a failure. After
// every pass over a graph, unused nodes of the graph are removed. The kinds of passes, and the text form of a
// list of passes ("pipeline"), are in ir/pass.h.
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
  int64_t changes = 0;  // runs of optional passes that changed something
  int dumped = 0;       // files written to PassManagerOptions::dump_dir
};

/// Options of a pass manager.
struct PassManagerOptions {
  /// True: verify the IR after every pass, and check that a pass that reports no change made none.
  bool verify_each = false;
  bool print_before_all = false, print_after_all = false;
  std::vector<std::string> print_before, print_after;  // names of passes
  std::function<void(std::string_view)> print_to;      // receives printed text
  std::string dump_dir;  // directory for numbered files with the unit's text after each pass; empty: none
  std::string reproducer_dir;         // directory for the input of a failing pass; empty: none
  int64_t bisect_limit = -1;          // optional passes stop after this number of changes; -1: no limit
  std::vector<std::string> disabled;  // optional passes that do not run
  /// Receives the name of each phase and pass of a compilation before it runs. An exception that it throws
  /// ends the compilation.
  std::function<void(std::string_view)> on_step;
  /// The counters. Copies of these options share them, so that the counts continue if several managers run
  /// parts of one compilation.
  std::shared_ptr<PassProgress> progress = std::make_shared<PassProgress>();
};

/// One run of one pass.
struct PassRecord {
  std::string pass, graph;  // `graph` is empty if the pass ran over another unit than a graph
  double seconds = 0;
  bool changed = false;
};

/// A list of passes, and the functions that run it.
class PassManager {
 public:
  /// `registry` resolves the names of passes in options and pipelines; it must outlive the manager. Throws
  /// Error if the options name an unknown pass, or disable a required one.
  explicit PassManager(PassManagerOptions options = {}, const PassRegistry& registry = pass_registry());

  /// Appends the passes of a pipeline such as "decompose{keep=softmax},simplify".
  PassManager& add(std::string_view pipeline);
  PassManager& add(PassCall call);

  // The next four functions run all added passes in order, and return whether a pass changed something. The
  // comment of each function names the kinds of passes that it can run. It throws Error if another kind was
  // added.
  /// Runs passes over graphs.
  bool run(Graph& graph);
  /// Runs passes over graphs and modules. A pass over graphs runs over all graphs of the module before the
  /// next pass runs.
  bool run(Module& module);
  /// Runs passes over programs and kernels.
  bool run(Program& program);
  /// Runs passes over kernels.
  bool run(Kernel& kernel);

  /// Runs `calls` in order, instead of the added passes. Passes over graphs and modules change `module`. A
  /// lowering creates the content of `program` from the module. Passes over programs and kernels change
  /// `program`. Returns whether a pass changed something.
  bool run(llvm::ArrayRef<PassCall> calls, Module& module, Program& program);

  const std::vector<PassRecord>& records() const { return records_; }
  /// Returns the number of runs of optional passes that changed something (PassProgress).
  int64_t changes() const { return options_.progress->changes; }
  /// Returns a table of the passes: number of runs, number of runs with a change, and time in ms.
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
  /// `given`: the text of the pass's input. It is set only for a lowering, whose input is not `unit`.
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

/// Returns an input of `smelt opt`, in the form of a file test, that reproduces a failure. Its first line is
/// "// RUN: " and `call`, the pass that failed on the graph. The text of the module follows, with `graph` as
/// its only graph.
std::string reproducer(const Module& module, std::string_view graph, const PassCall& call);

}  // namespace smelt
