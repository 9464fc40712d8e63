// Binding of steps: at one set of symbol values a step becomes a function, which runs then only call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/cpu/attention.h"
#include "runtime/cpu/resolve.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// The address of an operand, which may change from run to run.
template <typename T>
class BoundPointer {
 public:
  explicit BoundPointer(void* const* place) : place_(place) {}
  operator T*() const { return static_cast<T*>(*place_); }  // NOLINT: passed where a T* is expected

 private:
  void* const* place_;
};

class StepBinder {
 public:
  /// Requires: `resolved` has its values; `bases` as for resolve.
  StepBinder(const Plan& plan, const std::vector<KernelFunctions>& functions,
             const std::vector<std::byte*>& bases, ResolvedEntry& resolved)
      : plan_(plan), functions_(functions), bases_(bases), resolved_(resolved) {}

  const Plan& plan() const { return plan_; }
  const KernelFunctions& functions(int kernel) const { return functions_[static_cast<size_t>(kernel)]; }
  const SymbolValues& values() const { return resolved_.values; }
  int64_t value(const Dim& dim) const { return dim.evaluate(resolved_.values); }
  DType dtype(const BufferRef& ref) const { return plan_.buffers[static_cast<size_t>(ref.buffer)].dtype; }
  template <typename T>
  BoundPointer<T> pointer(const BufferRef& ref) {
    return BoundPointer<T>(place(ref));
  }

  /// Appends the step; `name` is how messages call it.
  void add(const Step& step, std::string name);
  const std::string& name() const { return name_; }

 private:
  void** place(const BufferRef& ref);

  const Plan& plan_;
  const std::vector<KernelFunctions>& functions_;
  const std::vector<std::byte*>& bases_;
  ResolvedEntry& resolved_;
  std::string name_;  // of the current step
};

/// One function per kind of step, in the file of its work.
#define SMELT_DECLARE_BIND(Kind) Launch bind_step(const Kind& step, StepBinder& binder);
SMELT_STEP_KINDS(SMELT_DECLARE_BIND)
#undef SMELT_DECLARE_BIND

}  // namespace smelt
