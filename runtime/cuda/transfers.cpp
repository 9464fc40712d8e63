#include "runtime/cuda/transfers.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/threads.h"
#include "runtime/plan/retained_ports.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kOutputPart = int64_t{64} << 20;  // bytes of outputs that are copied at a time
constexpr int64_t kPortAlignment = 256;

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
    : upload_(make_stream(device)), output_bytes_(std::min(ports.outputs, kOutputPart)) {
  outputs_ = pinned_block(device, output_bytes_, allocator);
  for (int i = 0; i < 2; ++i)
    slots_.push_back({pinned_block(device, ports.inputs, allocator),
                      device_block(device, ports.inputs, allocator), make_event(device), make_event(device)});
}

int64_t Transfers::gather(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                          const std::vector<bool>& on_device, Slot& slot) {
  const auto& ports = resolved.entry->inputs;
  int64_t end = 0;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!inputs[i] && !ports[i].optional && resolved.input_bytes[i] > 0)
      fail("entry '{}' is run without its input '{}'", resolved.entry->name, ports[i].name);
    if (lies_there(on_device, i)) continue;
    copy_to_host_slot(slot.host.get() + end, ports[i], inputs[i], resolved.input_bytes[i]);
    end += aligned(resolved.input_bytes[i]);
  }
  return end;
}

void Transfers::stage(const ResolvedEntry& resolved, std::span<const void* const> inputs,
                      const std::vector<bool>& on_device, std::span<const DevicePointer> addresses,
                      Stream stream) {
  const auto& ports = resolved.entry->inputs;
  if (inputs.size() != ports.size())
    fail("entry '{}' is given {} inputs: expected {}", resolved.entry->name, inputs.size(), ports.size());
  Slot& slot = slots_[next_slot_++ % slots_.size()];
  if (slot.busy) wait_for(slot.done.get());
  const int64_t end = gather(resolved, inputs, on_device, slot);
  if (end > 0) upload(slot, end, stream);
  DevicePointer from = slot.device.get();
  for (size_t i = 0; i < ports.size(); ++i) {
    const auto bytes = static_cast<size_t>(resolved.input_bytes[i]);
    const DevicePointer to = addresses[static_cast<size_t>(ports[i].buffer)];
    const bool there = lies_there(on_device, i);
    const DevicePointer source = there ? reinterpret_cast<DevicePointer>(inputs[i]) : from;
    if (bytes > 0) check(driver().MemcpyDtoDAsync(to, source, bytes, stream), "copying an input");
    if (!there) from += static_cast<DevicePointer>(aligned(resolved.input_bytes[i]));
  }
  if (end == 0) return;
  check(driver().EventRecord(slot.done.get(), stream), "copying inputs");
  slot.busy = true;
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
