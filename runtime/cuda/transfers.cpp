#include "runtime/cuda/transfers.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/threads.h"
#include "runtime/plan/retained_ports.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kOutputPart = int64_t{64} << 20;  // bytes of outputs that are copied at a time
constexpr int64_t kPortAlignment = 256;
/// The most bytes that one copy of all inputs moves, gaps included: it takes about as long as two small
/// copies.
constexpr int64_t kMostInOneCopy = int64_t{1} << 20;

int64_t aligned(int64_t bytes) { return (bytes + kPortAlignment - 1) / kPortAlignment * kPortAlignment; }

/// Large inputs by all threads: one alone copies slower than the GPU works.
void copy_to_host_slot(std::byte* to, const Port& port, const void* from, int64_t bytes) {
  if (!from) return smelt::fill(to, bytes / size_of(port.dtype), port.dtype, port.fill);
  constexpr int64_t kPart = int64_t{1} << 20;
  const auto* source = static_cast<const std::byte*>(from);
#pragma omp parallel for schedule(static) num_threads(bytes > kPart ? team_threads() : 1)
  for (int64_t begin = 0; begin < bytes; begin += kPart)
    std::memcpy(to + begin, source + begin, static_cast<size_t>(std::min(kPart, bytes - begin)));
}

/// Waiting costs the host time even where the event has happened, as it nearly always has: so it asks first.
void wait_for(Event event) {
  const Driver::Code code = driver().EventQuery(event);
  check(code == kNotReady ? driver().EventSynchronize(event) : code, "running the plan");
}

bool lies_there(const std::vector<bool>& on_device, size_t port) {
  return port < on_device.size() && on_device[port];
}

}  // namespace

PortMemory port_memory(const Plan& plan) {
  PortMemory memory;
  memory.offsets.assign(plan.buffers.size(), -1);
  for (const PlanEntry& entry : plan.entries) {
    int64_t end = 0;
    const auto place = [&](const std::vector<Port>& ports) {
      const int64_t begin = end;
      for (const Port& port : ports) {
        if (is_kept_port(plan, port)) continue;
        const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
        int64_t& offset = memory.offsets[static_cast<size_t>(port.buffer)];
        if (buffer.role == Role::input || buffer.role == Role::output) offset = std::max(offset, end);
        end += aligned(buffer.bytes);
      }
      return end - begin;
    };
    memory.inputs = std::max(memory.inputs, place(entry.inputs));
    memory.outputs = std::max(memory.outputs, place(entry.outputs));
    memory.total = std::max(memory.total, end);
  }
  return memory;
}

Transfers::Transfers(const Device& device, const PortMemory& ports,
                     const std::shared_ptr<const Allocator>& allocator)
    : block_offsets_(ports.offsets),
      upload_(make_stream(device)),
      output_bytes_(std::min(ports.outputs, kOutputPart)) {
  outputs_ = pinned_block(device, output_bytes_, allocator);
  const int64_t bytes = std::max(ports.inputs, std::min(ports.total, kMostInOneCopy));
  for (int i = 0; i < ports.slots(); ++i)
    slots_.push_back({pinned_block(device, bytes, allocator), device_block(device, bytes, allocator),
                      make_event(device), make_event(device)});
}

Transfers::Layout Transfers::layout_of(const ResolvedEntry& resolved,
                                       const std::vector<bool>& on_device) const {
  const auto& ports = resolved.entry->inputs;
  Layout layout = {std::vector<int64_t>(ports.size(), -1)};
  std::vector<int64_t> places = layout.offsets;  // in the block
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  for (size_t i = 0; i < ports.size(); ++i) {
    const int64_t bytes = resolved.input_bytes[i];
    if (bytes == 0 || lies_there(on_device, i)) continue;
    layout.offsets[i] = std::exchange(layout.bytes, layout.bytes + aligned(bytes));
    places[i] = block_offsets_[static_cast<size_t>(ports[i].buffer)];
    begin = std::min(begin, places[i]), end = std::max(end, places[i] + bytes);
  }
  if (layout.bytes == 0 || begin < 0 || end - begin > kMostInOneCopy) return layout;
  for (size_t i = 0; i < ports.size(); ++i)
    if (places[i] >= 0) layout.offsets[i] = places[i] - begin;
  layout.bytes = end - begin, layout.in_one = true;
  return layout;
}

void Transfers::gather(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                       const Layout& layout, Slot& slot) {
  const auto& ports = resolved.entry->inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const int64_t bytes = resolved.input_bytes[i];
    if (!inputs[i] && !ports[i].optional && bytes > 0)
      fail("entry '{}' is run without its input '{}'", resolved.entry->name, ports[i].name);
    if (layout.offsets[i] >= 0)
      copy_to_host_slot(slot.host.get() + layout.offsets[i], ports[i], inputs[i], bytes);
  }
}

void Transfers::stage(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                      const std::vector<bool>& on_device, std::span<const DevicePointer> addresses,
                      Stream stream) {
  const auto& ports = resolved.entry->inputs;
  if (inputs.size() != ports.size())
    fail("entry '{}' is given {} inputs: expected {}", resolved.entry->name, inputs.size(), ports.size());
  Slot& slot = slots_[next_slot_++ % slots_.size()];
  if (slot.busy) wait_for(slot.done.get());
  const Layout layout = layout_of(resolved, on_device);
  gather(resolved, inputs, layout, slot);
  if (layout.bytes > 0) upload(slot, layout.bytes, stream);
  place(resolved, inputs, layout, slot, addresses, stream);
  if (layout.bytes == 0) return;
  check(driver().EventRecord(slot.done.get(), stream), "copying inputs");
  slot.busy = true;
}

/// Inputs that are on the device come last, because the copy in one also writes to the buffers in between.
void Transfers::place(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                      const Layout& layout, const Slot& slot, std::span<const DevicePointer> addresses,
                      Stream stream) {
  const auto copy = [&](size_t port, DevicePointer from, int64_t bytes) {
    const DevicePointer to = addresses[static_cast<size_t>(resolved.entry->inputs[port].buffer)];
    check(driver().MemcpyDtoDAsync(to, from, static_cast<size_t>(bytes), stream), "copying an input");
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t at = layout.offsets[i], bytes = layout.in_one ? layout.bytes : resolved.input_bytes[i];
    if (at == 0 || (at > 0 && !layout.in_one))
      copy(i, slot.device.get() + static_cast<DevicePointer>(at), bytes);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (layout.offsets[i] < 0 && resolved.input_bytes[i] > 0)
      copy(i, reinterpret_cast<DevicePointer>(inputs[i]), resolved.input_bytes[i]);
}

void Transfers::upload(const Slot& slot, int64_t bytes, Stream stream) {
  const Stream upload = upload_.get();
  check(driver().MemcpyHtoDAsync(slot.device.get(), slot.host.get(), static_cast<size_t>(bytes), upload),
        "copying inputs");
  check(driver().EventRecord(slot.uploaded.get(), upload), "copying inputs");
  check(driver().StreamWaitEvent(stream, slot.uploaded.get(), 0), "copying inputs");
}

/// Copies small outputs together; outputs that do not fit the pinned memory are copied in parts.
bool Transfers::fetch(const ResolvedEntry& resolved, std::span<void* const> outputs,
                      std::span<const DevicePointer> addresses, Stream stream) {
  struct Part {
    std::byte *to, *pinned;
    size_t bytes;
  };
  std::vector<Part> parts;
  bool waited = false;
  std::byte* pinned = outputs_.get();
  const auto deliver = [&] {
    if (parts.empty()) return;
    check(driver().StreamSynchronize(stream), ("running entry '" + resolved.entry->name + "'").c_str());
    waited = true;
    for (const Part& part : parts) std::memcpy(part.to, part.pinned, part.bytes);
    parts.clear();
    pinned = outputs_.get();
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t bytes = outputs[i] ? resolved.output_bytes[i] : 0;
    const DevicePointer from = addresses[static_cast<size_t>(resolved.entry->outputs[i].buffer)];
    for (int64_t begin = 0; begin < bytes;) {
      if (pinned == outputs_.get() + output_bytes_) deliver();
      const int64_t part = std::min(bytes - begin, outputs_.get() + output_bytes_ - pinned);
      check(driver().MemcpyDtoHAsync(pinned, from + static_cast<DevicePointer>(begin),
                                     static_cast<size_t>(part), stream),
            "copying an output");
      parts.push_back({static_cast<std::byte*>(outputs[i]) + begin, pinned, static_cast<size_t>(part)});
      pinned += part, begin += part;
    }
  }
  deliver();
  return waited;
}

}  // namespace smelt::cuda
