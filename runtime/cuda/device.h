// A GPU of this machine: an object that is passed to all that works on it. Several may be used at once.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/device_model.h"
#include "runtime/cuda/driver.h"

namespace smelt::cuda {

struct LtHandleTag;

/// Properties of a GPU that the driver reports without a context on it.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;
  int compute_capability = 0;  // 90 for sm_90
  DeviceModel model;
};

/// Instead of a number: the GPU of SMELT_DEVICE, or the first.
inline constexpr int kDefaultDevice = -1;

/// Throws Error if there is no such GPU, and for a SMELT_DEVICE that is not the number of one.
DeviceInfo device_info(int ordinal = kDefaultDevice);

class Device {
 public:
  /// Returns the same object to every caller that opens that GPU, as the driver has one context per process.
  /// It stays open until the process ends, and is current for the calling thread. Throws Error if there is no
  /// such GPU.
  static Device& open(int ordinal = kDefaultDevice);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const { return info_; }
  size_t free_bytes() const;
  size_t total_bytes() const;

  /// Makes this GPU current for the thread: the driver then allocates, loads and creates on it. Throws the
  /// Error given to fail_from_now_on.
  void make_current() const;
  /// Makes the context current in destructors, which may run on a thread that has not used the GPU.
  void try_make_current() const noexcept;
  /// Records a fault, which breaks the context and with it all that this process does on this GPU.
  void fail_from_now_on(const std::string& fault);

  /// Returns cuBLASLt's handle on this GPU, created at its first use; any thread may use it. Throws Error
  /// (unavailable) if the library is not on this machine, or does not start.
  LtHandleTag* blas() const;

 private:
  explicit Device(int ordinal);

  DeviceInfo info_;
  Context context_ = nullptr;
  mutable std::mutex mutex_;  // of what follows
  std::string fault_;
  mutable std::mutex blas_mutex_;  // of its own: the library takes a second to start
  mutable LtHandleTag* blas_ = nullptr;
};

}  // namespace smelt::cuda
