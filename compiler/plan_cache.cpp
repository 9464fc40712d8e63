#include "compiler/plan_cache.h"

#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <cstring>

#include "compiler/build_id.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "runtime/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/system/cache_directory.h"
#include "runtime/system/file.h"
#ifdef SMELT_CPU
#include "codegen/llvm/target.h"
#endif

namespace smelt {
namespace {

constexpr std::array<char, 8> kEntryMagic = {'s', 'm', 'e', 'l', 't', 'p', 'c', '1'};
constexpr size_t kKeyDigits = 64;

/// An entry: this, and the plan as in a file of its own, which holds its checksums.
struct EntryHeader {
  std::array<char, 8> magic = kEntryMagic;
  std::array<char, kKeyDigits> key;  // a file that was renamed is another plan's
};

std::optional<std::span<const std::byte>> plan_in(std::span<const std::byte> file, const std::string& key) {
  EntryHeader header;
  if (file.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.magic != kEntryMagic || std::string_view(header.key.data(), kKeyDigits) != key)
    return std::nullopt;
  return file.subspan(sizeof header);
}

/// Lines "name = value". Bindings name every member: one that is added here stops the build until it is in
/// the key too.
class KeyText {
 public:
  template <typename T>
  KeyText& add(std::string_view name, const T& value) {
    text_ += fmt::format("{} = {}\n", name, value);
    return *this;
  }
  template <typename T>
  KeyText& add(std::string_view name, const std::optional<T>& value) {
    return value ? add(name, *value) : add(name, "none");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// What other adapters of one shape have in common.
std::string adapter_key(LoraConfig config) {
  config.base_model.clear(), config.task_type.clear();
  return lora_json(config).dump();
}

void add_build(KeyText& key, const BuildOptions& options) {
  const auto& [mesh, bounds, dropout, training, hidden_states, attention_mask, position_ids, segment_ids,
               caches, cache_type, chooses_tokens, cache_pages, lora] = options;
  key.add("build_mesh", str(mesh));
  for (const Symbols::Bound& bound : bounds)
    key.add(fmt::format("bound {}", fmt::join(bound.factors, "*")), bound.upper);
  key.add("dropout", dropout).add("training", training).add("hidden_states", hidden_states);
  key.add("attention_mask", attention_mask).add("position_ids", position_ids);
  key.add("segment_ids", segment_ids).add("caches", caches);
  key.add("cache_type", name(cache_type)).add("chooses_tokens", chooses_tokens);
  key.add("cache_pages", cache_pages);
  key.add("lora", lora ? adapter_key(*lora) : "none");
}

void add_training(KeyText& key, const TrainingOptions& options) {
  const auto& [optimizer, accumulation, loss, flat_sums] = options;
  key.add("flat_sums", flat_sums);
  key.add("accumulation", accumulation).add("loss", loss);
  const auto& [rule, learning_rate, weight_decay, decay_all, keep_gradients, clip_norm, beta1, beta2, eps,
               momentum, dampening, nesterov, learning_rate_decay, initial_accumulator_value, scaling] =
      optimizer;
  const auto& [scaled, initial_scale, growth_interval] = scaling;
  key.add("optimizer", name(rule)).add("learning_rate", learning_rate).add("weight_decay", weight_decay);
  key.add("decay_all", decay_all).add("keep_gradients", keep_gradients).add("clip_norm", clip_norm);
  key.add("beta1", beta1).add("beta2", beta2).add("eps", eps).add("momentum", momentum);
  key.add("dampening", dampening).add("nesterov", nesterov).add("learning_rate_decay", learning_rate_decay);
  key.add("initial_accumulator_value", initial_accumulator_value).add("scaled", scaled);
  key.add("initial_scale", initial_scale).add("growth_interval", growth_interval);
}

/// Returns whether the passes run unseen.
bool add_passes(KeyText& key, const PassManagerOptions& options) {
  const auto& [verify_each, print_before_all, print_after_all, print_before, print_after, print_to, dump_dir,
               reproducer_dir, bisect_limit, disabled, on_step, progress] =
      options;  // print_to, on_step, progress: nothing prints, is called, counts
  key.add("disabled", fmt::format("{}", fmt::join(disabled, ",")));
  return !verify_each && !print_before_all && !print_after_all && print_before.empty() &&
         print_after.empty() && dump_dir.empty() && reproducer_dir.empty() && bisect_limit < 0;
}

/// "cpu" is compiled for the processor of this machine; its cache may be another's too.
std::string machine(const Target& target) {
#ifdef SMELT_CPU
  if (!target.is_cuda()) return CpuTarget::host().str() + " " + CpuTarget::host().features;
#endif
  return target.is_cuda() ? target.str() + ": " + target.device.str() : target.str();
}

std::string content_hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  return llvm::toHex(llvm::SHA256::hash({bytes, text.size()}), true);
}

double cache_seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void keep(const PlanCache& cache, const std::string& key, Compilation& compiled) {
  const auto begin = std::chrono::steady_clock::now();
  cache.write(key, compiled.plan);
  compiled.seconds.emplace_back("keep", cache_seconds_since(begin));
}

}  // namespace

std::string plan_key(const Description& description, const CompileOptions& options) {
  const auto& [target, device, mode, storage, attention, gemm_bodies, int8_weights, tf32, masters, chunk_rows,
               recompute, memory_budget, memory_curve, offload, build, training, trained, mesh, stage,
               parts_a_stage, buckets, zero, zero_bucket, sequence_parallel, entries, pipeline, passes,
               explain_fusion, explain_sharding, tune, dump_dir] = options;
  KeyText key;
  key.add("build", compiler_build_id()).add("format", kPlanFormat).add("mode", static_cast<int>(mode));
  key.add("storage", name(storage))
      .add("attention", static_cast<int64_t>(attention))
      .add("gemm_bodies", static_cast<int64_t>(gemm_bodies))
      .add("int8_weights", int8_weights)
      .add("tf32", tf32)
      .add("masters", masters)
      .add("chunk_rows", chunk_rows)
      .add("recompute", recompute.str())
      .add("memory_budget", memory_budget)
      .add("offload_share", offload.share)
      .add("offload_bytes", offload.bytes)
      .add("offload_bucket", offload.bucket)
      .add("pipeline", pipeline)
      .add("mesh", str(mesh))
      .add("stage", stage)
      .add("parts_a_stage", parts_a_stage)
      .add("buckets", buckets.bytes)
      .add("zero", zero)
      .add("zero_bucket", zero_bucket)
      .add("sequence_parallel", sequence_parallel);
  key.add("entries", fmt::format("{}", fmt::join(entries, ",")));
  key.add("trained", fmt::format("{}", fmt::join(trained, ",")));
  add_build(key, build);
  add_training(key, training);
  const bool unseen = add_passes(key, passes);
  if (!unseen || explain_fusion || explain_sharding || memory_curve || tune || !dump_dir.empty() ||
      compiler_build_id().empty())
    return {};
  key.add("machine", machine(resolved_target(options)));
  return content_hash(key.text() + description.content());
}

PlanCache PlanCache::standard() {
  const std::filesystem::path directory = cache_directory();
  return PlanCache(directory.empty() ? directory : directory / "plans");
}

std::optional<Plan> PlanCache::read(const std::string& key) const {
  std::error_code problem;
  const std::filesystem::path path = file(key);
  if (directory_.empty() || !std::filesystem::is_regular_file(path, problem)) return std::nullopt;
  try {
    const MappedFile mapped(path);
    const auto bytes = plan_in(mapped.bytes(), key);
    if (!bytes) return std::nullopt;
    Plan plan = parse_plan(*bytes, path.string());
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), problem);
    return plan;
  } catch (const Error&) {  // it is made again
    return std::nullopt;
  }
}

void PlanCache::write(const std::string& key, const Plan& plan) const {
  if (directory_.empty()) return;
  const std::string bytes = serialize_plan(plan);
  if (static_cast<int64_t>(bytes.size()) > most_bytes_) return;
  EntryHeader header;
  std::memcpy(header.key.data(), key.data(), kKeyDigits);
  write_cache_file(file(key), {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(bytes))});
  trim_cache(directory_, most_bytes_);
}

Compilation compile_or_recall(const Description& description, const CompileOptions& options,
                              std::unique_ptr<Module> built, const PlanCache& cache) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string key = plan_key(description, options);
  if (auto known = key.empty() ? std::nullopt : cache.read(key)) {
    Compilation result;
    result.plan = std::move(*known);
    result.graph = std::move(built);
    result.seconds.emplace_back("recall", cache_seconds_since(begin));
    return result;
  }
  Compilation result = built ? compile(std::move(built), options) : compile(description, options);
  if (!key.empty()) keep(cache, key, result);
  return result;
}

}  // namespace smelt
