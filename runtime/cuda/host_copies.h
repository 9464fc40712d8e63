// Copies between the GPU and the host's part of states in pinned memory. Each direction has its own stream,
// so that both directions run concurrently with each other and with kernels, until a step waits for them
// (CopyStep::waited_at).
#pragma once

#include "runtime/cuda/side_stream.h"

namespace smelt::cuda {

/// A copy step with its sizes evaluated.
struct HostCopyLaunch {
  DevicePointer device = 0;
  std::byte* host = nullptr;
  size_t bytes = 0;
  bool to_device = false;
  size_t waited_at = 0;  // a step of the entry, or their number
};

class HostCopies {
 public:
  explicit HostCopies(const Device& device);

  /// Begins when `main` has done all that it was given before.
  void launch(const HostCopyLaunch& copy, Stream main);
  /// `main` waits for those that this step, or one before it, needs.
  void join(size_t step, Stream main);
  void join_all(Stream main);
  /// A run that was given up half-way waits for nothing.
  void forget();

 private:
  SideStream in_, out_;
};

}  // namespace smelt::cuda
