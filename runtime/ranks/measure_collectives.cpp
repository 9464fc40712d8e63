#include "runtime/ranks/measure_collectives.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

namespace smelt {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                     CollectiveKind::all_gather, CollectiveKind::all_to_all};

/// Runs collectives on memory of its own.
class HostClock {
 public:
  explicit HostClock(Communicator& group) : group_(group) {}

  double operator()(CollectiveKind kind, int64_t bytes) {
    whole_.resize(static_cast<size_t>(bytes)), other_.resize(static_cast<size_t>(bytes));
    const auto begin = std::chrono::steady_clock::now();
    run(kind, std::span(other_).first(other_.size() / static_cast<size_t>(group_.size())));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  void run(CollectiveKind kind, std::span<std::byte> part) {
    switch (kind) {
      case CollectiveKind::all_reduce:
        return group_.all_reduce(whole_, DType::f32, CollectiveSum::add);
      case CollectiveKind::reduce_scatter:
        return group_.reduce_scatter(whole_, part, DType::f32, CollectiveSum::add);
      case CollectiveKind::all_gather:
        return group_.all_gather(part, whole_);
      case CollectiveKind::all_to_all:
        return group_.all_to_all(whole_, other_);
    }
  }

  Communicator& group_;
  std::vector<std::byte> whole_, other_;
};

double median_seconds(const CollectiveClock& clock, CollectiveKind kind, int64_t bytes, int repetitions) {
  clock(kind, bytes);
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) seconds.push_back(clock(kind, bytes));
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

int64_t rounded_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

CollectiveClock clock_of(Communicator& group) {
  return [clock = std::make_shared<HostClock>(group)](CollectiveKind kind, int64_t bytes) {
    return (*clock)(kind, bytes);
  };
}

MeasureCollectivesOptions sizes_for_processes() {
  return {{4 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20}, 9};
}

MeasureCollectivesOptions sizes_for_gpus() {
  return {{64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}, 9};
}

std::vector<MeasuredCollective> measure_collectives(const CollectiveClock& clock, int64_t ranks,
                                                    Communicator& everyone,
                                                    const MeasureCollectivesOptions& options) {
  std::vector<MeasuredCollective> measured;
  for (const CollectiveKind kind : kKinds) {
    MeasuredCollective& one = measured.emplace_back();
    for (const int64_t about : options.bytes) {
      const int64_t bytes = rounded_up(about, 8 * ranks);
      const double seconds = median_seconds(clock, kind, bytes, options.repetitions);
      one.sizes.push_back({static_cast<double>(bytes), largest_of_ranks(seconds, everyone)});
    }
    one.row = {kind, ranks, fit_line(one.sizes)};
  }
  return measured;
}

std::vector<int64_t> axis_sizes(int64_t ranks) {
  std::vector<int64_t> sizes;
  for (int64_t size = 2; size <= ranks; ++size)
    if (ranks % size == 0) sizes.push_back(size);
  return sizes;
}

double largest_of_ranks(double number, Communicator& everyone) {
  everyone.all_reduce(std::as_writable_bytes(std::span(&number, 1)), DType::f64, CollectiveSum::max);
  return number;
}

}  // namespace smelt
