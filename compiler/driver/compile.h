// compile(): the whole compiler in one call, from the description of a model to a plan, with its options and
// results.
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

/// The computation of attention on a target that has attention kernels. `fused`: by attention kernels; if
/// several support the attention, the first run measures them and chooses the fastest. `unfused`: as matmuls
/// around a softmax. `automatic`: fused, unless the compiler expects unfused to be as fast, as with few keys.
/// `mma` and `wgmma`: fused, only by the kernel template of that name. `wgmma` requires sm_90 and an
/// attention that its template supports.
enum class AttentionForm : uint8_t { automatic, fused, unfused, mma, wgmma };

/// The storage of matmul weights in an inference plan, and of frozen ones in a training plan: floats; bytes
/// with a scale per row (passes/graph/precision/quantize_weights.h); or codes of few bits with a scale per
/// group (passes/graph/precision/pack_weights.h), as int8 are in training, too. uint4 is int4 with a zero per
/// group.
enum class WeightType : uint8_t { floats, int8, int4, uint4, nf4, fp8 };

/// Quantisation-aware training, and inference with what it trained: activations and weights as numbers from
/// -127 to 127 (passes/graph/precision/quantize_activations.h). automatic: int8 where a caller that has read
/// the weights finds bounds of activations in them, and sets int8 and qat_bounds; compile() itself takes it
/// for none.
enum class Qat : uint8_t { automatic, none, int8 };

/// The storage of cached keys and values: `floats`, the type of Precision; `bf16`, the same, where that is
/// bf16; or codes of 8 bits with a scale for each token and head.
enum class CacheStorage : uint8_t { floats, bf16, int8, fp8 };

/// Every member has a row in compiler/compile_options.def.
struct CompileOptions {
  /// "cpu", "cuda" (this machine's GPU), "native" (this machine's GPU, or its CPU if it has no GPU), or a GPU
  /// architecture such as "sm_90".
  std::string target = "cpu";
  int device = -1;  // GPU number for "cuda" and "native"; -1: the value of SMELT_DEVICE, or the first GPU
  Mode mode = Mode::train;
  DType storage = DType::f32;  // type of stored values: f32, bf16 or f16; kernels compute in f32
  AttentionForm attention = AttentionForm::automatic;
  /// Fusion of elementwise operations into the kernel of the matmul before them, on sm_90 in bf16 and f16
  /// (ir/target.h).
  GemmEpilogues gemm_epilogues = GemmEpilogues::measured;
  WeightType weight_type = WeightType::floats;
  /// Elements of a row that have one scale, if weight_type is one of codes; 0: a row; -1: 64, or a row for
  /// fp8 and int8.
  int64_t weight_group = -1;
  CacheStorage cache_storage = CacheStorage::floats;
  std::vector<std::string> keep_floats = {};  // patterns of names of weights that stay floats all the same
  Qat qat = Qat::automatic;
  /// Names of the bounds of the activations that are quantized, as the weights of a trained model have them;
  /// empty: the pass chooses.
  std::vector<std::string> qat_bounds = {};
  bool tf32 = false;    // on a GPU, matmuls read f32 operands with 10 bits of mantissa
  bool masters = true;  // update f32 copies (masters) of parameters that matmuls read in bf16 or f16
  /// Number of rows of logits that are in memory at a time (passes/graph/layout/chunk_rows.h); 0: all; empty:
  /// the pass chooses a number if the logits are large.
  std::optional<int64_t> chunk_rows = {};
  /// The values that a training step computes again to save memory. If memory_budget (bytes per rank) is set,
  /// the compiler chooses the fastest policy with which the states and the arena fit in the budget. States
  /// are parameters, moments, ...; the arena is the memory of all temporary values. memory_curve: also report
  /// the available policies, even without a budget.
  RecomputePolicy recompute = {};
  bool recompute_given = false;  // the user has set `recompute`, so that the budget does not choose it
  std::optional<int64_t> memory_budget = {};
  bool memory_curve = false;
  /// f32 masters and the optimizer's moments that are stored in the host's memory
  /// (passes/program/offload/offload_states.h). With a memory_budget on a GPU, the compiler chooses the
  /// number of bytes that move to the host, unless the user has set it. It moves states if moving is
  /// predicted to cost less time than recomputation, or if the budget cannot be met otherwise.
  OffloadStatesOptions offload = {};
  BuildOptions build;
  TrainingOptions training;
  /// Patterns ("*" is any text) of the names of parameters that are trained; empty: all.
  std::vector<std::string> trained = {};
  /// The mesh of the ranks that run the plan together; batches are sharded along its axis `data`. Empty: one
  /// rank.
  Mesh mesh = {};
  /// The pipeline stage that the plan is for, and the number of parts of the model on each stage. Training is
  /// a pipeline if the mesh has an axis `stage`.
  int64_t stage = 0, parts_a_stage = 1;
  BucketCollectivesOptions buckets = {};  // size of the buckets in which gradients are summed over ranks
  /// The states that are sharded over the ranks along `data` (ZeRO's stages). 0: none; 1: the optimizer's
  /// moments and the masters; 2: also gradients; 3: also parameters. Has no effect with one rank.
  int zero = 0;
  int64_t zero_bucket = 0;  // most elements per exchange with ZeRO; 0: 64 Mi, or 16 Mi if `zero` is 3
  /// Shards the rows of the residual stream along the axis `model`, too (the pass shard_sequences).
  bool sequence_parallel = false;
  /// Entries of the plan; empty: all entries of the mode. Entries of training: train_step, accumulate, apply,
  /// evaluate and logits. Entries of a pipeline stage: batch, apply, and forward.K, backward.K and evaluate.K
  /// for each of its parts K. Entries of inference: logits and, with build.caches, the entries of generation
  /// (runtime/plan/decode_contract.def).
  std::vector<std::string> entries;
  /// Graph passes that run after the passes that make the entries and before the pass `fuse`, instead of the
  /// default ones; empty: the default ones.
  std::string pipeline;
  PassManagerOptions passes;
  bool explain_fusion = false, explain_sharding = false;
  bool tune = false;     // measure other schedules on this machine's GPU (codegen/cuda/tune_schedules.h)
  std::string dump_dir;  // directory for numbered graphs, kernels and memory.json; empty: none
  bool no_plan_cache = false;  // compile_or_recall() neither reads nor writes the plan cache
  bool timing = false;  // the caller reports the time of compilation, so the plan cache is not used either
};

/// Kernel launches and moved bytes of an entry, before fusion (every primitive is a kernel) and after fusion.
/// They do not include matmuls and collectives, which have other members. Bytes are at the symbols' bounds.
struct EntrySummary {
  std::string entry;
  int64_t launches_before = 0, launches_after = 0, gemms = 0;
  int64_t bytes_before = 0, bytes_after = 0;
  int64_t gemm_bytes = 0;
  int64_t collectives = 0, collective_bytes = 0;  // number, and bytes that a rank reads and writes in them
  int64_t from_host = 0, to_host = 0;             // bytes of states that one run copies
};

/// The cost of a recomputation policy: memory as planned, time as predicted.
struct MemoryPoint {
  RecomputePolicy policy;
  int64_t state_bytes = 0, arena_bytes = 0;  // of all states; of the arena of the entry with the largest one
  int64_t kept_bytes = 0;                    // activations that forward stores for backward
  double seconds = 0;                        // of the training step
  double recomputed_flops = 0;               // of matrix products that the training step computes again

  int64_t bytes() const { return state_bytes + arena_bytes; }
};

/// Memory of a state at the symbols' bounds.
struct StateSize {
  std::string name;
  Role role = Role::state;
  std::string type;                    // of the rank's part, "f32[2,64]"
  int64_t bytes = 0, whole_bytes = 0;  // of the rank's part, and of the whole state over all ranks
  int64_t host_bytes = 0;              // part of `bytes` that is in the host's memory
};

/// All results of a compilation, for callers that inspect it. Results that the compilation did not compute
/// are empty. If the plan came from the cache, only `plan`, `seconds` and, if the caller had built it,
/// `graph` are set.
struct Compilation {
  std::unique_ptr<Module> graph;  // after building: before any pass
  std::unique_ptr<Module> fused;  // after assign_layout
  Program program;
  Plan plan;
  FusionReport fusions;   // only with explain_fusion
  std::string shardings;  // only with explain_sharding: one line per value and per collective
  std::vector<std::string> layout_copies;  // a text per copy that assign_layout inserted
  std::vector<std::string> chunks;         // a sentence per matmul that chunk_rows split
  std::vector<MemoryReport> memory;
  int64_t offload_bytes = 0;          // of states that are in the host's memory because of the budget
  std::vector<MemoryPoint> curve;     // the fastest first; only with memory_curve or a budget
  std::vector<EntrySummary> summary;  // one row per entry
  std::vector<TunedKernel> tuned;     // kernels whose schedules were measured; only with `tune`
  std::vector<std::pair<std::string, double>> seconds;  // name of each phase, and its seconds
  std::string pass_timing;                              // table of the time of each pass
};

/// The last result that compile() computes: a member of Compilation.
enum class Stage : uint8_t { graph, fused, program, plan };

/// Returns the target that the options name. "native" is the GPU that this process would use, or the CPU if
/// there is none. Throws Error for "cuda" if there is no GPU.
Target resolved_target(const CompileOptions& options);

/// Returns why the other options exclude Qat::int8; empty: they do not. Throws Error as resolved_target does.
std::string conflict_with_int8(const CompileOptions& options);

/// Returns the options to build a description with.
BuildOptions build_options(const CompileOptions& options);

/// Runs the compiler up to and including `stage`, without the plan cache (plan_cache.h). A plan is ready to
/// run or to save (runtime/plan/plan_file.h).
Compilation compile(const Description& description, const CompileOptions& options, Stage stage = Stage::plan);
/// Does the same for a module that was built from a text-form graph or with GraphBuilder.
Compilation compile(std::unique_ptr<Module> module, const CompileOptions& options, Stage stage = Stage::plan);

}  // namespace smelt
