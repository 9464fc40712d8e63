// smelt.DeviceTensor: a result in the memory of the session's GPU, which other libraries use without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/session/session.h"

namespace smelt::python {

/// One output of a run.
class DeviceTensor {
 public:
  /// Runs an entry and returns all of its outputs, which stay on the GPU. The run begins after earlier work
  /// on the CUDA stream `stream` (null: the default stream), and later work on that stream begins after the
  /// run. Throws Error if the plan is not for a GPU.
  static std::vector<DeviceTensor> run(Session& session, std::string_view entry,
                                       std::span<const InputTensor> inputs, void* stream);

  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t bytes() const { return count_elements(shape_) * size_of(dtype_); }
  void* data() const { return reinterpret_cast<void*>(block_.get()); }
  /// Returns the number of the GPU.
  int device() const { return device_->info().ordinal; }
  /// Makes later work on the stream wait until the run has written the values.
  void make_wait(cuda::Stream stream) const;
  HostTensor copy_to_host() const;

 private:
  std::string name_;
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  cuda::Device* device_ = nullptr;
  cuda::DeviceBlock block_;
  cuda::EventOwner written_;  // recorded on the stream after the run
};

void bind_device_tensor(nanobind::module_& module);

}  // namespace smelt::python
