#include "passes/program/sharding/fill_waits.h"

#include <algorithm>
#include <optional>

#include "passes/program/sharding/step_units.h"
#include "runtime/base/error.h"
#include "runtime/plan/row_parts.h"

namespace smelt {
namespace {

/// Shares of a wait: fillers that cover less than the first are not worth the memory that they hold; the
/// shortest that covers the second is preferred to longer ones.
constexpr double kLeastShare = 0.125, kEnough = 0.7;

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

/// Costs of units on the clock, in operations.
class UnitCosts {
 public:
  UnitCosts(const Program& program, const FillWaitsOptions& options) : program_(program), options_(options) {}

  /// A choice counts as its first alternative.
  double work(const StepUnit& unit) const {
    double sum = 0;
    for (const Step& step : unit.steps)
      if (step.alternative == 0) sum += work(step);
    return sum;
  }
  double exchange(const CollectiveStep& step) const {
    const Dim elements = step.to_elements();
    const double ranks = most(program_.symbols, {&step.ranks}).value_or(2);
    return options_.flops_a_byte * most(program_.symbols, {&elements, &step.rows}).value_or(0) *
           static_cast<double>(size_of(step.dtype)) * (ranks - 1) / ranks;
  }

 private:
  double work(const Step& step) const {
    if (const auto* gemm = std::get_if<GemmStep>(&step.what))
      return 2 * most(program_.symbols, {&gemm->m, &gemm->n, &gemm->k}).value_or(0);
    return options_.flops_a_byte_of_memory * static_cast<double>(arena_bytes_read(program_, step));
  }

  const Program& program_;
  const FillWaitsOptions& options_;
};

/// Plays units in order and notes the order in which they run. `stays`: matmuls that are not held back.
class WaitFiller {
 public:
  WaitFiller(std::vector<StepUnit>& units, const UnitCosts& costs, std::vector<bool>& stays, size_t places)
      : units_(units), costs_(costs), stays_(stays), places_(places) {}

  std::vector<size_t> run() {
    for (size_t unit = 0; unit < units_.size(); ++unit) {
      release(unit);
      if (is_matmul(unit) && !stays_[unit])
        held_.push_back(unit);
      else
        play(unit);
    }
    while (!held_.empty()) give_up(last_to_play());
    return std::move(order_);
  }

 private:
  struct Pending {
    size_t unit;
    double begin, end;
  };

  bool is_matmul(size_t unit) const {
    return std::holds_alternative<GemmStep>(units_[unit].steps.front().what);
  }

  /// Plays held matmuls that must precede the unit, or were held back for long enough.
  void release(size_t unit) {
    const std::vector<size_t> held = held_;
    for (const size_t each : held)
      if (std::ranges::count(held_, each) > 0 &&
          (unit - each > places_ || conflict(units_[each].touches, units_[unit].touches)))
        give_up(each);
  }

  /// Returns a held matmul that waits, since others may fill its wait, or else the first.
  size_t last_to_play() const {
    const auto waits = [this](size_t unit) { return begin_of(unit) > now_; };
    const auto found = std::ranges::find_if(held_, waits);
    return found == held_.end() ? held_.front() : *found;
  }

  /// Plays a matmul that has filled no wait; the next time it is not held back.
  void give_up(size_t unit) {
    std::erase(held_, unit);
    stays_[unit] = true;
    play(unit);
  }

  void play(size_t unit) {
    fill(unit);
    order_.push_back(unit);
    if (units_[unit].collective())
      begin(unit);
    else
      work(unit);
  }

  void work(size_t unit) {
    now_ = std::max(now_, begin_of(unit)) + costs_.work(units_[unit]);
    std::erase_if(pending_, [this](const Pending& each) { return each.end <= now_; });
  }

  void begin(size_t unit) {
    const CollectiveStep& step = *units_[unit].collective();
    const double begin = std::max(busy_until_, now_ - sent_beside(unit));
    busy_until_ = begin + costs_.exchange(step);
    pending_.push_back({unit, begin, busy_until_});
  }

  /// Operations of the product before an exchange that overlap its copies.
  double sent_beside(size_t unit) const {
    if (order_.size() < 2) return 0;
    const StepUnit& before = units_[order_[order_.size() - 2]];
    if (!maker_in_parts({before.steps.front(), units_[unit].steps.front()}, 1)) return 0;
    return costs_.work(before) * share_of_others(unit);
  }

  double share_of_others(size_t collective) const {
    const auto ranks = units_[collective].collective()->ranks.constant();
    return 1 - 1 / static_cast<double>(ranks.value_or(1));
  }

  /// The clock at which the unit can begin, were all before it done: a product in parts needs the last part
  /// only for the last of its own.
  double begin_of(size_t unit) const {
    double begin = 0;
    for (const Pending& each : pending_) {
      if (!conflict(units_[each.unit].touches, units_[unit].touches)) continue;
      const bool in_parts =
          !units_[unit].collective() &&
          reader_in_parts({units_[each.unit].steps.front(), units_[unit].steps.front()}, 0).has_value();
      const double beside = in_parts ? costs_.work(units_[unit]) * share_of_others(each.unit) : 0;
      begin = std::max(begin, std::max(in_parts ? each.begin : each.end, each.end - beside));
    }
    return begin;
  }

  void fill(size_t unit) {
    while (const auto filler = best_filler(unit)) {
      std::erase(held_, *filler);
      order_.push_back(*filler);
      work(*filler);
    }
  }

  /// Returns the shortest held matmul that covers the wait, else the longest; none that would wait itself.
  std::optional<size_t> best_filler(size_t unit) const {
    const double wait = begin_of(unit) - now_;
    std::optional<size_t> best;
    if (wait <= 0 || units_[unit].collective()) return best;
    for (const size_t each : held_) {
      const double cost = costs_.work(units_[each]);
      if (begin_of(each) > now_ || cost < kLeastShare * wait) continue;
      if (!best || is_better(cost, costs_.work(units_[*best]), kEnough * wait)) best = each;
    }
    return best;
  }
  static bool is_better(double cost, double than, double enough) {
    return than < enough ? cost > than : cost >= enough && cost < than;
  }

  std::vector<StepUnit>& units_;
  const UnitCosts& costs_;
  std::vector<bool>& stays_;
  const size_t places_;
  std::vector<size_t> order_, held_;
  std::vector<Pending> pending_;
  double now_ = 0, busy_until_ = 0;
};

/// Returns the first unit after `index` that reads or overwrites its results.
size_t needed_at(const std::vector<StepUnit>& units, size_t index) {
  size_t next = index + 1;
  while (next < units.size() && !conflict(units[index].touches, units[next].touches)) ++next;
  return next;
}

bool is_gather(StepUnit& unit) {
  const CollectiveStep* step = unit.collective();
  return step && step->kind == CollectiveKind::all_gather;
}

/// Neighbours change places where neither touches what the other makes.
bool put_needed_gathers_first(std::vector<StepUnit>& units) {
  bool changed = false;
  const auto stands_wrong = [&](size_t first) {
    return is_gather(units[first]) && is_gather(units[first + 1]) &&
           !conflict(units[first].touches, units[first + 1].touches) &&
           needed_at(units, first) > needed_at(units, first + 1);
  };
  for (size_t i = 1; i < units.size(); ++i)
    for (size_t at = i; at > 0 && stands_wrong(at - 1); --at)
      std::swap(units[at - 1], units[at]), changed = true;
  return changed;
}

/// Plays again without those that filled nothing, until all that move fill a wait.
bool fill(std::vector<StepUnit>& units, const UnitCosts& costs, size_t places) {
  std::vector<bool> stays(units.size());
  std::vector<size_t> order;
  for (std::vector<bool> before = {true}; before != stays;) {
    before = stays;
    order = WaitFiller(units, costs, stays, places).run();
  }
  if (std::ranges::is_sorted(order)) return false;
  std::vector<StepUnit> moved;
  for (const size_t unit : order) moved.push_back(std::move(units[unit]));
  units = std::move(moved);
  return true;
}

}  // namespace

bool fill_waits(Program& program, const FillWaitsOptions& options) {
  bool changed = false;
  const UnitCosts costs(program, options);
  for (PlanEntry& entry : program.entries) {
    if (!has_collectives(entry)) continue;
    std::vector<StepUnit> units = take_units(program, entry);
    changed |= fill(units, costs, static_cast<size_t>(options.most_places));
    changed |= put_needed_gathers_first(units);
    put_back(std::move(units), entry);
  }
  return changed;
}

}  // namespace smelt
