// Runs whose inputs or outputs are a caller's memory on the GPU: events order them with the caller's stream,
// and tensors that are not used in place are copied within the GPU.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/cuda/executor.h"
#include "runtime/cuda/nvtx.h"

namespace smelt::cuda {
namespace {

constexpr DevicePointer kInPlaceAlignment = 256;  // what kernels and matmuls count on
/// Bytes of a port from which on a copy within the GPU takes longer than it does to look for the address.
constexpr int64_t kLargePort = int64_t{8} << 20;
constexpr size_t kMostRecent = 16;  // addresses that are remembered

/// CU_POINTER_ATTRIBUTE_MEMORY_TYPE and _DEVICE_ORDINAL, and the value of the first for device memory.
constexpr int kMemoryType = 2, kDeviceOrdinal = 9;
constexpr unsigned kOnDevice = 2;

/// Another address would be a fault in the middle of the run, and the GPU lost to the process.
void check_pointer(const Device& device, const void* pointer, std::string_view entry, std::string_view port) {
  if (!driver().PointerGetAttribute) return;
  const auto address = reinterpret_cast<DevicePointer>(pointer);
  unsigned type = 0;
  int ordinal = -1;
  if (driver().PointerGetAttribute(&type, kMemoryType, address) != 0 || type != kOnDevice)
    fail("entry '{}', '{}': {} is no address of a GPU's memory", entry, port, pointer);
  check(driver().PointerGetAttribute(&ordinal, kDeviceOrdinal, address), "looking at an address");
  if (ordinal != device.info().ordinal)
    fail("entry '{}', '{}': it lies on GPU {}, and the session is on GPU {}", entry, port, ordinal,
         device.info().ordinal);
}

/// Returns whether steps may use the port in place: its buffer is used for this port alone.
bool can_be_in_place(const Plan& plan, const PlanEntry& entry, const Port& port, const SymbolValues& symbols,
                     Role role) {
  const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
  const auto uses = [&](const std::vector<Port>& ports) {
    return std::ranges::count(ports, port.buffer, &Port::buffer);
  };
  return buffer.role == role && uses(entry.inputs) + uses(entry.outputs) == 1 &&
         buffer.elements.evaluate(symbols) == element_count(port.shape).evaluate(symbols);
}

}  // namespace

void CudaExecutor::check_device_ports(const PlanEntry& entry, std::span<const void* const> inputs,
                                      std::span<void* const> outputs, const DevicePorts& ports) const {
  if (inputs.size() != entry.inputs.size() || ports.inputs.size() != inputs.size() ||
      outputs.size() != entry.outputs.size() || ports.outputs.size() != outputs.size())
    fail("entry '{}' is given {} inputs and {} outputs: expected {} and {}", entry.name, inputs.size(),
         outputs.size(), entry.inputs.size(), entry.outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] && ports.inputs[i]) check_pointer(device_, inputs[i], entry.name, entry.inputs[i].name);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] && ports.outputs[i]) check_pointer(device_, outputs[i], entry.name, entry.outputs[i].name);
}

bool CudaExecutor::comes_again(const Port& port, const SymbolValues& symbols, DevicePointer address) {
  if (element_count(port.shape).evaluate(symbols) * size_of(port.dtype) < kLargePort) return false;
  const auto found = std::ranges::find(recent_, std::pair(&port, address));
  const bool known = found != recent_.end();
  if (known) recent_.erase(found);
  recent_.emplace_back(&port, address);
  if (recent_.size() > kMostRecent) recent_.pop_front();
  return known;
}

/// Returns the addresses of ports for run_at: 0 for copied ports.
std::vector<DevicePointer> CudaExecutor::places_of(const PlanEntry& entry, const SymbolValues& symbols,
                                                   std::span<const void* const> inputs,
                                                   std::span<void* const> outputs, const DevicePorts& ports) {
  std::vector<DevicePointer> places(inputs.size() + outputs.size(), 0);
  const auto place = [&](size_t at, const Port& port, const void* pointer, Role role) {
    const auto address = reinterpret_cast<DevicePointer>(pointer);
    if (address != 0 && address % kInPlaceAlignment == 0 &&
        can_be_in_place(*plan_, entry, port, symbols, role) &&
        (ports.in_place || comes_again(port, symbols, address)))
      places[at] = address;
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (ports.inputs[i]) place(i, entry.inputs[i], inputs[i], Role::input);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (ports.outputs[i]) place(inputs.size() + i, entry.outputs[i], outputs[i], Role::output);
  const bool any = std::ranges::any_of(places, [](DevicePointer address) { return address != 0; });
  return any ? places : std::vector<DevicePointer>();
}

void CudaExecutor::copy_to_caller(const ResolvedEntry& resolved, std::span<void* const> outputs,
                                  const DevicePorts& ports) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || !ports.outputs[i] || resolved.output_bytes[i] == 0) continue;
    const DevicePointer from = addresses_[static_cast<size_t>(resolved.entry->outputs[i].buffer)];
    check(driver().MemcpyDtoDAsync(reinterpret_cast<DevicePointer>(outputs[i]), from,
                                   static_cast<size_t>(resolved.output_bytes[i]), stream_.get()),
          "copying an output");
  }
}

void CudaExecutor::run_on_device(const PlanEntry& entry, const SymbolValues& symbols,
                                 std::span<const void* const> inputs, std::span<void* const> outputs,
                                 const Philox& random, const DevicePorts& ports) {
  const Range range(entry.name);
  const auto caller = static_cast<Stream>(ports.stream);
  const auto order = [](Event event, Stream first, Stream second) {
    check(driver().EventRecord(event, first), "ordering a run with the caller's stream");
    check(driver().StreamWaitEvent(second, event, 0), "ordering a run with the caller's stream");
  };
  guarded([&] {
    require_places(*plan_, entry, {});
    check_device_ports(entry, inputs, outputs, ports);
    std::vector<DevicePointer> places;
    if (ports.in_place || ports.in_place_again) places = places_of(entry, symbols, inputs, outputs, ports);
    order(caller_begin_.get(), caller, stream_.get());
    ResolvedEntry& ready = prepared(entry, symbols, inputs, random, places, ports.inputs);
    if (options_.poison) poison(ready);
    execute(ready);
    copy_to_caller(ready, outputs, ports);
    order(caller_end_.get(), stream_.get(), caller);
    std::vector<void*> of_host(outputs.begin(), outputs.end());
    for (size_t i = 0; i < of_host.size(); ++i)
      if (ports.outputs[i]) of_host[i] = nullptr;
    deliver(ready, of_host);
  });
}

}  // namespace smelt::cuda
