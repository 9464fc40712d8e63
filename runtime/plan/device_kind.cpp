#include "runtime/plan/device_kind.h"

#include <charconv>

#include "runtime/cpu/small_m.h"

namespace smelt {
namespace {

constexpr DeviceKind kKinds[] = {
    {.name = "cpu", .prefix = "cpu", .most_exact_rows = SmallM::kMostRows},
    {.name = "cuda",
     .prefix = "sm_",
     .own_memory = true,
     .queues_runs = true,
     .captures_runs = true,
     .step_kernels = true,
     .measures = true},
};

}  // namespace

const DeviceKind& device_kind(std::string_view target) {
  for (const DeviceKind& kind : kKinds)
    if (target.starts_with(kind.prefix)) return kind;
  return kKinds[0];
}

int architecture(std::string_view target) {
  const DeviceKind& kind = device_kind(target);
  int number = 0;
  if (kind.own_memory)
    std::from_chars(target.data() + kind.prefix.size(), target.data() + target.size(), number);
  return number;
}

}  // namespace smelt
