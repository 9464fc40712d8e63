#include "runtime/cuda/device.h"

#include <array>
#include <map>
#include <memory>

#include "runtime/base/error.h"
#include "runtime/cuda/cublas_lt.h"
#include "runtime/cuda/device_rates.h"
#include "runtime/system/environment.h"

namespace smelt::cuda {
namespace {

int ordinal_of_environment(int count) {
  const int ordinal = read_whole(EnvironmentVariable::SMELT_DEVICE).value_or(0);
  if (ordinal >= count)
    fail("SMELT_DEVICE is '{}': expected the number of a GPU, 0 to {}", ordinal, count - 1);
  return ordinal;
}

/// Returns `ordinal` if the GPU exists; throws Error otherwise.
int checked(int ordinal) {
  int count = 0;
  check(driver().DeviceGetCount(&count), "counting GPUs");
  if (count == 0)
    fail_with(Status::unavailable, "the CUDA driver finds no GPU (CUDA_VISIBLE_DEVICES hides them?)");
  if (ordinal == kDefaultDevice) return ordinal_of_environment(count);
  if (ordinal < 0 || ordinal >= count)
    fail_with(Status::unavailable, "there is no GPU {}: expected the number of one, 0 to {}", ordinal,
              count - 1);
  return ordinal;
}

int handle_of(int ordinal) {
  int device = 0;
  check(driver().DeviceGet(&device, ordinal), "opening the GPU");
  return device;
}

int attribute(int which, int device) {
  int value = 0;
  check(driver().DeviceGetAttribute(&value, which, device), "asking for a property of the GPU");
  return value;
}

DeviceModel model_of(int device) {
  DeviceModel model;
  model.multiprocessors = attribute(kMultiprocessors, device);
  model.warp_threads = attribute(kWarpThreads, device);
  model.block_threads = attribute(kBlockThreads, device);
  model.multiprocessor_threads = attribute(kMultiprocessorThreads, device);
  model.multiprocessor_registers = attribute(kMultiprocessorRegisters, device);
  model.block_shared_bytes = attribute(kBlockSharedBytes, device);
  model.multiprocessor_shared_bytes = attribute(kMultiprocessorSharedBytes, device);
  model.l2_bytes = attribute(kL2Bytes, device);
  // Twice a clock of 1,000 Hz, eight bits a byte.
  model.memory_bytes_per_second =
      2e3 / 8 * attribute(kMemoryKilohertz, device) * attribute(kMemoryBits, device);
  return model;
}

struct Memory {
  size_t free = 0, total = 0;
};

/// Returns the memory of the current device.
Memory memory() {
  Memory memory;
  check(driver().MemGetInfo(&memory.free, &memory.total), "asking for free memory");
  return memory;
}

LtHandleTag* new_blas_handle() {
  const CublasLt& lt = cublas_lt();
  LtHandleTag* handle = nullptr;
  if (const int code = lt.Create(&handle); code != 0)
    fail_with(
        Status::unavailable,
        "cuBLASLt {} ({}) does not start on a driver for CUDA {}: status {}; a newer driver or an older "
        "cuBLASLt may be needed",
        lt.GetVersion(), lt.path, driver_cuda_version(), code);
  return handle;
}

}  // namespace

DeviceInfo device_info(int ordinal) {
  DeviceInfo info;
  info.ordinal = checked(ordinal);
  const int device = handle_of(info.ordinal);
  std::array<char, 256> name{};
  check(driver().DeviceGetName(name.data(), static_cast<int>(name.size()), device),
        "asking for the GPU's name");
  info.name = name.data();
  info.compute_capability = 10 * attribute(kCapabilityMajor, device) + attribute(kCapabilityMinor, device);
  info.model = model_of(device);
  return info;
}

Device::Device(int ordinal) : info_(device_info(ordinal)) {
  check(driver().DevicePrimaryCtxRetain(&context_, handle_of(ordinal)), "making a context on the GPU");
}

Device& Device::open(int ordinal) {
  static std::mutex mutex;
  // Never destroyed: sessions that live as long as the process end after it.
  static auto& opened = *new std::map<int, std::unique_ptr<Device>>;
  const int number = checked(ordinal);
  const std::lock_guard lock(mutex);
  std::unique_ptr<Device>& device = opened[number];
  if (!device) device.reset(new Device(number));
  device->make_current();
  return *device;
}

void Device::make_current() const {
  const std::lock_guard lock(mutex_);
  if (!fault_.empty()) fail_with(Status::internal, "{}", fault_);
  check(driver().CtxSetCurrent(context_), "using the GPU");
}

void Device::try_make_current() const noexcept { driver().CtxSetCurrent(context_); }

void Device::fail_from_now_on(const std::string& fault) {
  const std::lock_guard lock(mutex_);
  if (fault_.empty()) fault_ = fault;
}

size_t Device::free_bytes() const { return make_current(), memory().free; }
size_t Device::total_bytes() const { return make_current(), memory().total; }

LtHandleTag* Device::blas() const {
  make_current();
  const std::lock_guard lock(blas_mutex_);
  if (!blas_) blas_ = new_blas_handle();
  return blas_;
}

}  // namespace smelt::cuda
