// States of a plan (parameters, optimizer moments, caches) in the GPU's memory. When the host reads or writes
// a state for the first time, the state gets a mirror in host memory. A mirror that the host may have written
// to is sent to the device before the next run.
//
// There are two exceptions. States whose role is Role::stream (runtime/plan/plan.h) are read by the host
// during runs; they are located in pinned host memory, to which kernels write over the bus. Other states may
// be divided at the index State::resident. The elements before this index are in pinned host memory, and the
// elements from this index on are in device memory. The pinned memory has room for the whole state, so it
// also serves as the mirror.
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
  /// Allocates the states and sets them to zero. If `owner` is not null, the weights are not allocated: they
  /// are those of `owner`. Requires: `owner` has uploaded its mirrors of the weights, and nothing writes to
  /// the weights as long as both objects exist.
  DeviceStates(const Device& device, const Plan& plan, Stream stream,
               std::shared_ptr<const Allocator> allocator, const DeviceStates* owner = nullptr);

  /// Returns the address to which kernels add the offset of an element. If the state is divided between host
  /// and device, element 0 would have this address in device memory, and the address must not be accessed.
  DevicePointer address(int index) const { return states_[static_cast<size_t>(index)].address(); }
  /// Returns the device memory of a state; SharedBlock::memory is null for a state of the role stream.
  SharedBlock block(int index) const;
  /// Returns the pinned memory of a state of which the host holds a part; null for all others.
  std::byte* host(int index) const { return states_[static_cast<size_t>(index)].host.get(); }
  /// Return the whole state in host memory. They wait for runs that may write to it. The caller of write()
  /// may change the state; the next upload sends it to the device.
  std::span<const std::byte> read(int index);
  std::span<std::byte> write(int index);
  /// Returns the current contents of a state of the role stream, without waiting for runs.
  std::span<std::byte> peek(int index);
  /// clear() sets a state to zero. fill() sets it to the bytes that `make` writes, part by part. Neither
  /// creates a mirror.
  void clear(int index);
  void fill(int index, const Executor::MakePart& make);
  /// Writes `bytes` to a state from byte `begin` on.
  void write_part(int index, int64_t begin, std::span<const std::byte> bytes);

  /// Send a state, or all states, to the device if the host may have written to them.
  void upload(int index);
  void upload_all();
  /// Records that a step writes the state on the device, so that its mirror is outdated.
  void note_written(int index);

 private:
  /// Memory that has the current contents of a state. `neither`: host and device have the same contents.
  enum class Newer : uint8_t { neither, host, device };
  struct State {
    std::shared_ptr<const DeviceBlock> device;
    PinnedBlock stream;  // only for the role stream, instead of `device` and `mirror`
    PinnedBlock host;    // only if the host holds a part, instead of `mirror`
    Block mirror;
    int64_t bytes = 0, resident = 0;  // bytes of the whole state, and of the device's part
    /// Returns the bytes of the host's part, which is before the device's part.
    int64_t held() const { return bytes - resident; }
    /// Returns the address of the first element, even if the host holds it. Pinned memory has the same
    /// address on host and device.
    DevicePointer address() const {
      if (stream) return reinterpret_cast<DevicePointer>(stream.get());
      return device->get() - static_cast<DevicePointer>(held());
    }
    std::span<std::byte> stream_bytes() const { return {stream.get(), static_cast<size_t>(bytes)}; }
    std::span<std::byte> host_bytes() const { return {host.get(), static_cast<size_t>(bytes)}; }
    Newer newer = Newer::device;  // `neither` and `host` imply that there is a mirror
    bool zero = true;             // all elements are zero, so a new mirror is not read from the device
  };
  State& at(int index);
  /// Waits for runs in progress, and returns `state`.
  State& at_rest(State& state);
  /// Does what read() does for a state of which the host holds a part.
  std::span<const std::byte> read_held(State& state);

  Stream stream_ = nullptr;
  std::shared_ptr<const Allocator> allocator_;
  std::vector<State> states_;
  Staging staging_;
};

}  // namespace smelt::cuda
