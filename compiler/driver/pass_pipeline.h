// The pass pipeline of a compilation, as a value: every pass with its options, in order. compile() runs it,
// and `smelt compile --print-pipeline` prints it.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/compile.h"
#include "passes/graph/autodiff/rematerialize.h"
#include "passes/graph/sharding/partition.h"
#include "passes/graph/sharding/propagate_shardings.h"

namespace smelt {

/// All passes that there are: those of passes/ and of codegen/.
const PassRegistry& all_passes();

/// A phase of a compilation: passes, or work of another kind.
struct PipelinePhase {
  enum class Kind : uint8_t {
    passes,
    memory,  // searches for the recomputation policy and the offloaded states that fit in a budget
    tune,    // measures schedules
    emit,    // generates machine code
  };
  std::string name;
  Kind kind = Kind::passes;
  std::vector<PassCall> calls = {};
};
using PassPipeline = std::vector<PipelinePhase>;

/// Facts of a built module that decide which passes run.
struct ModuleFacts {
  bool trains = false;  // it has a loss graph, and the mode is to train
  Mesh mesh = {};
  bool is_partitioned = false;     // its graphs are those of one rank of the mesh
  bool shares_parameters = false;  // ranks have parts of a parameter
};
ModuleFacts facts_of(const Module& module, const CompileOptions& options);

/// Receivers of reports from passes; null: the reports are not made.
struct PassReports {
  FusionReport* fusions = nullptr;
  std::vector<ShardingEntry>* shardings = nullptr;
  std::vector<CollectiveEntry>* collectives = nullptr;
  std::vector<std::string>*chunks = nullptr, *layout_copies = nullptr;
  std::vector<MemoryReport>* memory = nullptr;
  RematerializeReport* recomputed = nullptr;
};

/// The whole pipeline up to and including `stage`. Throws Error where the options' own pipeline has a fault.
PassPipeline pass_pipeline(const ModuleFacts& facts, const CompileOptions& options, const Target& target,
                           Stage stage = Stage::plan, const PassReports& reports = {});

// ---- the phases that depend on what backward recomputes: searches for memory run them alone
std::vector<PassCall> recompute_passes(const CompileOptions& options, const Target& target,
                                       const PassReports& reports = {});
std::vector<PassCall> fusion_passes(const CompileOptions& options, const Target& target,
                                    const PassReports& reports = {});
/// Returns the passes from a fused module to a program with its memory.
std::vector<PassCall> program_passes(const CompileOptions& options, const Target& target,
                                     const PassReports& reports = {});

/// The printed pipeline of compile() for the same arguments.
std::string pipeline_text(const Description& description, const CompileOptions& options);

/// A line per unit of each phase: "fuse  graph  guard_indices,fuse{...},...", wrapped.
std::string print(const PassPipeline& pipeline);

}  // namespace smelt
