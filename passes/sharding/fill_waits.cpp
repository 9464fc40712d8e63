#include "passes/sharding/fill_waits.h"

#include <algorithm>
#include <optional>

#include "passes/sharding/step_units.h"
#include "runtime/error.h"

namespace smelt {
namespace {

/// At the bounds; nothing where there is none.
std::optional<double> most(const Symbols& symbols, std::initializer_list<const Dim*> extents) {
  double product = 1;
  try {
    for (const Dim* extent : extents) product *= static_cast<double>(symbols.upper(*extent));
  } catch (const Error&) {
    return std::nullopt;
  }
  return product;
}

class WaitFiller {
 public:
  WaitFiller(const Program& program, PlanEntry& entry, const FillWaitsOptions& options)
      : symbols_(program.symbols),
        options_(options),
        entry_(entry),
        units_(take_units(program, entry)),
        moved_(units_.size()) {}

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < units_.size(); ++i)
      if (is_waited_for_at_once(i))
        if (const auto work = work_in_front_of(i)) move_behind(*work, i), changed = true;
    put_back(std::move(units_), entry_);
    return changed;
  }

 private:
  /// The last of collectives that stand together, where the step behind them needs one of these.
  bool is_waited_for_at_once(size_t index) {
    const size_t next = index + 1;
    if (!units_[index].collective() || next == units_.size() || units_[next].collective()) return false;
    for (size_t behind = next; behind > 0 && units_[behind - 1].collective(); --behind)
      if (conflict(units_[behind - 1].touches, units_[next].touches)) return true;
    return false;
  }

  double bytes(const CollectiveStep& step) const {
    const Dim elements = step.to_elements();
    return most(symbols_, {&elements, &step.rows}).value_or(0) * static_cast<double>(size_of(step.dtype));
  }

  /// Of a choice those of its first way.
  double flops(const StepUnit& unit) const {
    const auto* gemm = std::get_if<GemmStep>(&unit.steps.front().what);
    return gemm ? 2 * most(symbols_, {&gemm->m, &gemm->n, &gemm->k}).value_or(0) : 0;
  }

  std::optional<size_t> work_in_front_of(size_t collective) {
    const double enough = options_.flops_a_byte * bytes(*units_[collective].collective());
    const auto places = static_cast<size_t>(options_.most_places);
    const size_t first = collective > places ? collective - places : 0;
    for (size_t behind = collective; behind > first; --behind)
      if (const size_t i = behind - 1;
          flops(units_[i]) >= enough && !moved_[i] && may_stand_behind(i, collective))
        return i;
    return std::nullopt;
  }

  bool may_stand_behind(size_t unit, size_t last) const {
    for (size_t i = unit + 1; i <= last; ++i)
      if (conflict(units_[unit].touches, units_[i].touches)) return false;
    return true;
  }

  void move_behind(size_t unit, size_t last) {
    const auto begin = units_.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(unit), begin + static_cast<std::ptrdiff_t>(unit) + 1,
                begin + static_cast<std::ptrdiff_t>(last) + 1);
    moved_.erase(moved_.begin() + static_cast<std::ptrdiff_t>(unit));
    moved_.insert(moved_.begin() + static_cast<std::ptrdiff_t>(last), true);
  }

  const Symbols& symbols_;
  const FillWaitsOptions& options_;
  PlanEntry& entry_;
  std::vector<StepUnit> units_;
  std::vector<bool> moved_;  // by unit: it fills a wait
};

}  // namespace

bool fill_waits(Program& program, const FillWaitsOptions& options) {
  bool changed = false;
  for (PlanEntry& entry : program.entries)
    if (has_collectives(entry)) changed |= WaitFiller(program, entry, options).run();
  return changed;
}

}  // namespace smelt
