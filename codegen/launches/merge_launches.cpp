#include "codegen/launches/launch_passes.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "codegen/launches/join_steps.h"
#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// The most bytes of the arena that one step reads, and that all steps of a launch read. These stay in memory
/// until the last of the steps.
constexpr int64_t kMostBytesOfOne = int64_t{5} << 20, kMostBytesOfAll = int64_t{20} << 20;
constexpr size_t kMostSteps = 40, kMostArguments = 128;

/// Steps of one kernel that can all still run at the position of the last of them.
struct Launches {
  int kernel = -1;
  std::vector<size_t> steps = {};
  Footprint footprint = {};
  int64_t bytes = 0;
};

class LaunchMerger {
 public:
  LaunchMerger(Program& program, std::map<std::pair<int, size_t>, int>& made)
      : program_(program), made_(made) {}

  bool run(PlanEntry& entry) {
    steps_ = &entry.steps;
    for (size_t i = 0; i < entry.steps.size(); ++i) visit(i);
    for (Launches& group : open_) close(group);
    if (last_of_.empty()) return false;
    rebuild();
    return true;
  }

 private:
  void visit(size_t i) {
    const Footprint touched = footprint(program_, (*steps_)[i]);
    llvm::erase_if(open_, [&](Launches& group) {
      if (!conflict(group.footprint, touched)) return false;
      return close(group), true;
    });
    if (is_small(i)) add(i, touched);
  }

  bool is_small(size_t i) const {
    const auto* launch = std::get_if<KernelStep>(&(*steps_)[i].what);
    if (!launch || !launch->random_ids.empty() || (*steps_)[i].choice >= 0) return false;
    if (uses_host_states(program_, (*steps_)[i])) return false;  // piece by piece
    const Kernel& kernel = program_.kernels[launch->kernel];
    return !kernel.has_template() && kernel.copies == 1 && kernel.tail.empty() && !kernel.params.empty() &&
           arena_bytes_read(program_, (*steps_)[i]) <= kMostBytesOfOne;
  }

  void add(size_t i, const Footprint& touched) {
    const Step& step = (*steps_)[i];
    const int kernel = std::get<KernelStep>(step.what).kernel;
    const int64_t bytes = arena_bytes_read(program_, step);
    auto group = llvm::find_if(open_, [&](const Launches& g) {
      return g.kernel == kernel && (*steps_)[g.steps[0]].phase == step.phase;
    });
    if (group != open_.end() && !has_room(*group, bytes)) {
      close(*group);
      open_.erase(group), group = open_.end();
    }
    if (group == open_.end()) group = open_.insert(open_.end(), Launches{.kernel = kernel});
    group->steps.push_back(i), group->bytes += bytes;
    group->footprint.insert(group->footprint.end(), touched.begin(), touched.end());
  }

  bool has_room(const Launches& group, int64_t bytes) const {
    const size_t steps = group.steps.size() + 1;
    return steps <= kMostSteps && steps * program_.kernels[group.kernel].params.size() <= kMostArguments &&
           group.bytes + bytes <= kMostBytesOfAll;
  }

  void close(const Launches& group) {
    if (group.steps.size() < 2) return;
    for (size_t step : group.steps) last_of_[step] = group.steps.back();
  }

  void rebuild() {
    std::map<size_t, std::vector<Step>> parts;  // by the last
    std::vector<Step> steps;
    for (size_t i = 0; i < steps_->size(); ++i) {
      const auto last = last_of_.find(i);
      if (last == last_of_.end()) {
        steps.push_back(std::move((*steps_)[i]));
        continue;
      }
      std::vector<Step>& own = parts[last->second];
      own.push_back(std::move((*steps_)[i]));
      if (i == last->second)
        steps.push_back(join_steps(copies_of(std::get<KernelStep>(own[0].what).kernel, own.size()), own));
    }
    *steps_ = std::move(steps);
  }

  int copies_of(int kernel, size_t copies) {
    const auto [entry, fresh] =
        made_.try_emplace({kernel, copies}, static_cast<int>(program_.kernels.size()));
    if (fresh) {
      Kernel many = program_.kernels[kernel];
      many.name += fmt::format("_x{}", copies);
      many.copies = static_cast<int>(copies);
      program_.kernels.push_back(std::move(many));
    }
    return entry->second;
  }

  Program& program_;
  std::map<std::pair<int, size_t>, int>& made_;  // by kernel and copies
  std::vector<Step>* steps_ = nullptr;
  std::vector<Launches> open_;
  std::map<size_t, size_t> last_of_;
};

}  // namespace

bool merge_launches(Program& program) {
  std::map<std::pair<int, size_t>, int> made;
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= LaunchMerger(program, made).run(entry);
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
