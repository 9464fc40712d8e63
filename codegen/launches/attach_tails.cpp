#include "codegen/launches/attach_tails.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/launches/fit_tails.h"
#include "codegen/launches/join_steps.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Of the arena, in what a step reads that moves.
constexpr int64_t kMostBytesMoved = 64 << 10;
/// Kernels behind another, and pointers of them all: a kernel's parameters have 4 KiB.
constexpr size_t kLongestTail = 8, kMostPointersOfTails = 200;

/// A launch of a kernel that need not be the program's yet.
struct TailPart {
  Step step;
  Kernel kernel;
};

/// A step of the entry, and what its last block goes on with.
struct HostStep {
  Step step;
  Footprint own = {}, all = {};        // without and with the tail
  std::optional<TailPart> small = {};  // the step itself as another's tail
  std::vector<TailPart> tail = {};
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

bool is_at_least_one(const Dim& dim) {
  if (const auto constant = dim.constant()) return *constant >= 1;
  return llvm::all_of(dim.terms(), [](const Dim::Term& term) { return term.coefficient > 0; });
}

class TailAttacher {
 public:
  explicit TailAttacher(Program& program) : program_(program) {}

  bool run(PlanEntry& entry) {
    steps_.clear();
    for (Step& step : entry.steps) steps_.push_back(host_of(std::move(step)));
    bool changed = attach_all([this](size_t i) { return host_it_waits_for(i); });
    changed |= attach_all([this](size_t i) { return host_nearby(i); });
    entry.steps.clear();
    for (HostStep& step : steps_) entry.steps.push_back(finish(step));
    return changed;
  }

 private:
  HostStep host_of(Step step) const {
    HostStep host{.step = std::move(step)};
    host.own = host.all = footprint(program_, host.step);
    if (arena_bytes_read(program_, host.step) <= kMostBytesMoved) host.small = as_tail(host.step);
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

  /// Its block that ends last is there, and has room.
  bool can_host(const HostStep& host, const HostStep& guest) const {
    const auto* launch = std::get_if<KernelStep>(&host.step.what);
    if (!launch || host.step.phase != guest.step.phase) return false;
    const Kernel& kernel = program_.kernels[launch->kernel];
    size_t pointers = kernel.arguments() + guest.small->kernel.params.size();
    for (const HostStep* both : {&host, &guest})
      for (const TailPart& part : both->tail) pointers += part.kernel.params.size();
    const auto threads = static_cast<unsigned>(kernel.schedule.threads);
    return kernel.copies == 1 && kernel.tail.empty() &&
           (kernel.schedule.splits > 0 || is_at_least_one(kernel.range())) &&
           (threads % 32 == 0 || (threads < 32 && std::has_single_bit(threads))) &&
           host.tail.size() + guest.tail.size() < kLongestTail && pointers <= kMostPointersOfTails;
  }

  /// The last step before that this one must come after, where it can be its tail.
  std::optional<size_t> host_it_waits_for(size_t i) const {
    for (size_t j = i; j-- > 0;)
      if (conflict(steps_[j].all, steps_[i].all))
        return can_host(steps_[j], steps_[i]) ? std::optional(j) : std::nullopt;
    return std::nullopt;
  }

  /// What makes a host a good one for a step that could run anywhere: it has a tail anyway, or a fixed number
  /// of blocks that end, or no more than one block. Others would wait at the end of each of many blocks.
  int merit(const HostStep& host) const {
    if (!host.tail.empty()) return 3;
    const Kernel& kernel = program_.kernels[std::get<KernelStep>(host.step.what).kernel];
    return kernel.schedule.splits > 0 ? 2 : host.small ? 1 : 0;
  }

  /// The best of the steps that it can move to, up or down; the nearest of these.
  std::optional<size_t> host_nearby(size_t i) const {
    std::optional<size_t> best;
    int most = 0;
    const auto offer = [&](size_t j) {
      if (!can_host(steps_[j], steps_[i]) || merit(steps_[j]) <= most) return;
      most = merit(steps_[j]), best = j;
    };
    for (size_t j = i; j > 0; --j) {
      if (conflict(steps_[j - 1].all, steps_[i].all)) break;
      offer(j - 1);
    }
    for (size_t j = i + 1; j < steps_.size(); ++j) {
      if (!conflict(steps_[j].own, steps_[i].all)) offer(j);
      if (conflict(steps_[j].all, steps_[i].all)) break;
    }
    return best;
  }

  // ---- moving

  template <typename Find>
  bool attach_all(const Find& find) {
    bool changed = false;
    for (size_t i = 0; i < steps_.size();) {
      const std::optional<size_t> host = steps_[i].small ? find(i) : std::nullopt;
      if (!host) {
        ++i;
        continue;
      }
      attach(i, *host);
      changed = true;
    }
    return changed;
  }

  /// A step that stood before its host comes before the tail that is there.
  void attach(size_t i, size_t j) {
    HostStep guest = std::move(steps_[i]);
    HostStep& host = steps_[j];
    std::vector<TailPart> parts = {std::move(*guest.small)};
    std::ranges::move(guest.tail, std::back_inserter(parts));
    host.tail.insert(i < j ? host.tail.begin() : host.tail.end(), std::make_move_iterator(parts.begin()),
                     std::make_move_iterator(parts.end()));
    host.all.insert(host.all.end(), guest.all.begin(), guest.all.end());
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
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
    return join_steps(number_of(std::move(kernel)), parts);
  }

  /// Of an equal kernel that is already there, else of this one.
  int number_of(Kernel kernel) {
    for (size_t i = 0; i < program_.kernels.size(); ++i)
      if (program_.kernels[i].same_code(kernel)) return static_cast<int>(i);
    const size_t number = program_.kernels.size();
    kernel.name += "_tail";
    if (llvm::any_of(program_.kernels, [&](const Kernel& other) { return other.name == kernel.name; }))
      kernel.name += std::to_string(number);
    program_.kernels.push_back(std::move(kernel));
    return static_cast<int>(number);
  }

  Program& program_;
  std::vector<HostStep> steps_;
};

}  // namespace

bool attach_tails(Program& program) {
  TailAttacher attacher(program);
  bool changed = false;
  for (PlanEntry& entry : program.entries) changed |= attacher.run(entry);
  if (changed) drop_unused_kernels(program);
  return changed;
}

}  // namespace smelt
