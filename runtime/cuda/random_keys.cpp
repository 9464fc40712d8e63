#include "runtime/cuda/random_keys.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::cuda {
namespace {

constexpr size_t kWords = 4;  // of a key: three, and one that keeps keys aligned

}  // namespace

RandomKeys::RandomKeys(const Device& device, const Plan& plan,
                       const std::shared_ptr<const Allocator>& allocator)
    : parts_(1) {
  for (const PlanEntry& entry : plan.entries)
    for (const Step& step : entry.steps)
      if (const auto* launch = std::get_if<KernelStep>(&step.what))
        for (const RandomPart& part : launch->random_parts)
          if (std::ranges::find(parts_, part) == parts_.end()) parts_.push_back(part);
  block_ = device_block(device, static_cast<int64_t>(parts_.size() * kWords * sizeof(uint32_t)), allocator);
}

DevicePointer RandomKeys::address(const KernelStep& step, const std::string& place) const {
  if (step.random_parts.empty()) return whole();
  const RandomPart& part = step.random_parts.front();
  if (std::ranges::any_of(step.random_parts, [&](const RandomPart& other) { return other != part; }))
    fail_with(Status::invalid_file,
              "{}: one kernel draws random numbers of several parts of a batch: expected those of one",
              place);
  const auto index = static_cast<size_t>(std::ranges::find(parts_, part) - parts_.begin());
  return whole() + index * kWords * sizeof(uint32_t);
}

void RandomKeys::upload(const Philox& random, const SymbolValues& values, Stream stream) {
  std::vector<uint32_t> words;
  for (const RandomPart& of : parts_) {
    const Philox key =
        of == RandomPart{} ? random : random.of_part(of.parts.evaluate(values), of.part.evaluate(values));
    words.insert(words.end(), {key.seed, key.step, key.micro_step, 0});
  }
  if (words == sent_) return;
  check(driver().MemcpyHtoDAsync(block_.get(), words.data(), words.size() * sizeof(uint32_t), stream),
        "setting the random numbers");
  sent_ = std::move(words);
}

}  // namespace smelt::cuda
