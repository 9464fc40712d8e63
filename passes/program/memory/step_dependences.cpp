#include "passes/program/memory/step_dependences.h"

#include <map>
#include <set>

namespace smelt {
namespace {

/// Which steps have touched which elements so far.
class Touches {
 public:
  /// The earlier steps that one with these touches has to follow.
  std::set<int> before(const Footprint& footprint) const {
    std::set<int> steps;
    for (const Touch& touch : footprint) {
      add(writes_, touch, steps);
      if (touch.written) add(reads_, touch, steps);
    }
    return steps;
  }

  void note(const Footprint& footprint, int step) {
    for (const Touch& touch : footprint)
      (touch.written ? writes_ : reads_)[touch.memory].push_back({touch, step});
  }

 private:
  using Places = std::map<int, std::vector<std::pair<Touch, int>>>;

  static void add(const Places& places, const Touch& touch, std::set<int>& steps) {
    const auto found = places.find(touch.memory);
    if (found == places.end()) return;
    for (const auto& [other, step] : found->second)
      if (same_elements(touch, other)) steps.insert(step);
  }

  Places reads_, writes_;
};

}  // namespace

StepDependences step_dependences(const std::vector<Footprint>& footprints) {
  const size_t count = footprints.size();
  StepDependences result{std::vector<std::vector<int>>(count), std::vector<int>(count)};
  Touches touches;
  for (size_t i = 0; i < count; ++i) {
    const auto step = static_cast<int>(i);
    const std::set<int> before = touches.before(footprints[i]);
    touches.note(footprints[i], step);
    result.waiting_for[i] = static_cast<int>(before.size());
    for (const int other : before) result.after[static_cast<size_t>(other)].push_back(step);
  }
  return result;
}

}  // namespace smelt
