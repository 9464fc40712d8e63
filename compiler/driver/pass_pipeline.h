// The pass pipeline of a compilation, as a value: the list of all passes with their options, in order.
// compile() runs it, and `smelt compile --print-pipeline` prints it.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"

namespace smelt {

/// Returns all available passes: those of passes/ and those of codegen/.
const PassRegistry& all_passes();

/// A phase of a compilation, which runs passes or does work of another kind.
struct PipelinePhase {
  enum class Kind : uint8_t {
    passes,  // runs `calls`
    memory,  // searches for the recomputation policy and the offloaded states that fit in a budget
    tune,    // measures schedules
    emit,    // generates machine code
  };
  std::string name;
  Kind kind = Kind::passes;
  std::vector<PassCall> calls = {};
};
using PassPipeline = std::vector<PipelinePhase>;

/// Properties of a built module that determine which passes run.
struct ModuleFacts {
  bool trains = false;  // it has a loss graph, and the mode is `train`
  Mesh mesh = {};
  bool is_partitioned = false;     // its graphs are those of one rank of the mesh
  bool shares_parameters = false;  // some parameter is sharded over ranks
};
/// Returns the facts of the module if it is compiled with these options.
ModuleFacts facts_of(const Module& module, const CompileOptions& options);

/// Destinations of reports from passes; null: no report.
struct PassReports {
  FusionReport* fusions = nullptr;
  std::vector<ShardingEntry>* shardings = nullptr;
  std::vector<CollectiveEntry>* collectives = nullptr;
  std::vector<std::string>*chunks = nullptr, *layout_copies = nullptr;
  std::vector<MemoryReport>* memory = nullptr;
  RematerializeReport* recomputed = nullptr;
};

/// Returns the phases that compile() runs to compute the result `stage` (compile.h). Throws Error if
/// options.pipeline cannot be parsed.
PassPipeline pass_pipeline(const ModuleFacts& facts, const CompileOptions& options, const Target& target,
                           Stage stage = Stage::plan, const PassReports& reports = {});

// ---- passes that depend on the recomputation policy
// The search for a policy (memory_choice.h) runs only these.

/// Returns the passes that choose recomputed values.
std::vector<PassCall> recompute_passes(const CompileOptions& options, const Target& target,
                                       const PassReports& reports = {});
/// Returns the passes after recompute_passes, up to a fused module with layouts.
std::vector<PassCall> fusion_passes(const CompileOptions& options, const Target& target,
                                    const PassReports& reports = {});
/// Returns the passes that lower a fused module to a program, up to plan_memory.
std::vector<PassCall> program_passes(const CompileOptions& options, const Target& target,
                                     const PassReports& reports = {});

/// Returns print() of the pipeline that compile() runs for the same arguments.
std::string pipeline_text(const Description& description, const CompileOptions& options);

/// Returns the pipeline as text. A line such as "fuse  graph  guard_indices,fuse{...}" has the name of a
/// phase, the unit that passes run on (such as a graph), and these passes with their options. A phase with
/// passes on several kinds of units has several lines. Long lines are wrapped.
std::string print(const PassPipeline& pipeline);

}  // namespace smelt
