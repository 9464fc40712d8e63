#include "codegen/cuda/kernel_trial.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "codegen/kernel_passes/kernel_indices.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/half.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kAlignment = 256, kPattern = int64_t{1} << 20;  // bytes
/// The copies of a kernel's memory are kTimesL2 times as large as the L2 cache, so no data of the next run is
/// cached.
constexpr int64_t kTimesL2 = 4;
constexpr int kMostCopies = 16, kRuns = 20, kRounds = 3;

/// Elements from the start of a param to the last that the kernel reaches.
int64_t elements_of(const Kernel& kernel, size_t param, const SymbolValues& values) {
  const KernelParam& p = kernel.params[param];
  if (p.partial) return p.partial_elements.evaluate(values) * std::max<int64_t>(1, kernel.schedule.splits);
  int64_t most = 1;
  for (const Instruction& x : kernel.instructions) {
    if (x.access.param != static_cast<int>(param)) continue;
    int64_t last = x.access.offset.evaluate(values);
    for (size_t axis = 0; axis < x.access.strides.size(); ++axis)
      last += x.access.strides[axis].evaluate(values) *
              std::max<int64_t>(0, kernel.axes[axis].extent.evaluate(values) - 1);
    most = std::max(most, last + 1);
  }
  return most;
}

/// Numbers in [-1, 1) for the types of arithmetic; 1 for the others, but 0 for what may be an index.
std::vector<std::byte> pattern(DType dtype, int64_t bytes) {
  std::vector<std::byte> data(static_cast<size_t>(std::min(bytes, kPattern)));
  uint32_t state = 12345;
  const auto size = static_cast<size_t>(size_of(dtype));
  for (size_t i = 0; i + size <= data.size(); i += size) {
    state = state * 1664525u + 1013904223u;
    const float number = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    const uint16_t half = dtype == DType::bf16 ? to_bf16(number) : to_f16(number);
    const double wide = number;
    if (dtype == DType::f32) std::memcpy(&data[i], &number, size);
    if (dtype == DType::f64) std::memcpy(&data[i], &wide, size);
    if (dtype == DType::bf16 || dtype == DType::f16) std::memcpy(&data[i], &half, size);
    if (size == 1) data[i] = std::byte{1};
  }
  return data;
}

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

float number_at(const std::byte* at, DType dtype) {
  if (dtype == DType::f32) return read<float>(at);
  if (dtype == DType::bf16) return from_bf16(read<uint16_t>(at));
  if (dtype == DType::f16) return from_f16(read<uint16_t>(at));
  if (dtype == DType::f64) return static_cast<float>(read<double>(at));
  return static_cast<float>(size_of(dtype) == 4 ? read<int32_t>(at) : std::to_integer<int>(*at));
}

}  // namespace

bool KernelTrial::is_possible(const Kernel& kernel) {
  return llvm::none_of(kernel.instructions,
                       [](const Instruction& x) { return x.access.param >= 0 && x.access.computed >= 0; }) &&
         llvm::none_of(kernel.axes, [](const KernelAxis& axis) { return axis.begin >= 0 || axis.end >= 0; });
}

int64_t KernelTrial::bytes(const Kernel& kernel, const SymbolValues& values) {
  int64_t total = 0;
  for (size_t i = 0; i < kernel.params.size(); ++i)
    total += elements_of(kernel, i, values) * size_of(kernel.params[i].dtype);
  return total;
}

KernelTrial::KernelTrial(const Device& device, const Kernel& kernel, const SymbolValues& values)
    : device_(device),
      kernel_(kernel),
      values_(values),
      random_(device_block(device, 3 * sizeof(uint32_t))),
      stream_(make_stream(device)) {
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    offsets_.push_back(copy_bytes_);
    sizes_.push_back(elements_of(kernel, i, values) * size_of(kernel.params[i].dtype));
    copy_bytes_ += (sizes_.back() + kAlignment - 1) / kAlignment * kAlignment;
  }
  copies_ = static_cast<int>(
      std::clamp<int64_t>(kTimesL2 * device.info().model.l2_bytes / copy_bytes_ + 1, 1, kMostCopies));
  memory_ = device_block(device, copies_ * copy_bytes_);
  const uint32_t words[3] = {1, 2, 3};
  check(driver().MemcpyHtoDAsync(random_.get(), words, sizeof words, stream_.get()), "preparing a trial");
  for (int copy = 0; copy < copies_; ++copy) fill(copy);
}

void KernelTrial::fill(int copy) {
  for (size_t i = 0; i < sizes_.size(); ++i) {
    const DevicePointer to = memory_.get() + static_cast<DevicePointer>(copy * copy_bytes_ + offsets_[i]);
    const std::vector<std::byte> data = pattern(kernel_.params[i].dtype, sizes_[i]);
    check(driver().MemcpyHtoDAsync(to, data.data(), data.size(), stream_.get()), "preparing a trial");
    check(driver().StreamSynchronize(stream_.get()), "preparing a trial");
    for (int64_t done = static_cast<int64_t>(data.size()); done < sizes_[i]; done *= 2)
      check(driver().MemcpyDtoDAsync(to + static_cast<DevicePointer>(done), to,
                                     static_cast<size_t>(std::min(done, sizes_[i] - done)), stream_.get()),
            "preparing a trial");
  }
}

KernelLaunch KernelTrial::launch_of(Function function, const Schedule& schedule, int copy) const {
  Kernel kernel = kernel_;
  kernel.schedule = schedule;
  const int64_t range = kernel.range().evaluate(values_);
  KernelLaunch l;
  l.function = function;
  l.threads = static_cast<unsigned>(schedule.threads);
  l.blocks = static_cast<unsigned>(schedule.splits > 0 ? schedule.splits
                                                       : (range + schedule.grain - 1) / schedule.grain);
  for (const int64_t offset : offsets_)
    l.values.push_back(memory_.get() + static_cast<DevicePointer>(copy * copy_bytes_ + offset));
  l.values.push_back(random_.get());
  for (const Dim& dim : launch_dims(kernel)) l.values.push_back(static_cast<uint64_t>(dim.evaluate(values_)));
  for (int id = 0; id < kernel.random_slots; ++id) l.values.push_back(static_cast<uint64_t>(id));
  l.values.push_back(static_cast<uint64_t>(range));
  return l;
}

double KernelTrial::seconds(Function function, const Schedule& schedule) {
  std::vector<KernelLaunch> launches;
  for (int copy = 0; copy < copies_; ++copy) launches.push_back(launch_of(function, schedule, copy));
  const EventOwner begin = make_event(device_, true), end = make_event(device_, true);
  double best = std::numeric_limits<double>::infinity();
  if (launches[0].run(stream_.get()) != 0) return best;
  for (int round = 0; round < kRounds; ++round) {
    check(driver().EventRecord(begin.get(), stream_.get()), "timing a kernel");
    for (int run = 0; run < kRuns; ++run)
      check(launches[static_cast<size_t>(run % copies_)].run(stream_.get()), "timing a kernel");
    check(driver().EventRecord(end.get(), stream_.get()), "timing a kernel");
    check(driver().StreamSynchronize(stream_.get()), "timing a kernel");
    best = std::min(best, seconds_between(begin.get(), end.get()) / kRuns);
  }
  return best;
}

/// Adds up the slices of partial sums. Two schedules may assign other rows to a block; the totals are
/// comparable.
std::vector<float> KernelTrial::sum_of_slices(const std::vector<float>& slices, const Dim& elements) const {
  const auto count = static_cast<size_t>(elements.evaluate(values_));
  std::vector<double> sums(count);
  for (size_t i = 0; i < slices.size(); ++i) sums[i % count] += slices[i];
  return {sums.begin(), sums.end()};
}

std::vector<std::vector<float>> KernelTrial::results(Function function, const Schedule& schedule) {
  fill(0);
  check(launch_of(function, schedule, 0).run(stream_.get()), "trying a kernel");
  std::vector<std::vector<float>> all;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (!kernel_.params[i].output) continue;
    std::vector<std::byte> data(static_cast<size_t>(sizes_[i]));
    check(driver().MemcpyDtoHAsync(data.data(), memory_.get() + static_cast<DevicePointer>(offsets_[i]),
                                   data.size(), stream_.get()),
          "reading a trial's results");
    check(driver().StreamSynchronize(stream_.get()), "reading a trial's results");
    const DType dtype = kernel_.params[i].dtype;
    std::vector<float>& numbers = all.emplace_back();
    for (size_t at = 0; at < data.size(); at += static_cast<size_t>(size_of(dtype)))
      numbers.push_back(number_at(&data[at], dtype));
    if (kernel_.params[i].partial) numbers = sum_of_slices(numbers, kernel_.params[i].partial_elements);
  }
  return all;
}

}  // namespace smelt::cuda
