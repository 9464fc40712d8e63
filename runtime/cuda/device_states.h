// A plan's states in the GPU's memory. Where the host asks for a state it gets a mirror; what it may have
// written there is sent to the device before the next run. Those of the role stream lie in pinned memory of
// the host, which kernels write to over the bus. Of others the host may hold a part (State::resident): its
// pinned memory has room for all of the state, and is the mirror of what the device holds.
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
  /// Allocates them and makes them zeros. Weights are those of `owner`, where there is one: what it has of
  /// them on the host was sent, and nobody writes to them as long as both are there.
  DeviceStates(const Device& device, const Plan& plan, Stream stream,
               std::shared_ptr<const Allocator> allocator, const DeviceStates* owner = nullptr);

  DevicePointer address(int index) const { return states_[static_cast<size_t>(index)].address(); }
  /// What the device holds of a state; without memory where that is nothing.
  SharedBlock block(int index) const;
  /// The pinned memory of a state that the host holds a part of; null of all others.
  std::byte* host(int index) const { return states_[static_cast<size_t>(index)].host.get(); }
  std::span<const std::byte> read(int index);
  std::span<std::byte> write(int index);
  /// What runs have written so far of a state of the role stream, without waiting for them.
  std::span<std::byte> peek(int index);
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
    std::shared_ptr<const DeviceBlock> device;
    PinnedBlock stream;  // in place of device and mirror
    PinnedBlock host;    // in place of the mirror
    Block mirror;
    int64_t bytes = 0, resident = 0;                   // resident: that the device holds
    int64_t held() const { return bytes - resident; }  // by the host, in front of what the device holds
    /// Of the first element, also where the host holds it. Pinned memory has one address for both.
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
