#include "runtime/cpu/resolve.h"

#include "runtime/cpu/bind_step.h"
#include "runtime/plan/plan_checks.h"
#include "runtime/plan/plan_validate.h"

namespace smelt {
namespace {

ResolvedEntry::ResolvedPort port_size(const Plan& plan, const Port& port, const SymbolValues& values) {
  const int64_t count = element_count(port.shape).evaluate(values);
  const Buffer& buffer = plan.buffers[static_cast<size_t>(port.buffer)];
  return {count * size_of(port.dtype), count == buffer.elements.evaluate(values)};
}

}  // namespace

void StepBinder::add(const Step& step, std::string name) {
  name_ = std::move(name);
  resolved_.launches.push_back(
      std::visit([this](const auto& kind) { return bind_step(kind, *this); }, step.what));
}

void** StepBinder::place(const BufferRef& ref) {
  const int64_t bytes = value(ref.offset) * size_of(dtype(ref));
  std::byte* base = bases_[static_cast<size_t>(ref.buffer)];
  void** const pointer = &resolved_.pointers.emplace_back(base ? base + bytes : nullptr);
  if (!base) resolved_.patches.push_back({pointer, ref.buffer, bytes});
  return pointer;
}

ResolvedEntry resolve(const Plan& plan, const PlanEntry& entry, const SymbolValues& values,
                      const std::vector<KernelFunctions>& functions, const std::vector<std::byte*>& bases) {
  plan.symbols.check(values);
  ResolvedEntry resolved;
  resolved.entry = &entry;
  resolved.values = values;
  StepBinder binder(plan, functions, bases, resolved);
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    std::string name = describe_step(entry, i);
    check_ranges(plan, entry.steps[i], values, name);
    binder.add(entry.steps[i], std::move(name));
  }
  check_indices(plan, entry, values);
  for (const Port& port : entry.inputs) resolved.inputs.push_back(port_size(plan, port, values));
  for (const Port& port : entry.outputs) resolved.outputs.push_back(port_size(plan, port, values));
  return resolved;
}

}  // namespace smelt
