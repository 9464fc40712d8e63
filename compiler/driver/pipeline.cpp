// The order of the compiler, from description to plan.
#include <chrono>

#include "codegen/cuda/tune_schedules.h"
#include "codegen/make_plan.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/memory_choice.h"
#include "compiler/driver/option_forms.h"
#include "compiler/driver/pass_pipeline.h"
#include "compiler/driver/pipeline_stages.h"
#include "compiler/driver/summary.h"
#include "frontend/tensor_parallel.h"
#include "ir/graph/verifier.h"
#include "runtime/base/error.h"
#include "runtime/cuda/device.h"

namespace smelt {
namespace {

constexpr int64_t kStepTokens = 512;  // of a run for serving on a GPU, unless an option says otherwise

/// Announces each phase before it runs, and records its seconds, in order.
class PhaseClock {
 public:
  PhaseClock(const CompileOptions& options, Compilation& result) : options_(options), result_(result) {}
  void start(std::string_view phase) const {
    if (options_.passes.on_step) options_.passes.on_step(phase);
  }
  void end(std::string phase) {
    const auto now = std::chrono::steady_clock::now();
    result_.seconds.emplace_back(std::move(phase), std::chrono::duration<double>(now - begin_).count());
    begin_ = now;
  }

 private:
  const CompileOptions& options_;
  Compilation& result_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

AttentionTemplates templates_of(AttentionForm form) {
  if (form == AttentionForm::mma) return AttentionTemplates::mma;
  return form == AttentionForm::wgmma ? AttentionTemplates::wgmma : AttentionTemplates::measured;
}

void check_fp8(const CompileOptions& options, const Target& target) {
  if (!options.training.fp8 && !options.training.fp8_weights.empty())
    fail("--fp8-weights is for --precision=fp8");
  if (!options.training.fp8) return;
  if (options.mode != Mode::train)
    fail(
        "--precision=fp8 is for training: for inference give --precision=bf16, and for weights in fp8 "
        "--weight-type=fp8");
  if (target.can.launches && !target.can.scaled_f8)
    fail("--precision=fp8 needs a GPU from sm_89 on, and the target is {}: give --precision=bf16",
         target.str());
  if (options.weight_type != WeightType::floats)
    fail("--precision=fp8 rounds weights itself: give --precision=bf16 or --weight-type=float");
  if (options.build.same_bits)
    fail("--same-bits and --precision=fp8: the scale of a tensor depends on the whole batch; leave one out");
  if (options.mesh.ranks() > 1)
    fail("--precision=fp8 is for one rank, and --mesh has {}: give --precision=bf16", options.mesh.ranks());
}

std::string conflict_with_int8(const CompileOptions& options, const Target& target) {
  if (options.weight_type != WeightType::floats)
    return "--qat=int8 stores the weights that it multiplies as bytes: give --weight-type=float";
  if (options.training.fp8) return "--qat=int8 and --precision=fp8 both round products: leave one out";
  if (options.build.same_bits) return "--qat=int8 and --same-bits: leave one out";
  if (options.mesh.ranks() > 1)
    return fmt::format("--qat=int8 is for one rank, and --mesh has {}", options.mesh.ranks());
  if (options.mode == Mode::infer && !target.can.i8_products)
    return fmt::format(
        "--qat=int8: the target {} does not multiply bytes: give --target=cpu, or a GPU from sm_80 on",
        target.str());
  return "";
}

void check_qat(const CompileOptions& options, const Target& target) {
  if (options.qat != Qat::int8) return;
  if (const std::string conflict = conflict_with_int8(options, target); !conflict.empty())
    fail("{}", conflict);
  if (options.build.lora || options.build.adapters > 0)
    fail(
        "adapters (--lora, --adapter, --adapters) are not trained or run beside weights in int8 (--qat=int8, "
        "or weights "
        "with bounds of activations): give --qat=none, which computes in floats, or leave the adapters out");
}

void check_precision(const CompileOptions& options, const Target& target) {
  if (options.mode == Mode::train && !options.masters && options.storage != DType::bf16)
    fail("parameters without f32 masters are bf16, not {}: updates are too small for other types",
         name(options.storage));
  const bool has_groups = options.weight_type > WeightType::int8 ||
                          (options.weight_type == WeightType::int8 && options.mode == Mode::train);
  if (!has_groups && options.weight_group >= 0)
    fail("--weight-group is for a --weight-type of int4, uint4, nf4 or fp8, and in training int8");
  if (!has_groups && !options.training.fp8 && options.qat != Qat::int8 && !options.keep_floats.empty())
    fail(
        "--keep-floats is for a --weight-type of int4, uint4, nf4 or fp8, in training int8, and for "
        "--precision=fp8 or --qat");
  check_fp8(options, target);
  check_qat(options, target);
  if (options.tf32 && !target.can.tf32)
    fail(
        "tf32 is a precision of GPUs, and the target is {}: give --target=native or sm_80 and later, or "
        "--precision=fp32",
        target.str());
}

void check_same_bits(const CompileOptions& options, const Target& target) {
  if (!options.build.same_bits) return;
  if (!target.can.mma_sync)
    fail(
        "--same-bits is for GPUs from sm_80 on, and the target is {}, whose matmul library adds in an order "
        "that depends on the number of rows: give --target=native or sm_80 and later, or leave it out",
        target.str());
  if (options.storage == DType::f32)
    fail(
        "--same-bits needs --precision=bf16 or fp16: the matmuls of f32 are the library's, whose order of "
        "sums depends on the number of rows");
  if (options.tune)
    fail("--tune chooses the order of sums of each kernel by measurement: leave it or --same-bits out");
  if (options.attention == AttentionForm::unfused)
    fail("--attention=unfused sums as many keys as an entry may have: leave it or --same-bits out");
  if (options.mesh.ranks() > 1)
    fail("--same-bits is for one rank, and --mesh has {}: sums over ranks depend on their number",
         options.mesh.ranks());
}

/// Returns the target with the options of code generation. Throws Error where options contradict one another.
Target checked_target(const CompileOptions& options) {
  Target target = resolved_target(options);
  target.attention = templates_of(options.attention);
  target.gemm_epilogues = options.gemm_epilogues, target.same_bits = options.build.same_bits;
  check_precision(options, target);
  check_same_bits(options, target);
  if (options.mode == Mode::train && pipeline_stages(options.mesh) > 1) check_stages(options);
  return target;
}

/// Sets the mesh of the options, where it has several ranks. A graph may bring axes of its own.
void set_mesh(Module& module, const Mesh& mesh) {
  if (mesh.ranks() == 1) return;
  Mesh others = mesh;
  std::erase_if(others.axes, [&](const MeshAxis& axis) { return module.mesh().find(axis.name).has_value(); });
  if (const std::string axis = unknown_axis(others); !axis.empty())
    fail("--mesh {}: nothing is divided along the axis {}; expected data, model or stage", mesh_text(mesh),
         axis);
  module.set_mesh(mesh);
}

class Compiler {
 public:
  Compiler(CompileOptions options, Compilation& result)
      : options_(std::move(options)),
        result_(result),
        clock_(options_, result),
        manager_(options_.passes, all_passes()) {}

  void run(std::unique_ptr<Module> module, Stage stage) {
    verify_or_throw(*module);
    clock_.end("build");
    result_.graph = module->clone();
    if (stage == Stage::graph) return;
    target_ = checked_target(options_);
    set_mesh(*module, options_.mesh);
    facts_ = facts_of(*module, options_);
    module_ = std::move(module);
    run_phases(stage);
    result_.fused = std::move(module_);
    result_.pass_timing = manager_.timing_report();
  }

 private:
  PassPipeline pipeline(Stage stage) {
    PassReports reports{
        .chunks = &result_.chunks, .layout_copies = &result_.layout_copies, .memory = &result_.memory};
    if (options_.explain_fusion) reports.fusions = &result_.fusions;
    if (options_.explain_sharding) reports.shardings = &shardings_, reports.collectives = &collectives_;
    return pass_pipeline(facts_, options_, target_, stage, reports);
  }

  /// Runs the phases. The search for memory changes the options, and so the phases after it.
  void run_phases(Stage stage) {
    PassPipeline phases = pipeline(stage);
    for (size_t i = 0; i < phases.size(); ++i) {
      clock_.start(phases[i].name);
      run(phases[i]);
      clock_.end(phases[i].name);
      if (phases[i].kind == PipelinePhase::Kind::memory) phases = pipeline(stage);
    }
  }

  void run(const PipelinePhase& phase) {
    switch (phase.kind) {
      case PipelinePhase::Kind::passes:
        return run_passes(phase);
      case PipelinePhase::Kind::memory:
        return choose_policy();
      case PipelinePhase::Kind::tune:
        result_.tuned = tune_schedules(result_.program, target_, options_.device);
        return;
      case PipelinePhase::Kind::emit:
        if (options_.passes.verify_each) verify_code(result_.program, target_);
        result_.plan = make_plan(result_.program, target_);
    }
  }

  void run_passes(const PipelinePhase& phase) {
    if (phase.name == "fuse") result_.summary = summarise_unfused(*module_);
    manager_.run(phase.calls, *module_, result_.program);
    if (phase.name == "passes") check_ranks();
    if (phase.name == "lower") summarise_program(result_.program, result_.summary);
  }

  void check_ranks() {
    if (module_->mesh().empty()) return;
    if (!module_->partitioned)
      fail("--pipeline leaves out propagate_shardings and partition, which the mesh {} needs",
           str(module_->mesh()));
    if (options_.explain_sharding) result_.shardings = explain(shardings_) + explain(collectives_);
  }

  /// Chooses the values that backward computes again, so that the plan fits the budget.
  void choose_policy() {
    result_.curve = memory_curve(*module_, target_, options_);
    if (options_.memory_budget) choose_within(*options_.memory_budget);
  }

  /// Chooses within a budget. On a GPU states may move to the host's memory, where the options do not give
  /// their number.
  void choose_within(int64_t budget) {
    if (target_.can.own_memory && options_.offload.automatic && options_.mode == Mode::train)
      if (const auto choice = offload_within(*module_, target_, options_, result_.curve, budget)) {
        options_.recompute = choice->recompute, options_.offload = choice->offload;
        result_.offload_bytes = choice->offload.bytes;
        return;
      }
    options_.recompute = fastest_within(result_.curve, budget);
  }

  CompileOptions options_;  // a budget of memory decides on the policy
  Target target_;
  ModuleFacts facts_;
  std::unique_ptr<Module> module_;
  Compilation& result_;
  PhaseClock clock_;
  PassManager manager_;
  std::vector<ShardingEntry> shardings_;
  std::vector<CollectiveEntry> collectives_;
};

}  // namespace

std::string conflict_with_int8(const CompileOptions& options) {
  return conflict_with_int8(options, resolved_target(options));
}

Target resolved_target(const CompileOptions& options) {
  const bool here = options.target == "native" || options.target == "cuda";
  if (!here) return parse_target(options.target);
  if (cuda::device_count() == 0) {
    if (options.target == "native") return {};
    fail(
        "--target=cuda: this machine has no GPU that works (smelt doctor says why); give --target=cpu, or "
        "the "
        "architecture of another machine's, such as --target=sm_90");
  }
  const cuda::DeviceInfo gpu = cuda::device_info(options.device);
  return Target::gpu(gpu.compute_capability, gpu.model);
}

std::string pipeline_text(const Description& description, const CompileOptions& options) {
  const std::unique_ptr<Module> module = description.build(build_options(options));
  set_mesh(*module, options.mesh);
  return print(pass_pipeline(facts_of(*module, options), options, checked_target(options)));
}

namespace {

/// Throws Error for a share that only training uses.
void refuse_for_inference(const char* option, const std::optional<double>& share) {
  if (share.value_or(0) > 0) fail("--{} is for training: give --mode=train, or leave it out", option);
}

CacheCodes cache_codes(const CompileOptions& options) {
  const CacheStorage storage = options.cache_storage;
  if (storage == CacheStorage::bf16 && options.storage != DType::bf16)
    fail("--cache-type=bf16 is for --precision=bf16: leave it out, or give int8 or fp8");
  if (storage < CacheStorage::int8) return CacheCodes::none;
  if (options.mode == Mode::train)
    fail("--cache-type is for --mode=infer: training keeps no keys and values; leave it out");
  if (options.build.same_bits)
    fail(
        "--same-bits and --cache-type: prompts and tokens read codes in different orders of sums; leave one "
        "out");
  return storage == CacheStorage::int8 ? CacheCodes::int8 : CacheCodes::fp8;
}

}  // namespace

BuildOptions build_options(const CompileOptions& options) {
  if (options.mode == Mode::infer) {
    refuse_for_inference("dropout", options.build.dropout);
    refuse_for_inference("layer-dropout", options.build.layer_dropout);
    refuse_for_inference("label-smoothing", options.build.label_smoothing);
  }
  BuildOptions build = options.build;
  build.training = options.mode == Mode::train;
  if (options.mesh.ranks() > 1) build.mesh = options.mesh;
  build.cache_type = options.storage, build.cache_codes = cache_codes(options);
  if (options.mode == Mode::infer && !build.has_sampler)
    build.has_sampler = resolved_target(options).can.launches;
  const bool may_mix = build.cache_pages > 0 && build.has_sampler.value_or(false);
  if (build.step_tokens.value_or(0) > 0 && !may_mix)
    fail("--step-tokens={}: expected --mode=infer, caches in pages (--cache-pages) and --sampler",
         *build.step_tokens);
  if (may_mix && !build.step_tokens)
    build.step_tokens = resolved_target(options).can.launches ? kStepTokens : 0;
  build.tiles_prompts = may_mix && resolved_target(options).can.attention_kernels &&
                        (options.storage == DType::bf16 || options.storage == DType::f16);
  return build;
}

Compilation compile(std::unique_ptr<Module> module, const CompileOptions& options, Stage stage) {
  Compilation result;
  Compiler(options, result).run(std::move(module), stage);
  return result;
}

Compilation compile(const Description& description, const CompileOptions& options, Stage stage) {
  return compile(description.build(build_options(options)), options, stage);
}

}  // namespace smelt
