#include "compiler/cli/compile_flags.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "compiler/cli/text_table.h"
#include "ir/target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "passes/precision/assign_precision.h"
#include "runtime/error.h"

namespace smelt::cli {
namespace {

constexpr const char* kPassesGroup = "Passes";
constexpr const char* kOptimizerGroup = "Optimiser";

Symbols::Bound parse_bound(llvm::StringRef text) {
  const auto [names, number] = text.split('=');
  Symbols::Bound bound;
  llvm::SmallVector<llvm::StringRef, 2> factors;
  names.split(factors, '*');
  for (llvm::StringRef factor : factors) bound.factors.push_back(factor.trim().str());
  std::ranges::sort(bound.factors);
  if (names.trim().empty() || number.trim().getAsInteger(10, bound.upper) || bound.upper < 1)
    fail("--max {}: expected bounds such as B=32,T=1024 or B*T=4096", std::string_view(text));
  return bound;
}

std::string reproducer_directory(const CompileFlags& flags) {
  if (!flags.dump_dir.empty()) return flags.dump_dir;
  return flags.verify_each ? "." : "";
}

/// What parse_target says of it; empty where nothing is wrong.
std::string problem_with_target(const std::string& text) {
  try {
    if (text != "native" && text != "cuda") parse_target(text);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// Without a GPU the user should not expect a GPU's speed.
void say_fallback(const CompileOptions& options) {
  if (options.target == "native" && !resolved_target(options).is_cuda())
    fmt::print(stderr,
               "note: --target=native is the CPU here: there is no GPU that works (smelt doctor says why)\n");
}

}  // namespace

void OptimizerFlags::add_to(CLI::App& app) {
  app.add_option("--optimizer", optimizer, "update rule")
      ->check(CLI::IsMember({"sgd", "momentum", "adagrad", "adam", "adamw", "lamb"}))
      ->capture_default_str()
      ->group(kOptimizerGroup);
  app.add_option("--decay", decay, "what weight decay applies to: declared = all but biases and norms")
      ->check(CLI::IsMember({"declared", "all"}))
      ->capture_default_str()
      ->group(kOptimizerGroup);
  const auto number = [&](const char* name, double& value, const char* help) {
    app.add_option(name, value, help)->capture_default_str()->group(kOptimizerGroup);
  };
  number("--weight-decay", weight_decay, "weight decay");
  number("--clip", clip, "largest global norm of the gradient; 0: any");
  number("--beta1", beta1, "adam, adamw, lamb: decay of the first moment");
  number("--beta2", beta2, "adam, adamw, lamb: decay of the second moment");
  number("--eps", eps, "adam, adamw, lamb, adagrad: added to the denominator");
  number("--momentum", momentum, "momentum: decay of the velocity");
}

ApplyOptimizerOptions OptimizerFlags::options() const {
  ApplyOptimizerOptions options;
  options.optimizer = *parse_optimizer(optimizer);
  options.weight_decay = weight_decay;
  options.decay_all = decay == "all";
  options.clip_norm = clip;
  options.beta1 = beta1, options.beta2 = beta2, options.eps = eps;
  options.momentum = momentum;
  return options;
}

void CompileFlags::add_to(CLI::App& app) {
  app.add_option("--target", target,
                 "machine to compile for: cpu, cuda (this machine's GPU), native (that, or else the CPU), or "
                 "a GPU's architecture such as sm_90")
      ->check(CLI::Validator(problem_with_target, ""))
      ->capture_default_str();
  app.add_option(
         "--precision", precision,
         "storage of activations, gradients and multiplied weights; tf32: fp32, multiplied by a GPU's "
         "tensor cores with 10 bits of mantissa")
      ->check(CLI::IsMember({"fp32", "tf32", "bf16", "fp16"}))
      ->capture_default_str();
  app.add_option("--masters", masters,
                 "parameters that bf16 training updates: fp32, or none (bf16, rounded "
                 "stochastically)")
      ->check(CLI::IsMember({"fp32", "none"}))
      ->capture_default_str();
  app.add_option(
         "--weight-type", weight_type,
         "of matrices that are multiplied, in inference: float (as --precision says), or int8 (a byte "
         "a weight and a scale an output: docs/generation.md)")
      ->check(CLI::IsMember({"float", "int8"}))
      ->capture_default_str();
  app.add_option("--attention", attention,
                 "fused (by blocks, no scores in memory: on a CPU, and on a GPU in bf16 and fp16, where the "
                 "fastest of several kernels is measured and taken), mma or wgmma (fused, on a GPU by these "
                 "instructions alone; wgmma on sm_90, where it takes them), unfused (matmuls around a "
                 "softmax), or auto (unfused for short sequences, but for inference on a GPU, else fused)")
      ->check(CLI::IsMember({"auto", "fused", "unfused", "mma", "wgmma"}))
      ->capture_default_str();
  app.add_option("--gemm-bodies", gemm_bodies,
                 "on sm_90 in bf16 and fp16, whether one kernel multiplies and goes on with each element of "
                 "the result: auto (where that is the fastest way, which is measured), off, or, wherever it "
                 "can, only (tiles of 128 by 128) or wide (of 128 by 256)")
      ->check(CLI::IsMember({"auto", "off", "only", "wide"}))
      ->capture_default_str();
  app.add_option("--chunk-rows", chunk_rows,
                 "rows of logits (tokens) that are in memory together; 0: all; default: 8192 where all take "
                 "512 MiB and more, down to 4096 where these would take more than a GiB")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--tune", tune, "time the kernels' schedules on this machine's GPU; what is found is kept");
  app.add_flag("--no-plan-cache", no_plan_cache, "compile, also where the cache directory has the plan");
  app.add_option("--max", bounds, "upper bounds of symbols: B=32,T=1024,B*T=4096")->delimiter(',');
  app.add_option("--pipeline", pipeline, "graph passes instead of the default ones")->group(kPassesGroup);
  app.add_option("--disable-pass", disabled, "leave optional passes out")
      ->delimiter(',')
      ->group(kPassesGroup);
  app.add_option("--bisect-limit", bisect_limit, "stop optional passes after so many changes")
      ->group(kPassesGroup);
  app.add_flag("--verify-each", verify_each, "verify the graph after every pass")->group(kPassesGroup);
  app.add_flag("--print-after-all", print_after_all, "print every graph after every pass to stderr")
      ->group(kPassesGroup);
  app.add_option("--print-after", print_after, "print after these passes")
      ->delimiter(',')
      ->group(kPassesGroup);
  app.add_option("--dump-dir", dump_dir, "write numbered graphs, kernels and memory.json")
      ->group(kPassesGroup);
  app.add_flag("--timing", timing,
               "print the seconds of each phase and pass to stderr; of generate --json also its tokens/s")
      ->group(kPassesGroup);
}

void CompileFlags::add_ranks(CLI::App& app) {
  app.add_option(
      "--mesh", mesh,
      "ranks that share the model, such as model=2, each with a part of its parameters and caches: "
      "start them with smelt launch (docs/tensor_parallel.md); default: those that were started");
}

void CompileFlags::add_mesh(CLI::App& app) {
  app.add_option(
      "--mesh", mesh,
      "ranks that run the plan together, such as data=2,model=2: along data each takes a part of the "
      "batch, along model of the parameters, along stage of the layers (docs/data_parallel.md, "
      "docs/tensor_parallel.md, docs/pipeline.md)");
  app.add_flag(
      "--sequence-parallel", sequence_parallel,
      "ranks along model have parts of the sequence where they share no parameters, which takes less "
      "memory and needs lengths that the ranks divide (docs/tensor_parallel.md)");
  app.add_option("--pipeline-parts", pipeline_parts,
                 "parts of the model that each stage of a pipeline has (docs/pipeline.md)")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  app.add_option("--bucket-mib", bucket_mib,
                 "gradients are summed over ranks in parts of at least so much; 0: in one piece")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--zero", zero,
                 "what ranks have parts of, in place of all: 1: the optimiser's moments and f32 masters, 2: "
                 "also gradients, 3: also parameters; 0: nothing (docs/data_parallel.md)")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  app.add_option(
         "--zero-bucket", zero_bucket,
         "elements of parameters that ranks exchange together with --zero; 0: 64 Mi, or 16 Mi with --zero 3")
      ->check(CLI::NonNegativeNumber);
}

void CompileFlags::add_stage(CLI::App& app) {
  app.add_option("--stage", stage, "the stage whose plan it is, where --mesh has an axis stage")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void CompileFlags::add_dropout(CLI::App& app) {
  app.add_option("--dropout", dropout, "replaces every dropout probability of the description")
      ->check(CLI::Range(0.0, 0.999));
}

void CompileFlags::add_trained(CLI::App& app) {
  app.add_option(
         "--train-only", trained,
         "names of parameters that are trained, \"*\" is any text: all others stay as they are, and cost "
         "neither gradients nor moments")
      ->delimiter(',');
}

void CompileFlags::add_inputs(CLI::App& app) {
  app.add_flag_callback(
      "--attention-mask", [this] { attention_mask = true; },
      "an input attention_mask; models with an encoder have one if nothing is said");
  app.add_flag_callback("--no-attention-mask", [this] { attention_mask = false; }, "no such input");
  add_caches(app);
  app.add_flag("--position-ids", position_ids, "an input position_ids in place of 0, 1, 2, ...");
  app.add_flag("--segment-ids", segment_ids,
               "an input segment_ids: tokens see those of the same number alone (documents packed in a row)");
  app.add_flag("--hidden-states", hidden_states,
               "outputs last_hidden_state, pooler_output and hidden.N beside the logits");
}

void CompileFlags::add_caches(CLI::App& app) {
  app.add_flag_callback(
      "--kv-cache", [this] { caches = true; },
      "entries that keep keys and values while generating; models that generate have them with --mode infer "
      "if nothing is said (docs/generation.md)");
  app.add_flag_callback("--no-kv-cache", [this] { caches = false; }, "no such entries");
  add_choice(app);
  app.add_option(
         "--cache-pages", cache_pages,
         "for serving: the caches are so many pages of 16 tokens, which requests share, in place of a "
         "row for each (docs/serving.md); 0: rows")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 26));
}

void CompileFlags::add_choice(CLI::App& app) {
  app.add_flag_callback(
      "--choose-tokens", [this] { chooses_tokens = true; },
      "an entry that also chooses the next tokens, so that no token waits for the host; plans for GPUs have "
      "it "
      "if nothing is said (docs/generation.md)");
  app.add_flag_callback("--no-choose-tokens", [this] { chooses_tokens = false; }, "no such entry");
}

void CompileFlags::add_mode(CLI::App& app) {
  add_inputs(app);
  app.add_option("--mode", mode, "train: train_step, accumulate, apply, evaluate, logits; infer: logits")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  add_dropout(app);
  optimizer.add_to(app);
}

CompileOptions CompileFlags::options() const {
  CompileOptions options;
  options.target = target;
  options.tf32 = precision == "tf32";
  options.storage = options.tf32 ? DType::f32 : parse_precision(precision);
  options.masters = masters == "fp32";
  options.int8_weights = weight_type == "int8";
  options.attention = attention == "fused"     ? AttentionForm::fused
                      : attention == "unfused" ? AttentionForm::unfused
                      : attention == "mma"     ? AttentionForm::mma
                      : attention == "wgmma"   ? AttentionForm::wgmma
                                               : AttentionForm::automatic;
  options.gemm_bodies = gemm_bodies == "auto"   ? GemmBodies::measured
                        : gemm_bodies == "only" ? GemmBodies::only
                        : gemm_bodies == "wide" ? GemmBodies::wide
                                                : GemmBodies::off;
  options.chunk_rows = chunk_rows;
  options.tune = tune;
  options.mode = mode == "infer" ? Mode::infer : Mode::train;
  if (!mesh.empty()) options.mesh = parse_mesh(mesh);
  options.buckets.bytes = bucket_mib << 20;
  options.zero = zero, options.zero_bucket = zero_bucket;
  options.sequence_parallel = sequence_parallel;
  options.stage = stage, options.parts_a_stage = pipeline_parts;
  options.build.bounds = parse_bounds(bounds);
  options.build.dropout = dropout;
  options.build.attention_mask = attention_mask;
  options.build.position_ids = position_ids;
  options.build.segment_ids = segment_ids;
  options.build.caches = caches;
  options.build.chooses_tokens = chooses_tokens;
  options.build.cache_pages = cache_pages;
  options.build.hidden_states = hidden_states;
  options.training.optimizer = optimizer.options();
  options.trained = trained;
  options.pipeline = pipeline;
  memory.apply(options);
  options.dump_dir = dump_dir;
  options.passes.verify_each = verify_each;
  options.passes.print_after_all = print_after_all;
  options.passes.print_after = print_after;
  options.passes.print_to = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  options.passes.dump_dir = dump_dir;
  options.passes.reproducer_dir = reproducer_directory(*this);
  options.passes.bisect_limit = bisect_limit;
  options.passes.disabled = disabled;
  if (says_fallback) say_fallback(options);
  return options;
}

std::vector<Symbols::Bound> parse_bounds(const std::vector<std::string>& texts) {
  std::vector<Symbols::Bound> bounds;
  for (const std::string& text : texts) {
    llvm::SmallVector<llvm::StringRef, 3> parts;
    llvm::StringRef(text).split(parts, ',');
    for (llvm::StringRef part : parts) bounds.push_back(parse_bound(part));
  }
  return bounds;
}

bool default_bound(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper) {
  const auto is_it = [&](const Symbols::Bound& b) { return b.factors.size() == 1 && b.factors[0] == symbol; };
  if (std::ranges::any_of(bounds, is_it)) return false;
  bounds.push_back({{std::string(symbol)}, upper});
  return true;
}

void DefaultBounds::add(std::vector<Symbols::Bound>& bounds, std::string_view symbol, int64_t upper,
                        std::string option) {
  if (default_bound(bounds, symbol, upper)) set_.emplace_back(symbol, std::move(option));
}

std::string DefaultBounds::text() const {
  std::vector<std::string> parts;
  for (const auto& [symbol, option] : set_)
    parts.push_back(fmt::format("{} {}by {}", symbol, parts.empty() ? "is set " : "", option));
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

std::string schedule_text(const Schedule& s) {
  return fmt::format("{} of {} threads, {} x {} elements, {} in flight", s.team, s.threads,
                     std::max(1, s.vectors), s.vector_width, s.unroll);
}

void print_tuned(const std::vector<TunedKernel>& tuned) {
  if (tuned.empty()) return;
  TextTable table({"kernel", "tried", "default us", "taken us", "schedule taken"});
  const auto microseconds = [](double seconds) {
    return seconds > 0 ? fmt::format("{:.1f}", seconds * 1e6) : "";
  };
  for (const TunedKernel& kernel : tuned)
    table.add({kernel.name, kernel.tried > 0 ? fmt::format("{}", kernel.tried) : "known",
               microseconds(kernel.first_seconds), microseconds(kernel.seconds),
               schedule_text(kernel.schedule)});
  fmt::print(stderr, "{}\n", table.text());
}

}  // namespace

void print_timing(const Compilation& compilation) {
  double total = 0;
  TextTable table({"phase", "ms"});
  for (const auto& [phase, seconds] : compilation.seconds) {
    table.add({phase, fmt::format("{:.1f}", seconds * 1e3)});
    total += seconds;
  }
  table.add({"total", fmt::format("{:.1f}", total * 1e3)});
  fmt::print(stderr, "{}\n{}", table.text(), compilation.pass_timing);
  print_tuned(compilation.tuned);
}

}  // namespace smelt::cli
