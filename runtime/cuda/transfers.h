// Copies of inputs to the device and of outputs to the host.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/cuda/resolve.h"

namespace smelt::cuda {

/// Layout of the block of device memory for inputs and outputs. All entries use the same bytes of the block,
/// because a run has the inputs and outputs of only one entry. Retained outputs of a pipeline stage
/// (retained_ports.h) are not in it.
struct PortMemory {
  std::vector<int64_t> offsets;  // for each buffer of the plan: its offset in bytes; -1: not in the block
  /// total: bytes of the block. inputs, outputs: the most bytes that the inputs, or the outputs, of one entry
  /// need.
  int64_t total = 0, inputs = 0, outputs = 0;
  /// Number of runs whose inputs may wait for the device. Small inputs have a third place, because a server
  /// of an encoder-decoder starts up to three runs together: to encode, to begin and to continue.
  int slots() const { return inputs <= kMostInThreeSlots ? 3 : 2; }
  static constexpr int64_t kMostInThreeSlots = int64_t{16} << 20;
};
PortMemory port_memory(const Plan& plan);

/// Pinned memory for transfers, and a separate stream for inputs, so that the inputs of a run arrive while
/// the device still works on the run before.
class Transfers {
 public:
  Transfers() = default;
  Transfers(const Device& device, const PortMemory& ports, const std::shared_ptr<const Allocator>& allocator);

  /// Copies the host's inputs to memory of the device. Makes `stream` wait for these copies, and then copy
  /// all inputs to the buffers that the steps read. `addresses` has the device address of each buffer of the
  /// plan. `on_device` has one element per input, which is true if the input is a device address; empty: none
  /// is. Inputs of 0 bytes (ResolvedEntry::input_bytes) are not copied.
  void stage(const ResolvedEntry& resolved, std::span<const void* const> inputs,
             const std::vector<bool>& on_device, std::span<const DevicePointer> addresses, Stream stream);
  /// Copies each requested output to the host. An output is requested if its pointer is not null and it has
  /// more than 0 bytes (ResolvedEntry::output_bytes). Waits for `stream` if there is such an output, and
  /// returns whether it waited.
  bool fetch(const ResolvedEntry& resolved, std::span<void* const> outputs,
             std::span<const DevicePointer> addresses, Stream stream);

 private:
  /// Memory for the inputs of one run: pinned memory `host`, from which the inputs are copied to `device`.
  /// The slot may be used again after the event `done`.
  struct Slot {
    PinnedBlock host;
    DeviceBlock device;
    EventOwner uploaded, done;
    bool busy = false;
  };
  /// Positions of the host's inputs in a slot. `in_one`: they have the same distances from each other in the
  /// block of PortMemory, so one copy moves all of them there, together with the unused bytes between them.
  /// Otherwise they are adjacent in the slot, and each has a copy of its own.
  struct Layout {
    std::vector<int64_t> offsets;  // for each input of the entry: offset in bytes; -1: not in the slot
    int64_t bytes = 0;             // of the slot that are used
    bool in_one = false;
  };
  Layout layout_of(const ResolvedEntry& resolved, const std::vector<bool>& on_device) const;
  /// Copies the host's inputs to the slot's pinned memory.
  static void gather(const ResolvedEntry& resolved, std::span<const void* const> inputs, const Layout& layout,
                     Slot& slot);
  void upload(const Slot& slot, int64_t bytes, Stream stream);
  /// Makes `stream` copy all inputs to the buffers that the steps read.
  static void place(const ResolvedEntry& resolved, std::span<const void* const> inputs, const Layout& layout,
                    const Slot& slot, std::span<const DevicePointer> addresses, Stream stream);

  std::vector<int64_t> block_offsets_;  // PortMemory::offsets
  StreamOwner upload_;
  std::vector<Slot> slots_;
  size_t next_slot_ = 0;
  PinnedBlock outputs_;
  int64_t output_bytes_ = 0;
};

}  // namespace smelt::cuda
