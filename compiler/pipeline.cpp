// The order of the compiler, from description to plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "codegen/cuda/tune_schedules.h"
#include "codegen/make_plan.h"
#include "compiler/compile.h"
#include "compiler/make_program.h"
#include "compiler/memory_curve.h"
#include "compiler/offload_choice.h"
#include "compiler/pipeline_stages.h"
#include "compiler/sharing.h"
#include "compiler/summary.h"
#include "ir/analysis/attention_form.h"
#include "ir/verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/autodiff/differentiate.h"
#include "passes/memory/chunk_rows.h"
#include "passes/pipeline/pipeline_entries.h"
#include "passes/pipeline/split_phases.h"
#include "passes/precision/quantize_weights.h"
#include "passes/sharding/check_collectives.h"
#include "passes/simplify/decompose.h"
#include "passes/training/evaluation_entry.h"
#include "passes/training/flatten_parameters.h"
#include "passes/training/freeze_parameters.h"
#include "runtime/cuda/device.h"
#include "runtime/error.h"

namespace smelt {
namespace {

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

/// Up to so many keys the matrices of scores are small, and batched matmuls as fast (docs/benchmarks.md). It
/// is decided here and not measured: what backward finds in memory differs, so a plan with both would need
/// the memory of both and twice the steps between them.
constexpr int64_t kMostUnfusedKeys = 128;

AttentionTemplates templates_of(AttentionForm form) {
  if (form == AttentionForm::mma) return AttentionTemplates::mma;
  return form == AttentionForm::wgmma ? AttentionTemplates::wgmma : AttentionTemplates::measured;
}

class Compiler {
 public:
  Compiler(CompileOptions options, Compilation& result)
      : options_(std::move(options)), result_(result), clock_(options_, result) {}

  void run(std::unique_ptr<Module> module, Stage stage) {
    verify_or_throw(*module);
    clock_.end("build");
    result_.graph = module->clone();
    if (stage == Stage::graph) return;
    Target target = resolved_target(options_);
    target.attention = templates_of(options_.attention);
    target.gemm_bodies = options_.gemm_bodies;
    check_precision(target);
    if (has_stages()) check_stages(options_);
    if (options_.mesh.ranks() > 1) module->set_mesh(options_.mesh);

    clock_.start("entries");
    make_entries(*module, target);
    clock_.end("entries");
    optimise(*module, target);
    clock_.end("passes");
    if (options_.memory_budget || options_.memory_curve) choose_policy(*module, target);
    clock_.start("fuse");
    recompute(*module, {options_, target, result_});
    if (has_stages()) split_phases(*module, options_.training.loss);
    result_.summary = summarise_unfused(*module);
    fuse_and_place(*module, {options_, target, result_});
    clock_.end("fuse");
    result_.fused = std::move(module);
    if (stage == Stage::fused) return;

    clock_.start("lower");
    make_program({options_, target, result_});
    summarise_program(result_.program, result_.summary);
    clock_.end("lower");
    if (options_.tune) {
      clock_.start("tune");
      result_.tuned = tune_schedules(result_.program, target, options_.device);
      clock_.end("tune");
    }
    if (stage == Stage::program) return;

    clock_.start("emit");
    result_.plan = make_plan(result_.program, target);
    clock_.end("emit");
  }

 private:
  void check_precision(const Target& target) const {
    if (options_.mode == Mode::train && !options_.masters && options_.storage != DType::bf16)
      fail("parameters without f32 masters are bf16, not {}: updates are too small for other types",
           name(options_.storage));
    if (options_.mode == Mode::train && options_.int8_weights)
      fail(
          "weights of int8 are for inference, since no update would change them: give --mode=infer, or "
          "--weight-type=float");
    if (options_.tf32 && !target.has_tf32())
      fail(
          "tf32 is a precision of GPUs, and the target is {}: give --target=native or sm_80 and later, or "
          "--precision=fp32",
          target.str());
  }

  bool has_stages() const { return options_.mode == Mode::train && pipeline_stages(options_.mesh) > 1; }

  /// 1. Weights that share an input become one; then the loss graph becomes the entries of a training plan.
  void make_entries(Module& module, const Target& target) {
    if (options_.mode == Mode::train && module.find_graph(options_.training.loss))
      prepare_training(module, target);
    else
      prepare_inference(module, target);
    keep_entries(module);
  }

  void prepare_training(Module& module, const Target& target) {
    if (wants("evaluate")) make_evaluation_entry(module, options_.training.loss);
    freeze_parameters(module, {options_.trained});
    PassManager before = manager();
    before.add("bound_ids,simplify,refine_axes,simplify,raise_attention,sink_masks,share_heads");
    before.add({"decompose", {}},
               [&](Graph& g) { return decompose(g, {composites_with_vjp(), kept_by(target)}); });
    before.add("simplify,refine_axes,simplify,sink_concats,simplify");
    if (!has_stages() && !shares_parameters(module)) before.add("merge_gemms");
    before.run(module);
    if (has_stages()) {
      cut_model(module, options_, target);
      PassManager behind = manager();
      if (!shares_parameters(module)) behind.add("merge_gemms");
      behind.run(module);
    }
    if (shares_parameters(module)) plan_neighbours(module, manager());
    flatten_parameters(module, in_buckets(flattening(), module, sharing()));
    if (has_stages())
      make_pipeline_entries(module, training_options());
    else
      make_training_entries(module, training_options());
    llvm::erase_if(module.graphs, [&](const auto& graph) { return graph->name == options_.training.loss; });
  }

  /// What adapters and patterns of names leave as it is, the model's own weights have.
  FlattenParametersOptions flattening() const {
    return {.storage = options_.storage,
            .masters = options_.masters,
            .frozen_from_model = options_.build.lora || !options_.trained.empty()};
  }

  ShardTrainingOptions sharing() const { return {.zero = options_.zero, .bucket = options_.zero_bucket}; }

  TrainingOptions training_options() const {
    TrainingOptions training = options_.training;
    training.flat_sums = options_.zero >= 2 && options_.mesh.ranks() > 1;
    training.optimizer.scaling.on = options_.storage == DType::f16;
    // Without sums the state "gradients" is free for those of train_step.
    if (!wants("accumulate") && !wants("apply")) training.accumulation = false;
    return training;
  }

  void prepare_inference(Module& module, const Target& target) {
    PassManager before = manager();
    before.add("bound_ids,simplify,refine_axes,simplify,raise_attention,sink_masks,share_heads");
    before.add({"decompose", {}},
               [&](Graph& g) { return decompose(g, {kept_in_inference(), kept_by(target)}); });
    before.add("simplify,refine_axes,simplify,sink_concats,simplify");
    const bool shared = shares_parameters(module);
    if (!shared) before.add("merge_gemms");
    before.run(module);
    if (shared) plan_neighbours(module, manager());
    flatten_parameters(module, {options_.storage, false});  // nothing is updated: no masters
    if (!shared) quantize(module, target);
  }

  /// A pipeline of the caller's may differentiate: the derivatives that a graph states are needed until then.
  std::vector<Op> kept_in_inference() const {
    std::vector<Op> kept = {Op::attention, Op::attention_grad};
    if (!options_.pipeline.empty()) kept.insert(kept.end(), {Op::custom_vjp, Op::cotangent});
    return kept;
  }

  void quantize(Module& module, const Target& target) const {
    if (options_.int8_weights) quantize_weights(module, {.in_place = !target.is_cuda()});
  }

  bool wants(const std::string& entry) const {
    return options_.entries.empty() || llvm::is_contained(options_.entries, entry);
  }

  void keep_entries(Module& module) {
    if (options_.entries.empty()) return;
    for (const std::string& name : options_.entries)
      if (!module.find_graph(name))
        fail("there is no entry @{}; there are: {}{}", name, names(module), hint_of_training(name));
    llvm::erase_if(module.graphs,
                   [&](const auto& graph) { return !llvm::is_contained(options_.entries, graph->name); });
  }

  /// What a description needs so that entries of training are made from it.
  std::string hint_of_training(const std::string& entry) const {
    static constexpr std::string_view kMade[] = {"train_step", "accumulate", "apply", "evaluate"};
    if (!llvm::is_contained(kMade, entry)) return "";
    if (options_.mode != Mode::train) return fmt::format("; @{} is made in the mode train", entry);
    return fmt::format("; @{} is made from a graph @{}, which this model does not have (docs/models.md)",
                       entry, options_.training.loss);
  }

  static std::string names(const Module& module) {
    std::string text;
    for (const auto& graph : module.graphs) text += (text.empty() ? "@" : ", @") + graph->name;
    return text;
  }

  /// An attention stays where the target takes it whole, with its body, forward and backward.
  std::function<bool(const Node&)> kept_by(const Target& target) const {
    return [this, target](const Node& node) {
      const bool attends = node.is(Op::attention) || node.is(Op::attention_grad);
      return !attends || keeps_attention(node, target);
    };
  }

  bool keeps_attention(const Node& node, const Target& target) const {
    const auto reason = why_apart(node, target);
    if (reason && options_.explain_fusion) note_refusal(node, *reason);
    return !reason;
  }

  std::optional<std::string> why_apart(const Node& node, const Target& target) const {
    if (auto reason = target.refuses(node, options_.storage)) return reason;
    if (target.is_cuda() && options_.mode == Mode::train && options_.storage == DType::f32)
      return "in f32 no kernel computes its gradient";
    if (options_.attention == AttentionForm::unfused) return "--attention=unfused asks for matmuls";
    const int64_t keys = node.graph().module().symbols.upper(node.operand(1)->shape()[1]);
    const bool is_forced = options_.attention != AttentionForm::automatic;
    // On a GPU, launches are what short sequences take their time for; a CPU has blocks of few queries alone.
    const bool is_quicker = options_.mode == Mode::infer && (target.is_cuda() || may_have_few_queries(node));
    if (is_forced || keys > kMostUnfusedKeys || is_quicker) return std::nullopt;
    return fmt::format("up to {} keys matmuls are as fast, and there are at most {}", kMostUnfusedKeys, keys);
  }

  /// Graphs have clones, and passes ask more than once.
  void note_refusal(const Node& node, const std::string& reason) const {
    FusionReport::Refusal refusal{fmt::format("{} \"{}\"", info(node.op()).name, node.source), reason,
                                  score_bytes(node)};
    if (!llvm::is_contained(result_.fusions.refusals, refusal))
      result_.fusions.refusals.push_back(std::move(refusal));
  }

  /// Of the matrices of scores, which lie in memory where an attention is taken apart.
  int64_t score_bytes(const Node& attention) const {
    const Shape &q = attention.operand(0)->shape(), &k = attention.operand(1)->shape();
    return bytes_at_bounds(attention.graph().module().symbols, q[0] * q[1] * q[2] * k[1], options_.storage);
  }

  std::vector<std::string> share_batches(Module& module) const {
    return options_.mode == Mode::train ? smelt::share_batches(module, sharing())
                                        : std::vector<std::string>();
  }

  /// --pipeline: batches are shared before the passes that derive from it how ranks share the rest.
  void run_chosen(Module& module) {
    std::vector<std::string> addends;
    bool shared = false;
    for (PassCall& call : parse_pipeline(options_.pipeline)) {
      if (!shared && (call.name == "propagate_shardings" || call.name == "partition"))
        addends = share_batches(module), shared = true;
      if (call.name == "partition" && !addends.empty())
        call.arguments.emplace_back("addends", fmt::format("{}", fmt::join(addends, "+")));
      PassManager pass = manager();
      pass.add(call.str());
      pass.run(module);
      result_.pass_timing += pass.timing_report();
    }
  }

  /// 2. Composites go but for those that the target keeps; reductions become independent; backward keeps
  /// little.
  void optimise(Module& module, const Target& target) {
    if (options_.pipeline.empty()) {
      PassManager before = manager();
      before.add({"decompose", {}}, [&](Graph& g) {
        return decompose(g, {{Op::attention, Op::attention_grad}, kept_by(target)});
      });
      before.add("drop_stops,simplify,rewrite_reductions,simplify");
      before.run(module);
      result_.pass_timing += before.timing_report();
      const bool shared = shares_parameters(module);
      share_over_ranks(module, options_, target, sharing(), result_);
      if (shared) quantize(module, target);  // a rank's parts
    }
    PassManager passes = manager();
    if (options_.pipeline.empty()) {
      if (!module.mesh().empty()) passes.add("simplify");
      passes.add({"chunk_rows", {}}, [this](Graph& g) { return chunk_rows(g, chunking()); });
      passes.add("rectifier_masks");
    } else if (module.mesh().empty()) {
      passes.add(options_.pipeline);
    } else {
      run_chosen(module);
    }
    passes.run(module);
    result_.pass_timing += passes.timing_report();
    if (!module.mesh().empty() && !module.partitioned)
      fail("--pipeline leaves out propagate_shardings and partition, which the mesh {} needs",
           str(module.mesh()));
    if (options_.mode == Mode::train) check_collectives(module, "data");
  }

  /// A number that somebody asked for holds for small logits, too.
  ChunkRowsOptions chunking() {
    ChunkRowsOptions chunking{.storage = options_.storage, .log = &result_.chunks};
    if (options_.chunk_rows)
      chunking.rows = chunking.least_rows = *options_.chunk_rows, chunking.least_mib = 0;
    return chunking;
  }

  /// What backward computes again, so that the plan fits in the budget.
  void choose_policy(const Module& module, const Target& target) {
    result_.curve = memory_curve(module, target, options_);
    if (options_.memory_budget) choose_within(module, target, *options_.memory_budget);
    clock_.end("memory");
  }

  /// On a GPU states may go to the host's memory, where nobody has said how many.
  void choose_within(const Module& module, const Target& target, int64_t budget) {
    if (target.is_cuda() && options_.offload.automatic && options_.mode == Mode::train)
      if (const auto choice = offload_within(module, target, options_, result_.curve, budget)) {
        options_.recompute = choice->recompute, options_.offload = choice->offload;
        result_.offload_bytes = choice->offload.bytes;
        return;
      }
    options_.recompute = fastest_within(result_.curve, budget);
  }

  PassManager manager() const { return PassManager(options_.passes); }

  CompileOptions options_;  // a budget of memory decides on the policy
  Compilation& result_;
  PhaseClock clock_;
};

}  // namespace

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
  return {Target::Kind::cuda, gpu.compute_capability, gpu.model};
}

BuildOptions build_options(const CompileOptions& options) {
  BuildOptions build = options.build;
  build.training = options.mode == Mode::train;
  if (options.mesh.ranks() > 1) build.mesh = options.mesh;
  build.cache_type = options.storage;
  if (options.mode == Mode::infer && !build.chooses_tokens)
    build.chooses_tokens = resolved_target(options).is_cuda();
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
