#include "compiler/search/plan_time.h"

#include <algorithm>
#include <limits>

#include "compiler/step_cost.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

/// Of all rows, which begin as one.
double whole_bytes(const Program& program, const CollectiveStep& step) {
  const Dim elements = step.reads_parts() ? step.from_elements() : step.to_elements();
  return static_cast<double>(bytes_at_bounds(program.symbols, step.rows * elements, step.dtype));
}

/// The stream of the steps and two beside it: of copies, and of other collectives.
class Timeline {
 public:
  Timeline(const Program& program, const MachineRates& rates)
      : program_(program),
        rates_(rates),
        copies_{1 - rates.beside_copies},
        collectives_{1 - rates.beside_collectives} {}

  EntryTime run(const PlanEntry& entry) {
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      const Step& step = entry.steps[i];
      if (!is_first_way(step)) continue;
      join(static_cast<int>(i));
      if (const auto* collective = std::get_if<CollectiveStep>(&step.what))
        begin(*collective, static_cast<int>(i));
      else
        work(step_seconds(program_, step, rates_.compute));
    }
    join(static_cast<int>(entry.steps.size()));
    time_.seconds = now_;
    time_.exposed = std::max(0.0, now_ - time_.compute);
    return time_;
  }

 private:
  struct Pending {
    double end;
    int waited_at;
  };
  struct Side {
    double rate;  // of work beside it
    double busy_until = 0;
  };

  bool is_copied(const CollectiveStep& step, double bytes) const {
    return step.writes_parts() && bytes >= rates_.copied_from;
  }

  void begin(const CollectiveStep& step, int index) {
    const int64_t ranks = program_.symbols.upper(step.ranks);
    const double bytes = whole_bytes(program_, step);
    const double seconds = rates_.collectives.time(step.kind, ranks).seconds(bytes);
    Side& side = is_copied(step, bytes) ? copies_ : collectives_;
    side.busy_until = std::max(side.busy_until, now_) + seconds;
    time_.collectives += seconds;
    pending_.push_back({side.busy_until, step.waited_at < 0 ? index + 1 : step.waited_at});
  }

  /// Slower while collectives run: until the first of them ends, until the next one does, and then alone.
  void work(double seconds) {
    time_.compute += seconds;
    for (;;) {
      double rate = 1, next = std::numeric_limits<double>::infinity();
      for (const Side* side : {&copies_, &collectives_})
        if (side->busy_until > now_) rate *= side->rate, next = std::min(next, side->busy_until);
      if (now_ + seconds / rate <= next) {
        now_ += seconds / rate;
        return;
      }
      seconds -= (next - now_) * rate;
      now_ = next;
    }
  }

  void join(int step) {
    const auto is_needed = [&](const Pending& one) { return one.waited_at <= step; };
    for (const Pending& one : pending_)
      if (is_needed(one)) now_ = std::max(now_, one.end);
    llvm::erase_if(pending_, is_needed);
  }

  const Program& program_;
  const MachineRates& rates_;
  EntryTime time_;
  double now_ = 0;
  Side copies_, collectives_;
  std::vector<Pending> pending_;
};

}  // namespace

EntryTime& EntryTime::operator+=(const EntryTime& other) {
  seconds += other.seconds, compute += other.compute;
  collectives += other.collectives, exposed += other.exposed;
  return *this;
}

EntryTime operator*(double times, EntryTime time) {
  time.seconds *= times, time.compute *= times, time.collectives *= times, time.exposed *= times;
  return time;
}

EntryTime predicted_time(const Program& program, const PlanEntry& entry, const MachineRates& rates) {
  return Timeline(program, rates).run(entry);
}

std::vector<CollectiveUse> collective_uses(const Program& program, const PlanEntry& entry,
                                           const CollectiveRates& rates) {
  std::vector<CollectiveUse> uses;
  for (const Step& step : entry.steps) {
    const auto* collective = std::get_if<CollectiveStep>(&step.what);
    if (!collective || !is_first_way(step)) continue;
    const int64_t ranks = program.symbols.upper(collective->ranks);
    auto use = llvm::find_if(uses, [&](const CollectiveUse& u) {
      return u.kind == collective->kind && u.axis == collective->axis;
    });
    if (use == uses.end()) use = uses.insert(uses.end(), {collective->kind, collective->axis, ranks});
    const double bytes = whole_bytes(program, *collective);
    ++use->count;
    use->bytes += bytes, use->link_bytes += bytes * ring_share(collective->kind, ranks);
    use->seconds += rates.time(collective->kind, ranks).seconds(bytes);
  }
  return uses;
}

}  // namespace smelt
