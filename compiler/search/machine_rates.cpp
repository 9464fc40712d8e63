#include "compiler/search/machine_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "runtime/cuda/device.h"
#include "runtime/cuda/device_model.h"
#include "runtime/cuda/peer_copies.h"
#include "runtime/ranks/rank_rates.h"

namespace smelt {
namespace {

struct LinkRow {
  int compute_capability;  // 0: processes of a host, through its memory
  RingLink link;
};

// clang-format off
constexpr LinkRow kLinks[] = {
    //    seconds of two ranks, bytes per second over each link
    {0,   {60e-6,  1.0e9}},
    {80,  {25e-6,  2.2e11}},  // NVLink 3
    {86,  {30e-6,  1.8e10}},  // PCIe 4
    {90,  {25e-6,  3.1e11}},  // NVLink 4 (docs/bench/benchmarks.md)
    {100, {25e-6,  6.2e11}},  // NVLink 5
};
// clang-format on

/// The shares of the rates of a large copy and of a large matmul that the steps of a plan sustain.
constexpr double kSustainedCopy = 0.95, kSustainedMatmul = 0.95;
/// Measured on two H100 (docs/bench/benchmarks.md): sums during the backward pass hide almost no time.
constexpr double kLostBesideCollectives = 0.9;
/// Copies take some of the memory's bandwidth and no multiprocessor.
constexpr double kLostBesideCopies = 0.1;

RingLink link_of(const Target& target) {
  RingLink link = kLinks[0].link;
  for (const LinkRow& row : kLinks)
    if (row.compute_capability <= target.compute_capability) link = row.link;
  return link;
}

/// Returns the device here that the target's work would run on; nothing where this machine has no such
/// device.
std::optional<std::string> place_here(const Target& target, int device) {
  if (!target.can.own_memory) return processor_place();
  if (cuda::device_count() == 0) return std::nullopt;
  const cuda::DeviceInfo info = cuda::device_info(device);
  if (info.compute_capability != target.compute_capability) return std::nullopt;
  return info.name;
}

/// The rows of narrower types keep their ratio to f32 where they were not measured.
void take_measured(const RankRates& measured, Rates& rates) {
  if (measured.copy_bytes_per_second > 0)
    rates.bytes_per_second = measured.copy_bytes_per_second * kSustainedCopy;
  if (measured.wide_flops > 0) {
    const double ratio = measured.wide_flops * kSustainedMatmul / rates.wide_flops;
    rates.wide_flops *= ratio;
    if (measured.narrow_flops == 0) rates.narrow_flops *= ratio, rates.tf32_flops *= ratio;
  }
  if (measured.narrow_flops > 0) {
    const double ratio = measured.narrow_flops * kSustainedMatmul / rates.narrow_flops;
    rates.narrow_flops *= ratio, rates.tf32_flops *= ratio;
  }
}

/// Scales rates that were measured, or assumed, for `of` ranks to `ranks` ranks that share the processor.
void share_processor(double of, double ranks, Rates& rates) {
  for (double* rate : {&rates.bytes_per_second, &rates.wide_flops, &rates.tf32_flops, &rates.narrow_flops})
    *rate *= of / ranks;
}

std::string measured_text(const RankRates& measured, const std::string& place, int64_t ranks) {
  return fmt::format("rates of {} ranks measured on {}{}", measured.ranks, place,
                     measured.ranks == ranks ? "" : fmt::format(", scaled to {} as rings change", ranks));
}

}  // namespace

MachineRates machine_rates(const Target& target, int device, int64_t ranks,
                           const std::filesystem::path& cache) {
  MachineRates rates;
  rates.compute = rates_of(target), rates.collectives = CollectiveRates({}, link_of(target));
  if (target.can.own_memory) {
    rates.beside_collectives = kLostBesideCollectives, rates.beside_copies = kLostBesideCopies;
    rates.multiprocessors = device_model(target.compute_capability).multiprocessors;
    rates.copied_from = static_cast<double>(cuda::PeerCopies::kLeastBytes);
  }
  const std::optional<std::string> place = place_here(target, device);
  const auto measured = place ? read_rank_rates(cache, *place, ranks) : std::nullopt;
  if (measured) {
    take_measured(*measured, rates.compute);
    rates.collectives = CollectiveRates(measured->collectives, link_of(target));
    rates.source = measured_text(*measured, *place, ranks);
  } else {
    rates.source = fmt::format(
        "rates assumed of {}: none were measured {} (smelt launch -n {} -- smelt doctor --ranks)",
        target.str(), place ? "on " + *place : "where there is such a device", std::max<int64_t>(ranks, 2));
  }
  if (!target.can.own_memory)
    share_processor(measured ? static_cast<double>(measured->ranks) : 1, static_cast<double>(ranks),
                    rates.compute);
  return rates;
}

}  // namespace smelt
