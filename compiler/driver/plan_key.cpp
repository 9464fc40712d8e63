// The key of a plan in the cache: every member of the options that changes the plan by its row in
// compiler/compile_options.def, and all else that a plan depends on.
#include <fmt/ranges.h>

#include <set>

#include "codegen/code_generator.h"
#include "compiler/driver/build_id.h"
#include "compiler/driver/plan_cache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "runtime/engine/adapters/lora_config.h"
#include "runtime/plan/plan_file.h"

namespace smelt {
namespace member_values {

/// Values for the members of an aggregate, of which one kind fits where the others do not.
struct AnyAggregate {
  template <typename T>
    requires std::is_aggregate_v<T>
  operator T() const;
};
struct AnyClass {
  template <typename T>
    requires(std::is_class_v<T> && !std::is_aggregate_v<T>)
  operator T() const;
};
struct AnyScalar {
  template <typename T>
    requires(!std::is_class_v<T>)
  operator T() const;
};

}  // namespace member_values

namespace {

using namespace member_values;

enum class Effect : uint8_t { plan, shown, machine, none };

struct Member {
  std::string_view path;
  Effect effect;
};
constexpr Member kMembers[] = {
#define SMELT_COMPILE_OPTION(name, member, form, group, effect, help) {#member, Effect::effect},
#define SMELT_COMPILE_MEMBER(member, effect) {#member, Effect::effect},
#include "compiler/compile_options.def"
};

/// The number of members of an aggregate.
template <typename T, typename... Values>
consteval size_t member_count() {
  if constexpr (requires { T{Values{}..., AnyAggregate{}}; })
    return member_count<T, Values..., AnyAggregate>();
  else if constexpr (requires { T{Values{}..., AnyClass{}}; })
    return member_count<T, Values..., AnyClass>();
  else if constexpr (requires { T{Values{}..., AnyScalar{}}; })
    return member_count<T, Values..., AnyScalar>();
  else
    return sizeof...(Values);
}

/// The member of the object at `prefix` that the path leads to: "beta1" of "training.optimizer.beta1" after
/// "training.optimizer."; empty where it leads elsewhere.
consteval std::string_view child(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) ? path.substr(prefix.size(), path.find('.', prefix.size()) - prefix.size())
                                  : "";
}

/// The number of members of the object at `prefix` that have rows.
consteval size_t row_count(std::string_view prefix) {
  size_t count = 0;
  for (size_t i = 0; i < std::size(kMembers); ++i) {
    const std::string_view name = child(kMembers[i].path, prefix);
    bool is_first = !name.empty();
    for (size_t j = 0; j < i; ++j) is_first &= child(kMembers[j].path, prefix) != name;
    count += is_first;
  }
  return count;
}

#define SMELT_EVERY_MEMBER_HAS_A_ROW(type, prefix)         \
  static_assert(member_count<type>() == row_count(prefix), \
                "compiler/compile_options.def lacks a member of " #type)
SMELT_EVERY_MEMBER_HAS_A_ROW(CompileOptions, "");
SMELT_EVERY_MEMBER_HAS_A_ROW(BuildOptions, "build.");
SMELT_EVERY_MEMBER_HAS_A_ROW(TrainingOptions, "training.");
SMELT_EVERY_MEMBER_HAS_A_ROW(ApplyOptimizerOptions, "training.optimizer.");
SMELT_EVERY_MEMBER_HAS_A_ROW(LossScaling, "training.optimizer.scaling.");
SMELT_EVERY_MEMBER_HAS_A_ROW(OffloadStatesOptions, "offload.");
SMELT_EVERY_MEMBER_HAS_A_ROW(BucketCollectivesOptions, "buckets.");
SMELT_EVERY_MEMBER_HAS_A_ROW(PassManagerOptions, "passes.");

template <typename T>
std::string value_text(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return fmt::format("{}", static_cast<int64_t>(value));
  else
    return fmt::format("{}", value);
}

std::string value_text(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}
std::string value_text(const Mesh& mesh) { return str(mesh); }
std::string value_text(const RecomputePolicy& p) {
  const auto& [seconds_per_gib, layers, share, rest] = p;
  return fmt::format("{} {} {} {}", seconds_per_gib, layers, share, rest);
}
std::string value_text(const std::vector<Symbols::Bound>& bounds) {
  std::string text;
  for (const Symbols::Bound& bound : bounds)
    text += fmt::format("{}={},", fmt::join(bound.factors, "*"), bound.upper);
  return text;
}
/// Returns the part of an adapter's config that is the same for all adapters of its shape.
std::string value_text(LoraConfig config) {
  config.base_model.clear(), config.task_type.clear();
  return lora_json(config).dump();
}
template <typename T>
std::string value_text(const std::optional<T>& value) {
  return value ? value_text(*value) : "none";
}

/// Adds "path = value" to the key, or notes that a value other than the default requires a compilation.
template <Effect effect, typename T>
void add_member(std::string_view path, const T& value, const T& standard, std::string& key, bool& is_shown) {
  if constexpr (effect == Effect::plan) key += fmt::format("{} = {}\n", path, value_text(value));
  if constexpr (effect == Effect::shown) is_shown |= value != standard;
}

std::string content_hash(const std::string& text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  return llvm::toHex(llvm::SHA256::hash({bytes, text.size()}), true);
}

}  // namespace

std::string plan_key(const Description& description, const CompileOptions& options) {
  const CompileOptions standard;
  std::string key = fmt::format("build = {}\nformat = {}\n", compiler_build_id(), kPlanFormat);
  bool is_shown = compiler_build_id().empty();
#define SMELT_COMPILE_OPTION(name, member, form, group, effect, help) SMELT_COMPILE_MEMBER(member, effect)
#define SMELT_COMPILE_MEMBER(member, effect) \
  add_member<Effect::effect>(#member, options.member, standard.member, key, is_shown);
#include "compiler/compile_options.def"
  if (is_shown) return {};
  const Target target = resolved_target(options);
  return content_hash(
      fmt::format("{}machine = {}\n{}", key, code_generator(target).machine(target), description.content()));
}

}  // namespace smelt
