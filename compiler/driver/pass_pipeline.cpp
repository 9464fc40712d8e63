#include "compiler/driver/pass_pipeline.h"

#include <fmt/format.h>

#include "codegen/all_passes.h"
#include "compiler/driver/pipeline_stages.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/all_passes.h"
#include "runtime/base/error.h"
#include "runtime/base/packed_format.h"
#include "runtime/plan/activation_bound.h"

namespace smelt {
namespace {

/// A softmax as a kernel of its own would sum as many keys as the entry may have.
FusedAttention fused_attention(const CompileOptions& options) {
  const AttentionForm form = options.attention;
  if (options.build.same_bits) return FusedAttention::always;
  if (form == AttentionForm::unfused) return FusedAttention::never;
  return form == AttentionForm::automatic ? FusedAttention::automatic : FusedAttention::always;
}

void append(std::vector<PassCall>& calls, std::vector<PassCall> more) {
  for (PassCall& call : more) calls.push_back(std::move(call));
}

class PipelineBuilder {
 public:
  PipelineBuilder(const ModuleFacts& facts, const CompileOptions& options, const Target& target,
                  const PassReports& reports)
      : facts_(facts), options_(options), target_(target), reports_(reports) {}

  std::vector<PassCall> entries() const {
    check_weight_type();
    std::vector<PassCall> calls;
    if (facts_.trains && wants("evaluate")) calls.push_back(pass::make_evaluation_entry({loss()}));
    if (facts_.trains && !options_.trained.empty())
      calls.push_back(pass::freeze_parameters({options_.trained}));
    append(calls, normalization());
    if (options_.qat == Qat::int8) calls.push_back(pass::quantize_activations(rounding()));
    if (facts_.trains && has_stages()) append(calls, stage_cut());
    calls.push_back(facts_.shares_parameters ? pass::plan_neighbours() : pass::merge_gemms());
    append(calls, facts_.trains ? training_entries() : inference_entries());
    if (!options_.entries.empty())
      calls.push_back(pass::keep_entries({options_.entries, hint_of_training()}));
    return calls;
  }

  std::vector<PassCall> optimization() const {
    std::vector<PassCall> calls = options_.pipeline.empty() ? default_passes() : chosen_passes();
    if (options_.mode == Mode::train && facts_.mesh.find("data")) calls.push_back(pass::check_collectives());
    return calls;
  }

 private:
  const std::string& loss() const { return options_.training.loss; }
  bool has_stages() const { return options_.mode == Mode::train && pipeline_stages(options_.mesh) > 1; }
  bool wants(const std::string& entry) const {
    return options_.entries.empty() || llvm::is_contained(options_.entries, entry);
  }

  void check_weight_type() const {
    if (options_.mode == Mode::train && !facts_.trains && options_.weight_type != WeightType::floats)
      fail(
          "--weight-type: in the mode train it is for frozen weights, and without a graph @{} nothing is "
          "trained; give --mode=infer, or --weight-type=float",
          loss());
  }

  /// The graph that measures activations is there where training may begin.
  QuantizeActivationsOptions rounding() const {
    const bool trains = options_.mode == Mode::train && !evaluates_bytes();
    if (trains && !facts_.trains)
      fail("--qat: without a graph @{} nothing is trained; give --mode=infer", loss());
    return {.trains = trains,
            .bounds = options_.qat_bounds,
            .keep = options_.keep_floats,
            .loss = loss(),
            .calibration = trains && wants(std::string(kCalibrate)) ? std::string(kCalibrate) : ""};
  }

  PassCall decomposition(std::vector<Op> keep) const {
    return pass::decompose({std::move(keep),
                            {.target = target_,
                             .storage = options_.storage,
                             .trains = options_.mode == Mode::train,
                             .fused = fused_attention(options_),
                             .report = reports_.fusions}});
  }

  /// Imported graphs take the form that later passes match: attention, no reshapes between operations.
  std::vector<PassCall> normalization() const {
    std::vector<PassCall> calls = {pass::bound_ids(),        pass::simplify(),        pass::refine_axes(),
                                   pass::simplify(),         pass::match_attention(), pass::sink_masks(),
                                   pass::group_query_heads()};
    if (options_.build.same_bits) calls.push_back(pass::round_results({options_.storage}));
    // Before rewrites of axes, which leave attentions as they are.
    const bool reads_codes = options_.mode == Mode::infer && !options_.build.same_bits;
    if (reads_codes) calls.insert(calls.begin(), pass::read_codes());
    append(calls,
           {decomposition(facts_.trains || differentiates()
                              ? composites_with_vjp()
                              : std::vector<Op>{Op::attention, Op::attention_grad}),
            pass::simplify(), pass::refine_axes(), pass::simplify(), pass::sink_concats(), pass::simplify()});
    return calls;
  }

  /// Returns whether the options' own pass pipeline differentiates: composites with derivatives of their own
  /// stay until then.
  bool differentiates() const {
    return llvm::any_of(all_passes().parse(options_.pipeline), [](const PassCall& call) {
      return call.name == "differentiate" || call.name == "differentiate_forward" ||
             call.name == "make_backward";
    });
  }

  std::vector<PassCall> stage_cut() const {
    return {pass::keep_graphs({{loss(), "evaluate"}}),
            pass::cut_stages({.stages = pipeline_stages(options_.mesh),
                              .parts_a_stage = options_.parts_a_stage,
                              .stage = options_.stage,
                              .loss = loss(),
                              .others = {"evaluate"},
                              .target = target_,
                              .storage = options_.storage,
                              .tf32 = options_.tf32})};
  }

  /// Returns whether a model of quantisation-aware training is only evaluated, which inference's passes do.
  bool evaluates_bytes() const {
    return options_.qat == Qat::int8 && options_.mode == Mode::train && !options_.entries.empty() &&
           llvm::all_of(options_.entries,
                        [](const std::string& e) { return e == "evaluate" || e == "logits"; });
  }

  std::vector<PassCall> training_entries() const {
    if (evaluates_bytes())
      return {pass::flatten_parameters({options_.storage, false}), pass::drop_graph({loss()}),
              pass::quantize_weights({.by_bytes = true})};
    std::vector<PassCall> calls = {
        pass::flatten_parameters(in_buckets(flattening(), facts_.mesh, sharing())),
        has_stages() ? pass::make_pipeline_entries(training()) : pass::make_training_entries(training()),
        pass::drop_graph({loss()})};
    if (options_.weight_type != WeightType::floats) calls.push_back(pass::pack_weights(packing()));
    return calls;
  }

  /// Returns the passes of inference entries. Nothing is updated, so there are no masters.
  std::vector<PassCall> inference_entries() const {
    std::vector<PassCall> calls = {pass::flatten_parameters({options_.storage, false})};
    if (!facts_.shares_parameters) append(calls, quantization());
    return calls;
  }

  std::vector<PassCall> quantization() const {
    if (options_.mode == Mode::train) return {};
    if (options_.qat == Qat::int8) return {pass::quantize_weights({.by_bytes = true})};
    if (options_.weight_type == WeightType::floats) return {};
    if (options_.weight_type == WeightType::int8)
      return {pass::quantize_weights({.in_place = target_.can.i8_weights})};
    return {pass::pack_weights(packing())};
  }

  /// Bytes have a scale per row by default.
  PackWeightsOptions packing() const {
    static constexpr std::string_view kFormats[] = {"", "int8", "int4", "int4", "nf4", "fp8"};
    const std::string format(kFormats[static_cast<size_t>(options_.weight_type)]);
    const bool bytes = find_packed_format(format)->bits == 8;
    const int64_t group = options_.weight_group >= 0 ? options_.weight_group : bytes ? 0 : 64;
    return {.format = format,
            .group = group,
            .zeros = options_.weight_type == WeightType::uint4,
            .storage = options_.storage,
            .keep = options_.keep_floats,
            .frozen = options_.mode == Mode::train};
  }

  /// Parameters that adapters and patterns of names leave frozen are stored in the model itself.
  FlattenParametersOptions flattening() const {
    return {.storage = options_.storage,
            .masters = options_.masters,
            .frozen_from_model = options_.build.lora || !options_.trained.empty(),
            .multiple = flat_multiple(options_.training.optimizer.optimizer)};
  }

  ShardTrainingOptions sharing() const { return {.zero = options_.zero, .bucket = options_.zero_bucket}; }

  /// Updates are skipped by means of the loss scale, which stays 1 if the gradients need none.
  void set_scaling(LossScaling& scaling) const {
    constexpr double kNever = 1e30;
    scaling.on = options_.storage == DType::f16 || scaling.limits_norm;
    if (scaling.on && options_.storage != DType::f16) scaling.initial = 1, scaling.growth_interval = kNever;
  }

  TrainingOptions training() const {
    TrainingOptions training = options_.training;
    training.flat_sums = options_.zero >= 2 && options_.mesh.ranks() > 1;
    set_scaling(training.optimizer.scaling);
    if (training.fp8) training.fp8_keep = options_.keep_floats;
    // Without sums the state "gradients" is free for the gradients of train_step.
    if (!wants("accumulate") && !wants("apply")) training.accumulation = false;
    return training;
  }

  /// Tells what a description lacks where an entry of training is missing.
  std::function<std::string(const std::string&)> hint_of_training() const {
    return [trains = options_.mode == Mode::train, loss = loss()](const std::string& entry) -> std::string {
      static constexpr std::string_view kMade[] = {"train_step", "accumulate", "apply", "evaluate"};
      if (!llvm::is_contained(kMade, entry)) return "";
      if (!trains) return fmt::format("; @{} is made in the mode train", entry);
      return fmt::format(
          "; @{} is made from a graph @{}, which this model does not have (docs/guides/models.md)", entry,
          loss);
    };
  }

  /// Composites go but for those that the target keeps; reductions become independent; graphs become those
  /// of one rank.
  std::vector<PassCall> default_passes() const {
    std::vector<PassCall> calls = {decomposition({Op::attention, Op::attention_grad}), pass::drop_stops(),
                                   pass::simplify(), pass::rewrite_reductions(), pass::simplify()};
    if (is_whole()) append(calls, rank_passes());
    if (facts_.shares_parameters) append(calls, quantization());  // a rank's parts
    if (!facts_.mesh.empty()) calls.push_back(pass::simplify());
    calls.push_back(pass::chunk_rows(chunking()));
    calls.push_back(pass::rectifier_masks());
    return calls;
  }

  /// Behind rewrite_reductions, so that a maximum and a sum that ranks share are steps of their own.
  std::vector<PassCall> rank_passes() const {
    const bool trains = options_.mode == Mode::train, cuts_sequences = trains && options_.sequence_parallel;
    std::vector<PassCall> calls = batch_sharding();
    if (cuts_sequences) calls.push_back(pass::shard_sequences());
    calls.push_back(pass::propagate_shardings({reports_.shardings}));
    calls.push_back(
        pass::partition({.addends = addends(), .whole_outputs = true, .log = reports_.collectives}));
    calls.push_back(pass::reassociate_sums());
    if (target_.can.launches) calls.push_back(pass::exchange_addends());
    if (cuts_sequences) calls.push_back(pass::join_sums());
    if (facts_.shares_parameters) append(calls, {pass::simplify(), pass::merge_gemms()});
    return calls;
  }

  /// Returns whether graphs are those of a whole mesh of ranks.
  bool is_whole() const { return !facts_.mesh.empty() && !facts_.is_partitioned; }
  bool shares_batches() const {
    return options_.mode == Mode::train && is_whole() && facts_.mesh.find("data");
  }
  std::vector<PassCall> batch_sharding() const {
    if (!shares_batches()) return {};
    return {pass::shard_training(sharing()), pass::leave_addends()};
  }
  std::vector<std::string> addends() const {
    if (!shares_batches()) return {};
    return addend_outputs(has_stages() ? pipeline_stages(options_.mesh) * options_.parts_a_stage : 0);
  }

  /// Returns the options' own pass pipeline. Batches are sharded before the passes that derive from them the
  /// sharding of all other values.
  std::vector<PassCall> chosen_passes() const {
    std::vector<PassCall> calls;
    bool shared = false;
    for (PassCall& call : all_passes().parse(options_.pipeline)) {
      const bool partitions = call.name == "partition";
      if (!shared && (partitions || call.name == "propagate_shardings"))
        append(calls, batch_sharding()), shared = true;
      if (partitions) call = with_addends(std::move(call));
      calls.push_back(std::move(call));
    }
    return calls;
  }

  PassCall with_addends(PassCall call) const {
    PartitionOptions partition = read_options<PartitionOptions>(call.name, call.arguments);
    if (shares_batches()) partition.addends = addends();
    return pass::partition(std::move(partition));
  }

  /// A number that the options give holds for small logits, too.
  ChunkRowsOptions chunking() const {
    ChunkRowsOptions chunking{.storage = options_.storage, .log = reports_.chunks};
    if (options_.chunk_rows)
      chunking.rows = chunking.least_rows = *options_.chunk_rows, chunking.least_mib = 0;
    return chunking;
  }

  const ModuleFacts& facts_;
  const CompileOptions& options_;
  const Target& target_;
  const PassReports& reports_;
};

std::string_view work_of(PipelinePhase::Kind kind) {
  switch (kind) {
    case PipelinePhase::Kind::passes:
      return "";
    case PipelinePhase::Kind::memory:
      return "(search for what rematerialize recomputes and offload_states moves within the budget)";
    case PipelinePhase::Kind::tune:
      return "(measurement of other schedules)";
    case PipelinePhase::Kind::emit:
      return "(machine code for the kernels, and the plan)";
  }
  return "";
}

constexpr size_t kPrintedColumns = 120;

/// Comma-separated calls in lines of at most kPrintedColumns, where a call is not longer; each begins with
/// `indent` but for the first.
std::string wrapped(llvm::ArrayRef<PassCall> calls, const std::string& indent) {
  std::string text;
  size_t column = indent.size();
  for (const PassCall& call : calls) {
    const std::string word = call.str() + (&call == &calls.back() ? "" : ",");
    if (column + word.size() > kPrintedColumns && column > indent.size())
      text += "\n" + indent, column = indent.size();
    text += word, column += word.size();
  }
  return text + "\n";
}

std::string print_phase(const PipelinePhase& phase) {
  constexpr size_t kName = 11, kUnit = 10;
  std::string text, title = phase.name;
  if (phase.calls.empty()) text = fmt::format("{:<{}}{}\n", title, kName, work_of(phase.kind));
  for (llvm::ArrayRef<PassCall> rest = phase.calls; !rest.empty();) {
    const PassUnit unit = unit_of(rest.front().body);
    const auto end = llvm::find_if(rest, [&](const PassCall& call) { return unit_of(call.body) != unit; });
    const size_t count = static_cast<size_t>(end - rest.begin());
    text += fmt::format("{:<{}}{:<{}}{}", title, kName, name(unit), kUnit,
                        wrapped(rest.take_front(count), std::string(kName + kUnit, ' ')));
    rest = rest.drop_front(count), title.clear();
  }
  return text;
}

}  // namespace

const PassRegistry& all_passes() {
  static const PassRegistry registry{pass_table(), codegen_pass_table()};
  return registry;
}

ModuleFacts facts_of(const Module& module, const CompileOptions& options) {
  return {.trains = options.mode == Mode::train && module.find_graph(options.training.loss),
          .mesh = module.mesh(),
          .is_partitioned = module.partitioned.has_value(),
          .shares_parameters = shares_parameters(module)};
}

std::vector<PassCall> recompute_passes(const CompileOptions& options, const Target& target,
                                       const PassReports& reports) {
  std::vector<PassCall> calls;
  if (options.pipeline.empty())
    calls = {
        pass::rematerialize({reports.recomputed, options.recompute, target, options.storage, options.tf32}),
        pass::simplify()};
  if (options.mode == Mode::train && pipeline_stages(options.mesh) > 1)
    calls.push_back(pass::split_phases({options.training.loss}));
  return calls;
}

std::vector<PassCall> fusion_passes(const CompileOptions& options, const Target& target,
                                    const PassReports& reports) {
  const bool is_narrow = options.storage != DType::f32;
  std::vector<PassCall> calls = {pass::guard_indices(),
                                 pass::fuse({.report = reports.fusions,
                                             .target = target,
                                             .storage = options.storage,
                                             .updates_apart = options.offload.on()}),
                                 pass::accumulate_gemms()};
  if (is_narrow) calls.push_back(pass::assign_precision({options.storage, options.build.same_bits}));
  // A CPU has no space for rounding residuals in its tiles.
  if (is_narrow && target.can.attention_kernels) calls.push_back(pass::keep_attention_rest());
  if (options.tf32) calls.push_back(pass::allow_tf32());
  append(calls, {pass::fuse_gemm_epilogues({target}), pass::split_bodies({target}),
                 pass::assign_layout({.log = reports.layout_copies})});
  return calls;
}

std::vector<PassCall> program_passes(const CompileOptions& options, const Target& target,
                                     const PassReports& reports) {
  std::vector<PassCall> calls = {pass::lower(target)};
  if (options.offload.on()) calls.push_back(pass::offload_states(options.offload));
  if (target.can.launches)
    append(calls, {pass::fuse_small_m(target), pass::offer_gemm_epilogues(target), pass::collapse_axes()});
  calls.push_back(pass::schedule_kernels(target));
  if (target.can.launches) append(calls, pass::legalization());
  append(calls, {pass::merge_kernels(), pass::bucket_collectives(options.buckets), pass::split_buffers(),
                 pass::order_steps(), pass::place_collectives(), pass::join_gathers()});
  if (target.can.launches)
    append(calls, {pass::attach_tails(), pass::merge_launches(), pass::run_side_by_side(), pass::fill_waits(),
                   pass::mark_dependent_launches(), pass::overlap_collectives()});
  append(calls, {pass::stream_states(), pass::plan_memory({.report = reports.memory})});
  return calls;
}

PassPipeline pass_pipeline(const ModuleFacts& facts, const CompileOptions& options, const Target& target,
                           Stage stage, const PassReports& reports) {
  using Kind = PipelinePhase::Kind;
  if (stage == Stage::graph) return {};
  const PipelineBuilder builder(facts, options, target, reports);
  PassPipeline pipeline = {{"entries", Kind::passes, builder.entries()},
                           {"passes", Kind::passes, builder.optimization()}};
  if (options.memory_budget || options.memory_curve) pipeline.push_back({"memory", Kind::memory});
  pipeline.push_back({"recompute", Kind::passes, recompute_passes(options, target, reports)});
  pipeline.push_back({"fuse", Kind::passes, fusion_passes(options, target, reports)});
  if (stage == Stage::fused) return pipeline;
  pipeline.push_back({"lower", Kind::passes, program_passes(options, target, reports)});
  if (options.tune) pipeline.push_back({"tune", Kind::tune});
  if (stage == Stage::plan) pipeline.push_back({"emit", Kind::emit});
  return pipeline;
}

std::string print(const PassPipeline& pipeline) {
  std::string text;
  for (const PipelinePhase& phase : pipeline) text += print_phase(phase);
  return text;
}

}  // namespace smelt
