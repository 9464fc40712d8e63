// Which modules an adapter_config.json means, by PEFT's rules.
#include <cmath>

#include "frontend/lora_config.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/tokenizers/patterns/pattern.h"

namespace smelt {
namespace {

/// Returns whether `name`, such as "q_proj", is the whole module name or its last part after a dot.
bool ends_with(llvm::StringRef module, llvm::StringRef name) {
  return module == name || (module.ends_with(name) && module.drop_back(name.size()).ends_with("."));
}

bool is_named(std::string_view module, const std::vector<std::string>& names) {
  return llvm::any_of(names, [&](const std::string& name) { return ends_with(module, name); });
}

bool matches_whole(std::string_view module, const std::string& expression) {
  bool found = false;
  pcre2_pattern("\\A(?:" + expression + ")\\z")->each_match(module, [&](Span) { found = true; });
  return found;
}

/// Numbered part of a module name: "layers" and 3 of "model.layers.3.mlp", for every number between names.
struct Numbered {
  llvm::StringRef name;
  int64_t number;
  bool outermost;  // no text is before the name
};

std::vector<Numbered> numbered_parts(llvm::StringRef module) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  module.split(parts, '.');
  std::vector<Numbered> found;
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    int64_t number = 0;
    if (!parts[i].getAsInteger(10, number)) found.push_back({parts[i - 1], number, i == 1});
  }
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
                              : llvm::is_contained(config_.layers_pattern, part.name);
    if (is_block) return llvm::is_contained(config_.layers, part.number);
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
  return llvm::any_of(config_.modules_to_save, [&](const std::string& name) {
    return dotted.find("." + name + ".") != std::string::npos;
  });
}

}  // namespace smelt
