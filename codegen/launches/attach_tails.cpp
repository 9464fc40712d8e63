#include "codegen/kernel_passes/kernel_indices.h"
#include "codegen/launches/launch_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>

#include "codegen/launches/conflict_index.h"
#include "codegen/launches/join_steps.h"
#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// The most bytes of the arena that a moved step reads.
constexpr int64_t kMostBytesMoved = 64 << 10;
/// The most kernels in a tail, and the most pointers of all of them, because a kernel's parameters have 4
/// KiB.
constexpr size_t kLongestTail = 8, kMostPointersOfTails = 200;

/// A launch of a kernel that need not be the program's yet.
struct TailPart {
  Step step;
  Kernel kernel;
};

/// A step of the entry, and its last-block epilogues.
struct HostStep {
  Step step;
  Footprint own = {}, all = {};        // without and with the tail
  std::optional<TailPart> small = {};  // the step itself as another's tail
  std::vector<TailPart> tail = {};
  bool attached = false;  // to another: it is no step any more
};

/// One element from place to place.
Kernel one_element_copy(DType dtype) {
  Kernel kernel;
  kernel.name = "copy";
  kernel.params = {{.name = "x0", .dtype = dtype},
                   {.name = "y1", .dtype = dtype, .output = true, .input = false}};
  kernel.instructions = {
      {.kind = Instruction::Kind::load, .dtype = dtype, .access = {.param = 0}},
      {.kind = Instruction::Kind::store, .dtype = dtype, .operands = {0}, .access = {.param = 1}}};
  kernel.blocks = {{KernelBlock::Scope::row, {0, 1}}};
  return kernel;
}

/// Types whose elements arithmetic leaves as they are.
bool is_copied_whole(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::i32;
}

/// A step keeps its number when others are attached.
class TailAttacher {
 public:
  TailAttacher(Program& program, PlanEntry& entry) : program_(program), entry_(entry) {
    std::vector<Footprint> touched;
    for (Step& step : entry.steps) {
      steps_.push_back(host_of(std::move(step)));
      touched.push_back(steps_.back().own);
    }
    conflicts_.emplace(touched);
    for (size_t i = 0; i < steps_.size(); ++i)
      if (const int merit = merit_of(steps_[i])) hosts_[merit].insert(i);
  }

  bool run() {
    bool changed = attach_all([this](size_t i) { return host_it_waits_for(i); });
    changed |= attach_all([this](size_t i) { return host_nearby(i); });
    entry_.steps.clear();
    for (HostStep& step : steps_)
      if (!step.attached) entry_.steps.push_back(finish(step));
    return changed;
  }

 private:
  static constexpr int kHighestMerit = 3;

  HostStep host_of(Step step) const {
    HostStep host{.step = std::move(step)};
    host.own = host.all = footprint(program_, host.step);
    const bool moves = host.step.choice < 0 && !uses_host_states(program_, host.step) &&
                       arena_bytes_read(program_, host.step) <= kMostBytesMoved;
    if (moves) host.small = as_tail(host.step);
    return host;
  }

  std::optional<TailPart> as_tail(const Step& step) const {
    if (const auto* launch = std::get_if<KernelStep>(&step.what)) {
      const Kernel& kernel = program_.kernels[launch->kernel];
      return can_be_tail(kernel) ? std::optional(TailPart{step, kernel}) : std::nullopt;
    }
    const auto* copy = std::get_if<CopyStep>(&step.what);
    if (!copy || !element_count(copy->extents).is_one() || !is_copied_whole(copy->dtype)) return std::nullopt;
    TailPart part{step, one_element_copy(copy->dtype)};
    part.step.what = KernelStep{.kernel = -1, .arguments = {copy->from, copy->to}, .random_ids = {}};
    return part;
  }

  // ---- where a step may go

  /// Returns whether one of the host's blocks ends last, in whole warps, and its tail and its pointers have
  /// space for those of the guest.
  bool can_host(const HostStep& host, const HostStep& guest) const {
    const auto* launch = std::get_if<KernelStep>(&host.step.what);
    if (!launch || host.step.choice >= 0 || host.step.phase != guest.step.phase) return false;
    const Kernel& kernel = program_.kernels[launch->kernel];
    size_t pointers = kernel.arguments() + guest.small->kernel.params.size();
    for (const HostStep* both : {&host, &guest})
      for (const TailPart& part : both->tail) pointers += part.kernel.params.size();
    const auto threads = static_cast<unsigned>(kernel.schedule.threads);
    return !kernel.has_template() && kernel.copies == 1 && kernel.tail.empty() &&
           (kernel.schedule.splits > 0 || is_at_least_one(kernel.range(), program_.symbols)) &&
           (threads % 32 == 0 || (threads < 32 && std::has_single_bit(threads))) &&
           host.tail.size() + guest.tail.size() < kLongestTail && pointers <= kMostPointersOfTails;
  }

  /// The last step before that this one must come after, where it can be its tail.
  std::optional<size_t> host_it_waits_for(size_t i) const {
    const auto host = conflicts_->last_before(i, steps_[i].all);
    return host && can_host(steps_[*host], steps_[i]) ? host : std::nullopt;
  }

  /// Returns the merit of a host for a step that could run anywhere. A host that has a tail anyway is best,
  /// then one with a fixed number of blocks, then one with at most one block. Others are 0, because each of
  /// many blocks would wait at its end.
  int merit_of(const HostStep& host) const {
    const auto* launch = std::get_if<KernelStep>(&host.step.what);
    if (!launch || host.step.choice >= 0) return 0;
    if (!host.tail.empty()) return kHighestMerit;
    return program_.kernels[launch->kernel].schedule.splits > 0 ? 2 : host.small ? 1 : 0;
  }

  /// The best of the steps that it can move to, up or down; of equal ones the nearest above, or else below.
  std::optional<size_t> host_nearby(size_t i) const {
    for (int merit = kHighestMerit; merit > 0; --merit) {
      if (const auto above = host_above(i, hosts_[merit])) return above;
      if (const auto below = host_below(i, hosts_[merit])) return below;
    }
    return std::nullopt;
  }

  std::optional<size_t> host_above(size_t i, const std::set<size_t>& hosts) const {
    const auto wall = conflicts_->last_before(i, steps_[i].all);
    for (auto host = hosts.lower_bound(i); host != hosts.begin();) {
      if (--host; wall && *host <= *wall) break;
      if (can_host(steps_[*host], steps_[i])) return *host;
    }
    return std::nullopt;
  }

  /// A host whose tail alone has to come after is good too: the step goes before that.
  std::optional<size_t> host_below(size_t i, const std::set<size_t>& hosts) const {
    const auto wall = conflicts_->first_after(i, steps_[i].all);
    for (auto host = hosts.upper_bound(i); host != hosts.end(); ++host) {
      if (wall && *host > *wall) break;
      const bool waits = wall && *host == *wall && conflict(steps_[*host].own, steps_[i].all);
      if (!waits && can_host(steps_[*host], steps_[i])) return *host;
    }
    return std::nullopt;
  }

  // ---- moving

  template <typename Find>
  bool attach_all(const Find& find) {
    bool changed = false;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].attached || !steps_[i].small) continue;
      const std::optional<size_t> host = find(i);
      if (host) attach(i, *host);
      changed |= host.has_value();
    }
    return changed;
  }

  /// A step that stood before its host comes before the tail that is there.
  void attach(size_t i, size_t j) {
    HostStep &guest = steps_[i], &host = steps_[j];
    hosts_[merit_of(guest)].erase(i), hosts_[merit_of(host)].erase(j);
    conflicts_->move(guest.all, i, j);
    std::vector<TailPart> parts = {std::move(*guest.small)};
    std::ranges::move(guest.tail, std::back_inserter(parts));
    host.tail.insert(i < j ? host.tail.begin() : host.tail.end(), std::make_move_iterator(parts.begin()),
                     std::make_move_iterator(parts.end()));
    host.all.insert(host.all.end(), guest.all.begin(), guest.all.end());
    guest.attached = true;
    if (host.tail.size() < kLongestTail) hosts_[kHighestMerit].insert(j);
  }

  // ---- the result

  Step finish(HostStep& host) {
    if (host.tail.empty()) return std::move(host.step);
    Kernel kernel = program_.kernels[std::get<KernelStep>(host.step.what).kernel];
    std::vector<Step> parts = {std::move(host.step)};
    for (TailPart& part : host.tail) {
      kernel.tail.push_back(std::move(part.kernel));
      parts.push_back(std::move(part.step));
    }
    fit_tails(kernel);
    return join_steps(add_kernel(program_, std::move(kernel), "_tail"), parts);
  }

  Program& program_;
  PlanEntry& entry_;
  std::vector<HostStep> steps_;
  std::optional<ConflictIndex> conflicts_;
  std::array<std::set<size_t>, kHighestMerit + 1> hosts_;  // by merit: steps that others may be attached to
};

}  // namespace

bool attach_tails(Program& program) {
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= TailAttacher(program, entry).run();
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
