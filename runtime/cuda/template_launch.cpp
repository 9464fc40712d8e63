#include "runtime/cuda/template_launch.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/error.h"

namespace smelt::cuda {
namespace {

using Argument = TemplateLaunch::Argument;

template <typename Map>
auto value_of(const Map& values, const Dim& name, const KernelCode& kernel) {
  const auto found = values.find(name.str());
  if (found == values.end())
    fail_with(Status::invalid_file, "kernel '{}': nothing is given for '{}'", kernel.name, name.str());
  return found->second;
}

/// Eight bytes that hold it.
uint64_t bits(const KernelCode& kernel, const Argument& argument, const LaunchValues& values) {
  if (argument.kind == Argument::Kind::address) return value_of(values.addresses, argument.value, kernel);
  if (argument.kind == Argument::Kind::integer)
    return static_cast<uint64_t>(argument.value.evaluate(values.integers));
  return std::bit_cast<uint32_t>(static_cast<float>(value_of(values.reals, argument.value, kernel)));
}

bool holds(const TemplateLaunch::Condition& condition, const SymbolValues& integers) {
  const int64_t value = condition.value.evaluate(integers);
  return value % condition.divisor == 0 && value < condition.below;
}

}  // namespace

std::optional<KernelLaunch> launch_of(const KernelCode& kernel, Function function,
                                      const LaunchValues& values) {
  if (!kernel.launch) fail_with(Status::invalid_file, "kernel '{}' is no template", kernel.name);
  const TemplateLaunch& launch = *kernel.launch;
  KernelLaunch made;
  made.function = function;
  for (const Argument& argument : launch.arguments) {
    made.values.push_back(bits(kernel, argument, values));
    const bool address = argument.kind == Argument::Kind::address;
    if (address && made.values.back() % static_cast<uint64_t>(argument.alignment) != 0) return {};
  }
  const auto fits = [&](const auto& condition) { return holds(condition, values.integers); };
  if (!std::ranges::all_of(launch.conditions, fits)) return {};
  const int64_t blocks = launch.blocks.evaluate(values.integers);
  if (blocks < 0 || blocks > std::numeric_limits<int32_t>::max())
    fail_with(Status::invalid_file, "kernel '{}': {} blocks: expected 0 to 2^31 - 1", kernel.name, blocks);
  made.blocks =
      static_cast<unsigned>(kernel.most_blocks > 0 ? std::min<int64_t>(blocks, kernel.most_blocks) : blocks);
  made.threads = static_cast<unsigned>(kernel.threads);
  made.waits = kernel.waits;
  const int64_t shared = launch.shared_bytes.evaluate(values.integers);
  made.shared_bytes = static_cast<unsigned>(std::clamp<int64_t>(shared, 0, kernel.shared_bytes));
  return made;
}

}  // namespace smelt::cuda
