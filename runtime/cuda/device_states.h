// A plan's states in the GPU's memory. Where the host asks for a state it gets a mirror; what it may have
// written there is sent to the device before the next run.
#pragma once

#include <span>
#include <vector>

#include "runtime/cpu/memory.h"
#include "runtime/cuda/staging.h"

namespace smelt::cuda {

class DeviceStates {
 public:
  DeviceStates() = default;
  /// Allocates them and makes them zeros.
  DeviceStates(const Device& device, const Plan& plan, Stream stream);

  DevicePointer address(int index) const { return states_[static_cast<size_t>(index)].device.get(); }
  std::span<const std::byte> read(int index);
  std::span<std::byte> write(int index);
  /// Both work without a mirror.
  void clear(int index);
  void fill(int index, const Executor::MakePart& make);

  /// Sends to the device what the host may have written.
  void upload(int index);
  void upload_all();
  /// Records that a step has written it.
  void note_written(int index);

 private:
  enum class Newer : uint8_t { neither, host, device };
  struct State {
    DeviceBlock device;
    Block mirror;
    int64_t bytes = 0;
    Newer newer = Newer::device;  // neither and host: there is a mirror
    bool zero = true;  // all zeros, as made or cleared: a fresh mirror need not be read from the device
  };
  State& at(int index);

  Stream stream_ = nullptr;
  std::vector<State> states_;
  Staging staging_;
};

}  // namespace smelt::cuda
