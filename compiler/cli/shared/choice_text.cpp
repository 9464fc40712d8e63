#include "compiler/cli/shared/program_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace smelt::cli {
namespace {

constexpr size_t kSourceWidth = 60;

const std::vector<std::string>& names_of(const PlanEntry& entry, int choice) {
  return entry.choices[static_cast<size_t>(choice)].alternatives;
}

std::string rule_text(const Choice& choice) {
  if (!choice.last_where) return {};
  return fmt::format(" (the last where {} < {}, and only there)", choice.last_where->value.str(),
                     choice.last_where->below);
}

/// Returns the kind of work of a choice, from its steps; all layers are one kind.
std::string kind_of_work(const PlanEntry& entry, int choice) {
  const auto step = std::ranges::find(entry.steps, choice, &Step::choice);
  if (step == entry.steps.end() || step->sources.empty()) return "@" + entry.name;
  return fmt::format("{} ({})", without_layers(step_sources(*step, kSourceWidth)), step->phase);
}

}  // namespace

std::string alternative_text(const PlanEntry& entry, const Step& step) {
  if (step.choice < 0) return {};
  return fmt::format(" [{}]", names_of(entry, step.choice)[static_cast<size_t>(step.alternative)]);
}

std::string choices_text(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanEntry& entry : plan.entries)
    for (int choice = 0; choice < std::ssize(entry.choices); ++choice)
      lines.push_back(fmt::format("{}, {}: {}{}", entry.name, kind_of_work(entry, choice),
                                  fmt::join(names_of(entry, choice), " | "),
                                  rule_text(entry.choices[static_cast<size_t>(choice)])));
  return lines.empty() ? "" : "the fastest is found at first use of:\n" + counted_lines(lines) + "\n";
}

std::map<std::string, std::string> taken_alternatives(const std::vector<ChoiceTaken>& taken) {
  std::map<std::string, std::set<std::string>> names;
  for (const ChoiceTaken& one : taken)
    names[kind_of_work(*one.entry, one.choice)].insert(
        names_of(*one.entry, one.choice)[static_cast<size_t>(one.alternative)]);
  std::map<std::string, std::string> texts;
  for (const auto& [kind, list] : names) texts[kind] = fmt::format("{}", fmt::join(list, " | "));
  return texts;
}

}  // namespace smelt::cli
