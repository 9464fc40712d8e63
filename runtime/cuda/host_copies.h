// Copies between the GPU and the part of states that is located in pinned host memory (State::resident). Each
// direction has its own stream, so that copies of both directions and kernels run concurrently, until a step
// waits for a copy (CopyStep::waited_at).
#pragma once

#include "runtime/cuda/side_stream.h"

namespace smelt::cuda {

/// A copy step with its sizes evaluated.
struct HostCopyLaunch {
  DevicePointer device = 0;
  std::byte* host = nullptr;
  size_t bytes = 0;
  bool to_device = false;
  size_t waited_at = 0;  // index of the step that waits for the copy; number of steps: the entry's end
};

class HostCopies {
 public:
  explicit HostCopies(const Device& device);

  /// Enqueues a copy, which begins after all earlier work of `main`.
  void launch(const HostCopyLaunch& copy, Stream main);
  /// Makes later work of `main` wait for the copies whose `waited_at` is at most `step`.
  void join(size_t step, Stream main);
  /// Makes later work of `main` wait for all copies.
  void join_all(Stream main);
  /// Drops the pending waits, after a run that ended early by an exception.
  void forget();

 private:
  SideStream in_, out_;  // copies to the device, and copies to the host
};

}  // namespace smelt::cuda
