// Which modules an adapter_config.json means, by PEFT's rules.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "runtime/engine/adapters/lora_config.h"
#include "runtime/tokenizers/patterns/pattern.h"

namespace smelt {
namespace {

/// Returns whether `name`, such as "q_proj", is the whole module name or its last part after a dot.
bool ends_in(std::string_view module, std::string_view name) {
  if (!module.ends_with(name)) return false;
  module.remove_suffix(name.size());
  return module.empty() || module.ends_with('.');
}

bool is_named(std::string_view module, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return ends_in(module, name); });
}

bool matches_whole(std::string_view module, const std::string& expression) {
  bool found = false;
  pcre2_pattern("\\A(?:" + expression + ")\\z")->each_match(module, [&](Span) { found = true; });
  return found;
}

/// Numbered part of a module name: "layers" and 3 of "model.layers.3.mlp", for every number between names.
struct Numbered {
  std::string_view name;
  int64_t number;
  bool outermost;  // no text is before the name
};

/// Returns the parts of a name between its dots.
std::vector<std::string_view> parts_of(std::string_view module) {
  std::vector<std::string_view> parts;
  for (size_t dot = module.find('.'); dot != module.npos; dot = module.find('.')) {
    parts.push_back(module.substr(0, dot));
    module.remove_prefix(dot + 1);
  }
  parts.push_back(module);
  return parts;
}

/// Returns the number that a part is; nothing if it has other characters.
std::optional<int64_t> number_of(std::string_view part) {
  int64_t number = 0;
  const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), number);
  return fault == std::errc() && end == part.data() + part.size() ? std::optional(number) : std::nullopt;
}

std::vector<Numbered> numbered_parts(std::string_view module) {
  const std::vector<std::string_view> parts = parts_of(module);
  std::vector<Numbered> found;
  for (size_t i = 1; i + 1 < parts.size(); ++i)
    if (const auto number = number_of(parts[i])) found.push_back({parts[i - 1], *number, i == 1});
  return found;
}

/// The value for the first expression that fits the end of the name.
template <typename T>
T by_pattern(const std::map<std::string, T>& patterns, std::string_view module, T otherwise) {
  for (const auto& [expression, value] : patterns)
    if (matches_whole(module, "(?:.*\\.)?(?:" + expression + ")")) return value;
  return otherwise;
}

}  // namespace

bool LoraTargets::is_in_layers(std::string_view module) const {
  if (config_.layers.empty()) return true;
  for (const Numbered& part : numbered_parts(module)) {
    const bool is_block = config_.layers_pattern.empty()
                              ? !part.outermost
                              : std::ranges::count(config_.layers_pattern, part.name) > 0;
    if (is_block) return std::ranges::count(config_.layers, part.number) > 0;
  }
  return false;
}

bool LoraTargets::adapts(std::string_view module, bool is_head) const {
  if (is_named(module, config_.excluded) || saves(module)) return false;
  if (config_.all_linear) return !is_head;
  if (!config_.target_pattern.empty()) return matches_whole(module, config_.target_pattern);
  return is_named(module, config_.targets) && is_in_layers(module);
}

LoraTarget LoraTargets::of(std::string_view module) const {
  const int64_t r = by_pattern(config_.rank_pattern, module, config_.r);
  const double alpha = by_pattern(config_.alpha_pattern, module, config_.alpha);
  const auto rank = static_cast<double>(r);
  return {r, alpha / (config_.rslora ? std::sqrt(rank) : rank)};
}

bool LoraTargets::saves(std::string_view module) const {
  const std::string dotted = "." + std::string(module) + ".";
  return std::ranges::any_of(config_.modules_to_save, [&](const std::string& name) {
    return dotted.find("." + name + ".") != std::string::npos;
  });
}

}  // namespace smelt
