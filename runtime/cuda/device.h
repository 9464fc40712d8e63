// A GPU of this machine. Functions that use a GPU take it as an argument, so a process may use several GPUs.
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

/// Ordinal that selects the GPU of the environment variable SMELT_DEVICE, or GPU 0 if it is not set.
inline constexpr int kDefaultDevice = -1;

/// Returns the properties of a GPU. Throws Error if there is no GPU with that ordinal, or if SMELT_DEVICE is
/// used and is not the ordinal of a GPU.
DeviceInfo device_info(int ordinal = kDefaultDevice);

/// A GPU that this process uses: its primary context and its cuBLASLt handle.
class Device {
 public:
  /// Returns the process's object for that GPU: all callers share it, because it uses the primary context of
  /// the driver. It is never destroyed. Also makes the GPU current for the calling thread. Throws Error if
  /// there is no such GPU.
  static Device& open(int ordinal = kDefaultDevice);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const { return info_; }
  /// Return the free bytes, and all bytes, of device memory.
  size_t free_bytes() const;
  size_t total_bytes() const;

  /// Makes this GPU current for the calling thread: the driver then allocates memory, loads modules and
  /// creates streams on this GPU. If fail_from_now_on was called, throws Error with its text.
  void make_current() const;
  /// Does the same without throwing, for destructors, which may run on a thread that has not used the GPU.
  void try_make_current() const noexcept;
  /// Records a fault that broke the context, so that make_current() throws in all later calls. The text of
  /// the first fault is kept.
  void fail_from_now_on(const std::string& fault);

  /// Returns the cuBLASLt handle of this GPU, which is created by the first call; any thread may use it.
  /// Throws Error (unavailable) if the library is not on this machine, or does not start.
  LtHandleTag* blas() const;

 private:
  explicit Device(int ordinal);

  DeviceInfo info_;
  Context context_ = nullptr;
  mutable std::mutex mutex_;       // guards fault_
  std::string fault_;              // empty: none
  mutable std::mutex blas_mutex_;  // guards blas_; separate, because the library takes a second to start
  mutable LtHandleTag* blas_ = nullptr;
};

}  // namespace smelt::cuda
