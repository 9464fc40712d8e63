// The whole compiler in one call: from a model description to a plan.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/tune_schedules.h"
#include "frontend/description.h"
#include "ir/program/program.h"
#include "ir/target.h"
#include "passes/graph/autodiff/recompute_policy.h"
#include "passes/graph/fusion/fuse.h"
#include "passes/graph/training/training_entries.h"
#include "passes/pass_manager.h"
#include "passes/program/memory/plan_memory.h"
#include "passes/program/offload/offload_states.h"
#include "passes/program/sharding/bucket_collectives.h"
#include "runtime/plan/plan.h"

namespace smelt {

enum class Mode : uint8_t { train, infer };

/// The computation of attention on a target that has kernels for it: by these kernels (fused), as matmuls
/// around a softmax (unfused), or by the faster of the two, as measured for that number of keys (automatic).
/// With several kernels, the first run takes the fastest. mma and wgmma use only that template; wgmma needs
/// sm_90 and an attention that its template takes.
enum class AttentionForm : uint8_t { automatic, fused, unfused, mma, wgmma };

/// Every member has a row in compiler/compile_options.def.
struct CompileOptions {
  /// "cpu"; "cuda": this machine's GPU; "native": the same, or its CPU where there is none; "sm_90", ...
  std::string target = "cpu";
  int device = -1;  // "cuda" and "native": the GPU's number; -1: that of SMELT_DEVICE, or the first
  Mode mode = Mode::train;
  DType storage = DType::f32;  // of what kernels store: bf16, f16; arithmetic is f32
  AttentionForm attention = AttentionForm::automatic;
  GemmEpilogues gemm_epilogues =
      GemmEpilogues::measured;  // on sm_90 in bf16 and f16 (codegen/launches/launch_passes.h)
  bool int8_weights = false;    // in inference (passes/graph/precision/quantize_weights.h)
  bool tf32 = false;            // matmuls read f32 operands with 10 bits of mantissa, on a GPU
  bool masters = true;          // f32 parameters next to the narrow ones that matmuls read
  /// Rows of logits (passes/graph/layout/chunk_rows.h) that are in memory together, for logits of any size;
  /// 0: all; nothing: that pass's own choice, for large ones.
  std::optional<int64_t> chunk_rows = {};
  /// The values that a training step computes again to save memory. A budget, in bytes of states and the
  /// arena on each rank, chooses the fastest policy that fits. memory_curve: only report the available
  /// policies.
  RecomputePolicy recompute = {};
  bool recompute_given = false;  // by the user: a budget does not choose then
  std::optional<int64_t> memory_budget = {};
  bool memory_curve = false;
  /// Masters and moments in the memory of the host (passes/program/offload/offload_states.h). On a GPU, a
  /// budget that is not met otherwise, or not as fast, moves as many as exceed it.
  OffloadStatesOptions offload = {};
  BuildOptions build;
  TrainingOptions training;
  /// Patterns ("*" is any text) of the names of parameters that are trained; empty: all.
  std::vector<std::string> trained = {};
  /// The mesh of the ranks that run the plan together; batches are sharded along its axis `data`. Empty: one
  /// rank.
  Mesh mesh = {};
  /// The stage that the plan is for, and the number of parts of the model on each stage, where the mesh has
  /// an axis `stage`; training is then a pipeline.
  int64_t stage = 0, parts_a_stage = 1;
  BucketCollectivesOptions buckets = {};
  /// The states that ranks along `data` share (ZeRO's stages): 0: none, 1: the optimizer's and masters, 2:
  /// also gradients, 3: also parameters. Has no effect with one rank.
  int zero = 0;
  int64_t zero_bucket = 0;  // elements of the flat states that are exchanged together; 0: as is good for GPUs
  /// Shards the rows of the residual stream along `model`, too (shard_sequences).
  bool sequence_parallel = false;
  /// Entries to make; empty: all of the mode (train: train_step, accumulate, apply, evaluate, logits, or of a
  /// stage of a pipeline batch, forward.K, backward.K, evaluate.K of its parts K and apply; infer: logits).
  std::vector<std::string> entries;
  /// Replaces the graph passes between the training entries and `fuse`; empty: the default of pipeline.cpp.
  std::string pipeline;
  PassManagerOptions passes;
  bool explain_fusion = false, explain_sharding = false;
  bool tune = false;           // time other schedules on this machine's GPU (codegen/cuda/tune_schedules.h)
  std::string dump_dir;        // numbered graphs, kernels and memory.json
  bool no_plan_cache = false;  // compile_or_recall() compiles
  bool timing = false;         // the seconds of compiling are wanted, so that no plan is taken from the cache
};

/// Bytes moved and launches of an entry, before fusion (every primitive its own kernel) and after.
struct EntrySummary {
  std::string entry;
  int64_t launches_before = 0, launches_after = 0, gemms = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of all but gemms, at the bounds
  int64_t gemm_bytes = 0;
  int64_t collectives = 0, collective_bytes = 0;  // what a rank gives and gets
  int64_t from_host = 0, to_host = 0;             // bytes of states that one run copies
};

/// The cost of a policy of recomputation: memory as planned, time as predicted.
struct MemoryPoint {
  RecomputePolicy policy;
  int64_t state_bytes = 0, arena_bytes = 0;  // the largest arena of all entries
  int64_t kept_bytes = 0;                    // activations that forward leaves for backward
  double seconds = 0;                        // of the training step
  double recomputed_flops = 0;               // of matrices, in the training step

  int64_t bytes() const { return state_bytes + arena_bytes; }
};

/// Memory of a state: a rank's part, and over all ranks.
struct StateSize {
  std::string name;
  Role role = Role::state;
  std::string type;  // of the rank's part, "f32[2,64]"
  int64_t bytes = 0, whole_bytes = 0;
  int64_t host_bytes = 0;  // of `bytes`, in the memory of the host
};

/// All results of a compilation, for callers that inspect it. Stages that were not reached are empty; a plan
/// from the cache has only `seconds` and, where the caller had built it, `graph`.
struct Compilation {
  std::unique_ptr<Module> graph;  // after building: before any pass
  std::unique_ptr<Module> fused;  // after assign_layout
  Program program;
  Plan plan;
  FusionReport fusions;   // where asked for
  std::string shardings;  // where asked for: a line a value, and one a collective
  std::vector<std::string> layout_copies;
  std::vector<std::string> chunks;  // of chunk_rows: one sentence for every matmul taken apart
  std::vector<MemoryReport> memory;
  int64_t offload_bytes = 0;       // of states that a budget moves to the host's memory
  std::vector<MemoryPoint> curve;  // where asked for, or chosen from: the fastest first
  std::vector<EntrySummary> summary;
  std::vector<TunedKernel> tuned;
  std::vector<std::pair<std::string, double>> seconds;  // by phase
  std::string pass_timing;
};

enum class Stage : uint8_t { graph, fused, program, plan };

/// The target that the options name; "native" is the GPU that this process would use, or the CPU. Throws
/// Error for "cuda" where there is no GPU.
Target resolved_target(const CompileOptions& options);

/// Returns the options to build a description with.
BuildOptions build_options(const CompileOptions& options);

/// Runs the compiler up to and including `stage`, without the plan cache (plan_cache.h). A plan is ready to
/// run or to save (runtime/plan/plan_file.h).
Compilation compile(const Description& description, const CompileOptions& options, Stage stage = Stage::plan);
/// The same for a module (a text-form graph, GraphBuilder).
Compilation compile(std::unique_ptr<Module> module, const CompileOptions& options, Stage stage = Stage::plan);

}  // namespace smelt
