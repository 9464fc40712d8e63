#include "codegen/launches/launch_passes.h"

#include "codegen/launches/join_steps.h"
#include "codegen/scheduling/schedule_kernels.h"
#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// The most bytes of the arena that a step reads: so few that its time is the time of a launch.
constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr size_t kMostKernels = 8, kMostPointers = 100;

/// Returns whether threads of a block synchronize, so that all threads of the block must run.
bool exchanges(const Kernel& kernel) {
  const auto is_sum = [](const Instruction& x) {
    return x.kind == Instruction::Kind::reduce || x.kind == Instruction::Kind::accumulate;
  };
  return llvm::any_of(kernel.instructions, is_sum) ||
         llvm::any_of(kernel.blocks, [](const KernelBlock& block) { return block.after_barrier; });
}

/// Steps that can all run at the position of the last of them.
struct Launch {
  std::vector<size_t> steps = {};
  Footprint footprint = {};
};

class LaunchJoiner {
 public:
  LaunchJoiner(Program& program, PlanEntry& entry) : program_(program), steps_(entry.steps) {}

  bool run() {
    for (size_t i = 0; i < steps_.size(); ++i) visit(i);
    close();
    if (launches_.empty()) return false;
    rebuild();
    return true;
  }

 private:
  const Kernel& kernel_of(size_t i) const {
    return program_.kernels[static_cast<size_t>(std::get<KernelStep>(steps_[i].what).kernel)];
  }

  void visit(size_t i) {
    const Footprint touched = footprint(program_, steps_[i]);
    const bool small = is_small(i);
    if (conflict(open_.footprint, touched) || (small && !has_room(i))) close();
    if (!small) return;
    open_.steps.push_back(i);
    open_.footprint.insert(open_.footprint.end(), touched.begin(), touched.end());
  }

  bool is_small(size_t i) const {
    const auto* step = std::get_if<KernelStep>(&steps_[i].what);
    if (!step || !step->random_ids.empty() || steps_[i].choice >= 0) return false;
    if (uses_host_states(program_, steps_[i])) return false;  // piece by piece
    const Kernel& kernel = kernel_of(i);
    return !kernel.has_template() && kernel.copies == 1 && kernel.beside.empty() && kernel.tail.empty() &&
           !kernel.params.empty() && kernel.schedule.splits == 0 && !has_partials(kernel) &&
           kernel.schedule.threads % 32 == 0 && arena_bytes_read(program_, steps_[i]) <= kMostBytes;
  }

  bool has_room(size_t i) const {
    if (open_.steps.empty()) return true;
    size_t pointers = kernel_of(i).params.size();
    int most = kernel_of(i).schedule.threads;
    for (const size_t step : open_.steps)
      pointers += kernel_of(step).params.size(), most = std::max(most, kernel_of(step).schedule.threads);
    const auto fits = [&](size_t step) {
      return !exchanges(kernel_of(step)) || kernel_of(step).schedule.threads == most;
    };
    return steps_[i].phase == steps_[open_.steps[0]].phase && open_.steps.size() < kMostKernels &&
           pointers <= kMostPointers &&
           kernel_of(i).schedule.index32 == kernel_of(open_.steps[0]).schedule.index32 && fits(i) &&
           llvm::all_of(open_.steps, fits);
  }

  void close() {
    if (open_.steps.size() > 1) launches_.push_back(open_.steps);
    open_ = {};
  }

  void rebuild() {
    std::vector<int> launch_of(steps_.size(), -1);
    for (size_t launch = 0; launch < launches_.size(); ++launch)
      for (const size_t step : launches_[launch]) launch_of[step] = static_cast<int>(launch);
    std::vector<Step> joined;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (launch_of[i] < 0) {
        joined.push_back(std::move(steps_[i]));
        continue;
      }
      const std::vector<size_t>& launch = launches_[static_cast<size_t>(launch_of[i])];
      if (i == launch.back()) joined.push_back(join(launch));
    }
    steps_ = std::move(joined);
  }

  Step join(const std::vector<size_t>& launch) {
    Kernel kernel = kernel_of(launch[0]);
    std::vector<Step> parts;
    for (const size_t step : launch) {
      if (step != launch[0]) kernel.beside.push_back(kernel_of(step));
      parts.push_back(std::move(steps_[step]));
    }
    return join_steps(add_kernel(program_, std::move(kernel), "_beside"), parts);
  }

  Program& program_;
  std::vector<Step>& steps_;
  Launch open_;
  std::vector<std::vector<size_t>> launches_;
};

}  // namespace

bool run_side_by_side(Program& program) {
  bool changed = false;
  for (PlanEntry& entry : program.entries)
    if (keeps_tokens(program, entry)) changed |= LaunchJoiner(program, entry).run();
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
