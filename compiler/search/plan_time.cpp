#include "compiler/search/plan_time.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "compiler/driver/step_cost.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/row_parts.h"

namespace smelt {
namespace {

/// Returns the bytes of all rows, which begin together.
double whole_bytes(const Program& program, const CollectiveStep& step) {
  const Dim elements = step.reads_parts() ? step.from_elements() : step.to_elements();
  return static_cast<double>(bytes_at_bounds(program.symbols, step.rows * elements, step.dtype));
}

/// The stream of the steps and two concurrent streams: one of copies, one of other collectives.
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
        begin(entry.steps, i, *collective);
      else
        work(entry.steps, i);
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

  /// A gather, or an exchange, whose parts a product reads or makes one by one.
  struct Parted {
    double begin = 0, seconds = 0;
    int64_t ranks = 2;
    double of_part() const { return seconds / static_cast<double>(ranks - 1); }
  };

  double seconds_of(const CollectiveStep& step) const {
    const int64_t ranks = program_.symbols.upper(step.ranks);
    return rates_.collectives.time(step.kind, ranks).seconds(whole_bytes(program_, step));
  }

  bool is_parted(const GemmStep& part, const CollectiveStep& step) const {
    if (rates_.multiprocessors == 0 || !is_copied(step, whole_bytes(program_, step))) return false;
    const auto upper = [this](const Dim& dim) { return program_.symbols.upper(dim); };
    const PartedSeconds seconds = parted_seconds(parted_sizes(part, step, upper), rates_.multiprocessors);
    return seconds.parts < seconds.whole;
  }
  std::optional<size_t> parted_maker(const std::vector<Step>& steps, size_t index) const {
    const auto maker = maker_in_parts(steps, index);
    if (!maker) return {};
    const auto& step = std::get<CollectiveStep>(steps[index].what);
    return is_parted(part_made(std::get<GemmStep>(steps[*maker].what), step, 0), step) ? maker : std::nullopt;
  }
  std::optional<size_t> parted_reader(const std::vector<Step>& steps, size_t index) const {
    const auto reader = reader_in_parts(steps, index);
    if (!reader) return {};
    const auto& step = std::get<CollectiveStep>(steps[index].what);
    return is_parted(part_read(std::get<GemmStep>(steps[*reader].what), step, 0), step) ? reader
                                                                                        : std::nullopt;
  }

  void begin(const std::vector<Step>& steps, size_t index, const CollectiveStep& step) {
    if (parted_maker(steps, index)) return;  // it has begun with the product
    const auto end = step.waited_at < 0 ? index + 1 : static_cast<size_t>(step.waited_at);
    const auto reader = parted_reader(steps, index);
    const double seconds = seconds_of(step);
    Side& side = is_copied(step, whole_bytes(program_, step)) ? copies_ : collectives_;
    const double from = std::max(side.busy_until, now_);
    if (reader) arriving_[*reader] = {from, seconds, program_.symbols.upper(step.ranks)};
    side.busy_until = from + seconds;
    time_.collectives += seconds;
    pending_.push_back({side.busy_until, static_cast<int>(end + (reader ? 1 : 0))});
  }

  void work(const std::vector<Step>& steps, size_t index) {
    const double seconds = step_seconds(program_, steps[index], rates_.compute);
    if (const auto found = arriving_.find(index); found != arriving_.end())
      return read_in_parts(found->second, seconds);
    if (index + 1 == steps.size() || !parted_maker(steps, index + 1)) return work(seconds);
    make_in_parts(std::get<CollectiveStep>(steps[index + 1].what), static_cast<int>(index) + 1, seconds);
  }

  void read_in_parts(const Parted& gather, double seconds) {
    for (int64_t i = 0; i < gather.ranks; ++i) {
      now_ = std::max(now_, gather.begin + static_cast<double>(i) * gather.of_part());
      work(seconds / static_cast<double>(gather.ranks));
    }
  }

  void make_in_parts(const CollectiveStep& step, int index, double seconds) {
    const Parted exchange{now_, seconds_of(step), program_.symbols.upper(step.ranks)};
    for (int64_t i = 0; i < exchange.ranks; ++i) {
      work(seconds / static_cast<double>(exchange.ranks));
      if (i + 1 < exchange.ranks)
        copies_.busy_until = std::max(copies_.busy_until, now_) + exchange.of_part();
    }
    time_.collectives += exchange.seconds;
    pending_.push_back({copies_.busy_until, step.waited_at < 0 ? index + 1 : step.waited_at});
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
  std::map<size_t, Parted> arriving_;  // by the product that reads them
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
