// Binding of steps. A step is converted to a function for one set of values of the symbols. Runs of the entry
// call this function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/cpu/attention.h"
#include "runtime/cpu/resolve.h"
#include "runtime/plan/plan.h"

namespace smelt {

/// Address of an operand, which may change from run to run.
template <typename T>
class BoundPointer {
 public:
  /// `place` points to the variable that contains the address. Requires: this variable outlives the object.
  explicit BoundPointer(void* const* place) : place_(place) {}
  operator T*() const { return static_cast<T*>(*place_); }  // NOLINT: passed where a T* is expected

 private:
  void* const* place_;
};

/// Binder of the steps of one entry, for one set of symbol values.
class StepBinder {
 public:
  /// `functions` has the functions of each kernel of the plan. `bases` has the address of each buffer; null
  /// for inputs and outputs. `resolved` receives the functions of the steps. Requires: resolved.values is
  /// set, and all arguments outlive this object.
  StepBinder(const Plan& plan, const std::vector<KernelFunctions>& functions,
             const std::vector<std::byte*>& bases, ResolvedEntry& resolved)
      : plan_(plan), functions_(functions), bases_(bases), resolved_(resolved) {}

  const Plan& plan() const { return plan_; }
  /// Returns the functions of a kernel, given its number in Plan::kernels.
  const KernelFunctions& functions(int kernel) const { return functions_[static_cast<size_t>(kernel)]; }
  const SymbolValues& values() const { return resolved_.values; }
  int64_t value(const Dim& dim) const { return dim.evaluate(resolved_.values); }
  /// Returns the element type of the operand's buffer.
  DType dtype(const BufferRef& ref) const { return plan_.buffers[static_cast<size_t>(ref.buffer)].dtype; }
  /// Returns the address of the operand. Inputs and outputs get their addresses at the beginning of each run;
  /// other buffers have fixed addresses.
  template <typename T>
  BoundPointer<T> pointer(const BufferRef& ref) {
    return BoundPointer<T>(place(ref));
  }

  /// Binds the step and appends its function. Messages call the step `name`.
  void add(const Step& step, std::string name);
  /// Returns the name of the step that is being bound.
  const std::string& name() const { return name_; }

 private:
  void** place(const BufferRef& ref);

  const Plan& plan_;
  const std::vector<KernelFunctions>& functions_;
  const std::vector<std::byte*>& bases_;
  ResolvedEntry& resolved_;
  std::string name_;  // of the current step
};

/// Returns the function that runs a step. There is one overload per kind of step, in the file that implements
/// the kind.
#define SMELT_DECLARE_BIND(Kind) Launch bind_step(const Kind& step, StepBinder& binder);
SMELT_STEP_KINDS(SMELT_DECLARE_BIND)
#undef SMELT_DECLARE_BIND

}  // namespace smelt
