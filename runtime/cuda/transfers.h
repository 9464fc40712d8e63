// Copies inputs to the device and outputs back.
#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/memory.h"
#include "runtime/cuda/resolve.h"

namespace smelt::cuda {

/// Offsets of inputs and outputs in a block that all entries share, because a run needs only those of one
/// entry. Retained outputs of a pipeline stage have none (retained_ports.h).
struct PortMemory {
  std::vector<int64_t> offsets;                // by buffer; -1: not an input or output
  int64_t total = 0, inputs = 0, outputs = 0;  // bytes; inputs and outputs: the most of an entry
};
PortMemory port_memory(const Plan& plan);

/// Pinned memory and a stream of its own: a run's inputs arrive while the device still works on the run
/// before.
class Transfers {
 public:
  Transfers() = default;
  Transfers(const Device& device, const PortMemory& ports, const std::shared_ptr<const Allocator>& allocator);

  /// Copies the inputs; `stream` waits for them and moves them to the steps' buffers (`addresses`, by
  /// buffer). Inputs that are `on_device` (by port; empty: none is) are in these buffers already.
  void stage(const ResolvedEntry& resolved, std::span<const void* const> inputs,
             const std::vector<bool>& on_device, std::span<const DevicePointer> addresses, Stream stream);
  /// Waits for `stream` if an output is requested, and returns whether it waited.
  bool fetch(const ResolvedEntry& resolved, std::span<void* const> outputs,
             std::span<const DevicePointer> addresses, Stream stream);

 private:
  /// A run's inputs: in pinned memory, then on the device. Free again when `done` has happened.
  struct Slot {
    PinnedBlock host;
    DeviceBlock device;
    EventOwner uploaded, done;
    bool busy = false;
  };
  /// Puts the host's inputs into the slot's pinned memory, and returns their bytes.
  static int64_t gather(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                        const std::vector<bool>& on_device, Slot& slot);
  void upload(const Slot& slot, int64_t bytes, Stream stream);

  StreamOwner upload_;
  std::vector<Slot> slots_;
  size_t next_slot_ = 0;
  PinnedBlock outputs_;
  int64_t output_bytes_ = 0;
};

}  // namespace smelt::cuda
