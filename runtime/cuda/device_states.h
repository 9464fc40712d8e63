// A plan's states in the GPU's memory. A state that the host asks for gets a mirror in host memory, which is
// sent to the device before the next run because the host may have written to it. States of the role stream
// are located in pinned host memory, which kernels write to over the bus. The host may hold a part of other
// states (State::resident): its pinned memory has room for the whole state, and is the mirror of the device's
// part.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/cpu/memory.h"
#include "runtime/cuda/peer_memory.h"
#include "runtime/cuda/staging.h"

namespace smelt::cuda {

class DeviceStates {
 public:
  DeviceStates() = default;
  /// Allocates the states and sets them to zero. With an `owner`, the weights are the owner's: its host
  /// copies of them were sent, and no session writes to them as long as both exist.
  DeviceStates(const Device& device, const Plan& plan, Stream stream,
               std::shared_ptr<const Allocator> allocator, const DeviceStates* owner = nullptr);

  DevicePointer address(int index) const { return states_[static_cast<size_t>(index)].address(); }
  /// Returns the device's part of a state; without memory if it holds none.
  SharedBlock block(int index) const;
  /// The pinned memory of a state that the host holds a part of; null of all others.
  std::byte* host(int index) const { return states_[static_cast<size_t>(index)].host.get(); }
  std::span<const std::byte> read(int index);
  std::span<std::byte> write(int index);
  /// Returns the current contents of a state of the role stream, without waiting for runs.
  std::span<std::byte> peek(int index);
  /// Both work without a mirror.
  void clear(int index);
  void fill(int index, const Executor::MakePart& make);

  /// Sends data that the host may have written to the device.
  void upload(int index);
  void upload_all();
  /// Records that a step has written it.
  void note_written(int index);

 private:
  enum class Newer : uint8_t { neither, host, device };
  struct State {
    std::shared_ptr<const DeviceBlock> device;
    PinnedBlock stream;  // in place of device and mirror
    PinnedBlock host;    // in place of the mirror
    Block mirror;
    int64_t bytes = 0, resident = 0;                   // resident: that the device holds
    int64_t held() const { return bytes - resident; }  // by the host: the elements before the device's
    /// Returns the address of the first element, even if the host holds it. Pinned memory has the same
    /// address on host and device.
    DevicePointer address() const {
      if (stream) return reinterpret_cast<DevicePointer>(stream.get());
      return device->get() - static_cast<DevicePointer>(held());
    }
    std::span<std::byte> stream_bytes() const { return {stream.get(), static_cast<size_t>(bytes)}; }
    std::span<std::byte> host_bytes() const { return {host.get(), static_cast<size_t>(bytes)}; }
    Newer newer = Newer::device;  // neither and host: there is a mirror
    bool zero = true;  // all zeros, as made or cleared: a fresh mirror need not be read from the device
  };
  State& at(int index);
  State& at_rest(State& state);
  std::span<const std::byte> read_held(State& state);

  Stream stream_ = nullptr;
  std::shared_ptr<const Allocator> allocator_;
  std::vector<State> states_;
  Staging staging_;
};

}  // namespace smelt::cuda
