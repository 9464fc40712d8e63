#include "passes/graph/training/parameter_groups.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "passes/parameter_patterns.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

struct GroupRule {
  std::string pattern;
  double factor = 0;
};

GroupRule parsed_rule(const std::string& text, std::string_view option) {
  const auto [pattern, number] = llvm::StringRef(text).rsplit('=');
  double factor = -1;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), factor);
  if (pattern.empty() || error != std::errc{} || end != number.end() || !(factor >= 0) ||
      !std::isfinite(factor))
    fail("optimiser: {} has '{}', expected PATTERN=FACTOR with a factor from 0 on, such as *.bias=0.5",
         option, text);
  return {pattern.str(), factor};
}

using FactorByName = std::map<std::string, double, std::less<>>;

/// The factors that rules give, by the names of parameters.
FactorByName factors_by_name(const Module& module, const std::vector<std::string>& rules,
                             std::string_view option) {
  FactorByName factors;
  for (const std::string& text : rules) {
    const GroupRule rule = parsed_rule(text, option);
    const std::vector<bool> fits = parameters_that_fit(module, {rule.pattern}, module.stage.has_value());
    for (const auto [fit, parameter] : llvm::zip(fits, module.parameters))
      if (fit) factors[parameter.name] = rule.factor;
  }
  return factors;
}

/// The first number between the dots of a name.
std::optional<int64_t> layer_number(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  name.split(parts, '.');
  for (const llvm::StringRef part : parts) {
    int64_t number = 0;
    if (!part.getAsInteger(10, number) && number >= 0) return number;
  }
  return std::nullopt;
}

std::map<std::string, int64_t, std::less<>> depths(const Module& module) {
  std::map<std::string, int64_t, std::less<>> depths;
  int64_t depth = 0, largest = 0;
  std::vector<std::string> since_last_layer;
  for (const Module::Parameter& parameter : module.parameters) {
    const std::optional<int64_t> layer = layer_number(parameter.name);
    if (layer) depth = *layer + 1, largest = std::max(largest, depth), since_last_layer.clear();
    if (!layer && depth > 0) since_last_layer.push_back(parameter.name);
    depths[parameter.name] = depth;
  }
  for (const std::string& name : since_last_layer) depths[name] = largest + 1;
  return depths;
}

void multiply_by_depth(const Module& module, const State& flat, double decay, std::vector<double>& rates) {
  if (module.stage)
    fail(
        "--layer-decay={} needs all layers, and a stage of a pipeline has some of them: leave one of them "
        "out",
        decay);
  const auto depth = depths(module);
  int64_t largest = 0;
  for (const auto& [name, at] : depth) largest = std::max(largest, at);
  for (auto [segment, rate] : llvm::zip(flat.segments, rates))
    rate *= std::pow(decay, static_cast<double>(largest - depth.at(segment.name)));
}

double factor_of(const FactorByName& factors, const Segment& segment, double otherwise) {
  const auto found = factors.find(segment.name);
  return found == factors.end() ? otherwise : found->second;
}

}  // namespace

ParameterGroups parameter_groups(const Module& module, const State& flat,
                                 const ApplyOptimizerOptions& options) {
  const bool has_rates = !options.rate_of.empty() || options.layer_decay != 1;
  const FactorByName rates = factors_by_name(module, options.rate_of, "lr-of");
  const FactorByName decays = factors_by_name(module, options.decay_of, "decay-of");
  ParameterGroups groups;
  for (const Segment& segment : flat.segments) {
    if (has_rates) groups.rates.push_back(factor_of(rates, segment, 1));
    if (!decays.empty())
      groups.decays.push_back(factor_of(decays, segment, segment.decay || options.decay_all ? 1 : 0));
  }
  if (options.layer_decay != 1) multiply_by_depth(module, flat, options.layer_decay, groups.rates);
  return groups;
}

void check_groups(const ApplyOptimizerOptions& options) {
  for (const std::string& rule : options.rate_of) parsed_rule(rule, "lr-of");
  for (const std::string& rule : options.decay_of) parsed_rule(rule, "decay-of");
}

}  // namespace smelt
