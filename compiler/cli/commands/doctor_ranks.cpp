#include "compiler/cli/commands/doctor.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "compiler/cli/commands/train_ranks.h"
#include "compiler/cli/shared/text_table.h"
#include "runtime/base/error.h"
#include "runtime/cuda/collective_clock.h"
#include "runtime/cuda/device_rates.h"
#include "runtime/plan/step.h"
#include "runtime/ranks/rank_rates.h"
#include "runtime/system/cache_directory.h"

namespace smelt::cli {
namespace {

/// A device that ranks work on, and its method of measurement.
struct MeasuredPlace {
  std::string name;
  cuda::Device* device = nullptr;  // null: the processor
  MeasureCollectivesOptions sizes = sizes_for_processes();

  CollectiveClock clock(RankGroups& groups, size_t axis) const {
    return device ? cuda::collective_clock(*device, groups, axis) : clock_of(groups.along(axis));
  }
};

MeasuredPlace place_of(const Launch& launch, const std::string& target) {
  const int visible = target == "cpu" ? 0 : cuda::device_count();
  if (visible == 0 && target == "cuda")
    fail("--target cuda: this machine has no GPU that works (smelt doctor says why); give --target cpu");
  if (visible == 0) return {processor_place()};
  cuda::Device& device = cuda::Device::open(device_of(launch, visible));
  return {device.info().name, &device, sizes_for_gpus()};
}

/// The slowest rank's, with all at work at once.
double least_of_ranks(double rate, Communicator& everyone) { return -largest_of_ranks(-rate, everyone); }

void measure_device(const cuda::Device& device, RankRates& rates) {
  const cuda::StreamOwner stream = cuda::make_stream(device);
  rates.copy_bytes_per_second = cuda::copy_bytes_per_second(device, stream.get());
  rates.wide_flops = cuda::matrix_flops_per_second(device, stream.get(), DType::f32);
  rates.narrow_flops = cuda::matrix_flops_per_second(device, stream.get(), DType::bf16);
}

RankRates rates_of_a_rank(const MeasuredPlace& place, Ranks& ranks) {
  RankRates rates{ranks.size(), {}};
  ranks.link().barrier("measuring rates");
  if (place.device) {
    measure_device(*place.device, rates);
  } else {
    rates.copy_bytes_per_second = copy_bytes_per_second();
    rates.wide_flops = peak_matrix_flops();
  }
  for (double* rate : {&rates.copy_bytes_per_second, &rates.wide_flops, &rates.narrow_flops})
    *rate = least_of_ranks(*rate, ranks.all());
  return rates;
}

/// Neighbouring ranks are those of an axis, and all groups of them work at once.
std::vector<MeasuredCollective> collectives_of(const MeasuredPlace& place, Ranks& ranks, int64_t size) {
  MeshRanks groups(ranks, {{{"other", ranks.size() / size}, {"axis", size}}});
  return measure_collectives(place.clock(groups, 1), size, groups.everyone(), place.sizes);
}

void add_rows(const std::vector<MeasuredCollective>& measured, TextTable& table) {
  for (const MeasuredCollective& one : measured) {
    const auto& [kind, ranks, time] = one.row;
    const double share = ring_share(kind, ranks);
    const TimedSize& largest = one.sizes.back();
    const double link = largest.bytes * share / largest.seconds;
    std::vector<std::string> cells = {std::string(name(kind)),
                                      std::to_string(ranks),
                                      fmt::format("{:.1f}", time.latency * 1e6),
                                      fmt::format("{:.1f}", time.seconds_per_byte * 1e6 * (1 << 20)),
                                      fmt::format("{:.2f}", link / 1e9),
                                      fmt::format("{:.2f}N/B", share)};
    for (const TimedSize& size : one.sizes) cells.push_back(fmt::format("{:.0f}", size.seconds * 1e6));
    table.add(cells);
  }
}

TextTable table_of_sizes(const MeasuredPlace& place) {
  std::vector<std::string> heads = {"collective", "ranks", "alpha us", "beta us/MiB", "link GB/s", "ring"};
  for (const int64_t bytes : place.sizes.bytes) heads.push_back(bytes_text(bytes));
  return TextTable(heads);
}

void print_rates(const MeasuredPlace& place, const RankRates& rates, const TextTable& table) {
  fmt::print("{} ranks on {}: all at work, the slowest counts\n{}", rates.ranks, place.name, table.text());
  fmt::print(
      "alpha + beta N is the line through the sizes (us); B is the link's rate by the ring's formula\n");
  fmt::print("each rank: copies {:.1f} GB/s, matmuls of f32 {:.0f} GFLOP/s",
             rates.copy_bytes_per_second / 1e9, rates.wide_flops / 1e9);
  if (rates.narrow_flops > 0) fmt::print(", of bf16 {:.0f} GFLOP/s", rates.narrow_flops / 1e9);
  const std::filesystem::path cache = cache_directory();
  if (write_rank_rates(cache, place.name, rates))
    fmt::print("\nkept for predictions: {}\n", rank_rates_file(cache, place.name, rates.ranks).string());
  else
    fmt::print("\nnot kept: the cache directory cannot be written (smelt doctor)\n");
}

void measure(Ranks& ranks, const Launch& launch, const std::string& target) {
  const MeasuredPlace place = place_of(launch, target);
  ranks.link().agree("the ranks to measure", {{"device", place.name}});
  RankRates rates = rates_of_a_rank(place, ranks);
  TextTable table = table_of_sizes(place);
  for (const int64_t size : axis_sizes(ranks.size())) {
    const std::vector<MeasuredCollective> measured = collectives_of(place, ranks, size);
    for (const MeasuredCollective& one : measured) rates.collectives.push_back(one.row);
    add_rows(measured, table);
  }
  if (ranks.rank() == 0) print_rates(place, rates, table);
}

}  // namespace

void measure_ranks(const std::string& target) {
  const Launch launch = read_launch(process_environment());
  if (launch.size == 1)
    fail(
        "--ranks measures what several ranks do together, and this process was started alone: start them "
        "with "
        "`smelt launch -n 2 -- smelt doctor --ranks`");
  join_ranks(launch, [&](Ranks& ranks) { measure(ranks, launch, target); });
}

}  // namespace smelt::cli
