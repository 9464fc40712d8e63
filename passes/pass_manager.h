// Runs a pipeline over graphs: prunes dead nodes after every pass, verifies, checks what a pass reports,
// times, prints, and on a failure writes a file that reproduces it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass_registry.h"

namespace smelt {

/// The counters that all pass managers of one compilation share.
struct PassProgress {
  int64_t changes = 0;  // of optional passes
  int dumped = 0;       // files
};

struct PassManagerOptions {
  bool verify_each =
      false;  // verify after every pass, and check that a pass that reports no change made none
  bool print_before_all = false, print_after_all = false;
  std::vector<std::string> print_before, print_after;  // names of passes
  std::function<void(std::string_view)> print_to;      // where printed graphs go
  std::string dump_dir;                                // numbered files: the graph after each pass
  std::string reproducer_dir;         // where a failing pass leaves its input; empty: nowhere
  int64_t bisect_limit = -1;          // optional passes stop after so many changes; -1: never
  std::vector<std::string> disabled;  // optional passes that are left out
  /// Receives the name of each phase and pass of a compilation before it runs. What it throws ends the
  /// compilation.
  std::function<void(std::string_view)> on_step;
  /// Shared by all managers made from copies of these options, so that a pipeline in several parts continues
  /// the count.
  std::shared_ptr<PassProgress> progress = std::make_shared<PassProgress>();
};

/// One run of one pass.
struct PassRecord {
  std::string pass, graph;  // graph is empty for module passes
  double seconds = 0;
  bool changed = false;
};

class PassManager {
 public:
  explicit PassManager(PassManagerOptions options = {});

  /// Appends "decompose{keep=softmax},simplify".
  PassManager& add(std::string_view pipeline);
  /// Appends one graph pass with options made in C++; `call` says the same in text, for reproducers.
  PassManager& add(PassCall call, std::function<bool(Graph&)> run);

  /// All passes over one graph; module passes are refused. True when something changed.
  bool run(Graph& graph);
  /// Pass by pass, each over all graphs that stand at that time.
  bool run(Module& module);

  const std::vector<PassRecord>& records() const { return records_; }
  int64_t changes() const { return options_.progress->changes; }  // of optional passes
  /// A table of the time that each pass took, over all graphs.
  std::string timing_report() const;

 private:
  struct Stage {
    PassCall call;
    const PassInfo* info;
    std::function<bool(Graph&)> run;  // empty: info's
  };
  bool left_out(const Stage& stage) const;
  bool run_stage(const Stage& stage, Graph& graph);
  bool run_stage(const Stage& stage, Module& module);
  bool checked(const Stage& stage, Graph& graph);
  void verify_after(const Stage& stage, const std::vector<std::string>& messages) const;
  void print_graph(const Stage& stage, const Graph& graph, bool before);
  void dump(const Stage& stage, std::string_view graph, const std::string& text);
  void record(const Stage& stage, std::string_view graph, double seconds, bool changed);

  PassManagerOptions options_;
  std::vector<Stage> stages_;
  std::vector<PassRecord> records_;
};

/// A module's text with the pipeline that failed on it as its first line: a file test, and input of `smelt
/// opt`.
std::string reproducer(const Module& module, std::string_view graph, const PassCall& call);

}  // namespace smelt
