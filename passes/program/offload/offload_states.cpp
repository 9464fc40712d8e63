#include "passes/program/offload/offload_states.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ir/analysis/host_states.h"
#include "ir/analysis/step_footprint.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/program/memory/lifetimes.h"
#include "passes/program/offload/slice_kernel.h"
#include "runtime/base/error.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

/// A copy of 32 MiB takes half a millisecond, and a hundred times what it takes to begin.
constexpr int64_t kBucketBytes = int64_t{32} << 20, kLeastBytes = int64_t{64} << 10, kBuckets = 24;

const State* state_of(const Program& program, int buffer) {
  const int state = program.buffers[static_cast<size_t>(buffer)].state;
  return state < 0 ? nullptr : &program.states[static_cast<size_t>(state)];
}

int64_t elements_of(const State& state) { return element_count(state.shape).constant().value_or(0); }

/// Returns text of a step for a message.
std::string step_text(const PlanEntry& entry, const Step& step) {
  return fmt::format("@{} ({}{})", entry.name, kind_name(step),
                     step.sources.empty() ? "" : " " + step.sources.front());
}

/// Why a step needs all of a state at once; empty where it does not.
std::string why_whole(const Program& program, const Step& step, int state) {
  const auto* launch = std::get_if<KernelStep>(&step.what);
  if (!launch) return "it is no kernel over elements";
  const Kernel& kernel = program.kernels[static_cast<size_t>(launch->kernel)];
  if (step.choice >= 0) return "it is one of several ways to do the same";
  if (std::string why = smelt::why_whole(kernel); !why.empty()) return why;
  for (size_t i = 0; i < launch->arguments.size(); ++i) {
    const BufferRef& argument = launch->arguments[i];
    if (program.buffers[static_cast<size_t>(argument.buffer)].state != state) continue;
    int64_t elements = 1;
    for (const KernelAxis& axis : kernel.axes) elements *= axis.extent.constant().value_or(0);
    const bool all = elements == elements_of(program.states[static_cast<size_t>(state)]);
    if (!argument.offset.is_zero() || !all || !is_dense(kernel, static_cast<int>(i)))
      return "it touches a part of it, or in another order";
  }
  return {};
}

std::set<int> states_of(const Program& program, const Step& step) {
  std::set<int> states;
  for (const auto* buffers : {&step.reads, &step.writes})
    for (const int buffer : *buffers)
      if (state_of(program, buffer)) states.insert(program.buffers[static_cast<size_t>(buffer)].state);
  return states;
}

/// Limit of a state's host part, and the reason for it.
struct Limit {
  int64_t elements = 0;  // from the first on that updates alone touch
  std::string reason;
  bool updated = false;
};

/// The first element that a step touches of a state.
int64_t first_touched(const Program& program, const Step& step, int state) {
  int64_t first = elements_of(program.states[static_cast<size_t>(state)]);
  for (const Touch& touch : footprint(program, step))
    if (touch.memory == -2 - state) first = std::min(first, touch.begin);
  return first;
}

std::map<int, Limit> limits_of(const Program& program) {
  std::map<int, Limit> limits;
  for (size_t i = 0; i < program.states.size(); ++i)
    limits[static_cast<int>(i)].elements = elements_of(program.states[i]);
  for (const PlanEntry& entry : program.entries)
    for (const Step& step : entry.steps)
      for (const int state : states_of(program, step)) {
        Limit& limit = limits[state];
        const std::string why = why_whole(program, step, state);
        if (why.empty()) {
          limit.updated = true;
          continue;
        }
        const int64_t first = first_touched(program, step, state);
        if (first >= limit.elements) continue;
        limit.elements = first;
        limit.reason = fmt::format("{} touches it, but {}", step_text(entry, step), why);
      }
  for (auto& [state, limit] : limits)
    if (!limit.updated) {
      limit.elements = 0;
      if (limit.reason.empty()) limit.reason = "no update works on its elements alone";
    }
  return limits;
}

class Offload {
 public:
  Offload(Program& program, const OffloadStatesOptions& options, const MovableStates& movable)
      : program_(program), options_(options), movable_(movable.elements) {
    const double bytes =
        std::max(options.share * static_cast<double>(movable.bytes), static_cast<double>(options.bytes));
    share_ = std::min(1.0, bytes / static_cast<double>(movable.bytes));
  }

  void run() {
    for (const auto& [state, elements] : movable_) choose_held(state, elements);
    for (PlanEntry& entry : program_.entries) slice_steps(entry);
  }

 private:
  /// Windows of small states are to be small, too.
  int64_t slice_elements(const Step& step) const {
    int64_t width = 1, elements = 0;
    for (const int index : states_of(program_, step)) {
      if (!movable_.count(index)) continue;
      const State& state = program_.states[static_cast<size_t>(index)];
      width = std::max<int64_t>(width, size_of(state.dtype)), elements = elements_of(state);
    }
    const int64_t bucket = options_.bucket > 0
                               ? options_.bucket
                               : std::min(kBucketBytes, std::max(kLeastBytes, elements * width / kBuckets));
    return std::max<int64_t>(1, bucket / width);
  }

  std::vector<KernelSlice> slices(const Step& step) const {
    const auto& launch = std::get<KernelStep>(step.what);
    return slices_of(program_.kernels[static_cast<size_t>(launch.kernel)], slice_elements(step));
  }

  /// Returns the begins of the step's slices, and its end.
  std::set<int64_t> boundaries(const Step& step) const {
    std::set<int64_t> begins;
    int64_t at = 0;
    for (const KernelSlice& slice : slices(step)) {
      begins.insert(at);
      int64_t elements = 1;
      for (const int64_t extent : slice.extent) elements *= extent;
      at += elements;
    }
    begins.insert(at);
    return begins;
  }

  /// The first place from the share on at which slices of all its updates begin; or else the last that may
  /// be.
  void choose_held(int index, int64_t most) {
    std::optional<std::set<int64_t>> common;
    for (const PlanEntry& entry : program_.entries)
      for (const Step& step : entry.steps) {
        if (!is_sliced(step) || !states_of(program_, step).count(index)) continue;
        std::set<int64_t> own = boundaries(step);
        if (common) std::erase_if(own, [&](int64_t begin) { return !common->count(begin); });
        common = std::move(own);
      }
    const auto wanted = static_cast<int64_t>(std::ceil(share_ * static_cast<double>(most)));
    auto held = common->lower_bound(wanted);
    if (held == common->end() || *held > most) --held;
    program_.states[static_cast<size_t>(index)].resident = *held;
  }

  /// An update of what is moved; other steps read what stays.
  bool is_sliced(const Step& step) const {
    const auto is_update_of = [&](int state) {
      return movable_.count(state) && why_whole(program_, step, state).empty();
    };
    return llvm::any_of(states_of(program_, step), is_update_of);
  }

  void slice_steps(PlanEntry& entry) {
    std::vector<Step> steps;
    for (Step& step : entry.steps) {
      if (is_sliced(step))
        slice(step, steps);
      else
        steps.push_back(std::move(step));
    }
    entry.steps = std::move(steps);
  }

  void slice(const Step& step, std::vector<Step>& to) {
    const int whole = std::get<KernelStep>(step.what).kernel;
    const std::vector<KernelSlice> all = slices(step);
    const int table = asks_for_index(program_.kernels[static_cast<size_t>(whole)]) ? table_of(all) : -1;
    for (size_t i = 0; i < all.size(); ++i) {
      Step part = step;
      auto& launch = std::get<KernelStep>(part.what);
      launch.kernel = kernel_over(whole, all[i].extent);
      for (size_t argument = 0; argument < launch.arguments.size(); ++argument)
        launch.arguments[argument].offset +=
            slice_offset(program_.kernels[static_cast<size_t>(whole)], static_cast<int>(argument), all[i]);
      if (table >= 0) {
        launch.arguments.push_back({table, static_cast<int64_t>(i * all[i].begin.size())});
        part.reads.push_back(table);
      }
      to.push_back(std::move(part));
    }
  }

  int kernel_over(int whole, const std::vector<int64_t>& extent) {
    const auto [known, fresh] =
        kernels_.try_emplace({whole, extent}, static_cast<int>(program_.kernels.size()));
    if (fresh) {
      Kernel made = slice_kernel(program_.kernels[static_cast<size_t>(whole)], extent);
      program_.kernels.push_back(std::move(made));
    }
    return known->second;
  }

  /// Makes the table of the begins of slices along each axis.
  int table_of(const std::vector<KernelSlice>& slices) {
    std::vector<int32_t> begins;
    for (const KernelSlice& slice : slices)
      for (const int64_t begin : slice.begin) begins.push_back(static_cast<int32_t>(begin));
    const auto bytes = std::as_bytes(std::span(begins));
    program_.buffers.push_back({.name = "slices",
                                .role = Role::constant,
                                .dtype = DType::i32,
                                .elements = static_cast<int64_t>(begins.size()),
                                .bytes = static_cast<int64_t>(bytes.size()),
                                .data = {bytes.begin(), bytes.end()}});
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  Program& program_;
  const OffloadStatesOptions& options_;
  const std::map<int, int64_t> movable_;                         // elements by state
  double share_ = 0;                                             // of them that are moved
  std::map<std::pair<int, std::vector<int64_t>>, int> kernels_;  // by the whole one and the extents
};

[[noreturn]] void refuse(const MovableStates& movable) {
  std::string reasons;
  for (const auto& [state, reason] : movable.refusals)
    reasons += fmt::format("{}'{}': {}", reasons.empty() ? "" : "; ", state, reason);
  fail(
      "no state of the optimizer can be moved to the host's memory: {}; leave --offload-optimizer out, or "
      "give "
      "an --optimizer that works element by element, such as adamw",
      reasons.empty() ? "there is none" : reasons);
}

}  // namespace

MovableStates movable_states(const Program& program) {
  MovableStates movable;
  for (const auto& [index, limit] : limits_of(program)) {
    const State& state = program.states[static_cast<size_t>(index)];
    if (state.role != Role::parameter && state.role != Role::optimizer) continue;
    if (limit.elements == 0) {
      movable.refusals.push_back({state.name, limit.reason});
      continue;
    }
    movable.elements[index] = limit.elements;
    movable.bytes += limit.elements * size_of(state.dtype);
  }
  return movable;
}

bool offload_states(Program& program, const OffloadStatesOptions& options) {
  if (!options.on()) return false;
  const MovableStates movable = movable_states(program);
  if (movable.bytes == 0) refuse(movable);
  Offload(program, options, movable).run();
  return true;
}

}  // namespace smelt
