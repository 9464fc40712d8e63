#include "runtime/plan/plan_checks.h"

#include <algorithm>

#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan_refusal.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

constexpr size_t kMostCornerAxes = 8;  // whose corners are looked at

/// Returns whether the box has the element, as far as strides that are larger than all that the inner axes
/// span show it: a yes is always right.
bool has_element(const AccessBox& box, int64_t element) {
  int64_t left = element - box.begin;
  for (const AccessBox::Axis& axis : box.axes) {
    if (axis.stride <= 0) return false;
    const int64_t index = std::clamp<int64_t>(left / axis.stride, 0, axis.extent - 1);
    left -= index * axis.stride;
  }
  return left == 0;
}

/// Returns whether one of the corners of a box is an element of another one.
bool has_corner_of(const AccessBox& box, const AccessBox& other) {
  const size_t axes = std::min(other.axes.size(), kMostCornerAxes);
  for (size_t corner = 0; corner < size_t{1} << axes; ++corner) {
    int64_t element = other.begin;
    for (size_t i = 0; i < axes; ++i)
      if ((corner >> i & 1) != 0) element += (other.axes[i].extent - 1) * other.axes[i].stride;
    if (has_element(box, element)) return true;
  }
  return false;
}

bool share_an_element(const AccessBox& a, const AccessBox& b) {
  return has_corner_of(a, b) || has_corner_of(b, a);
}

/// Elements that a step has written.
struct WrittenBox {
  size_t step;
  AccessBox box;
};

class OutputCheck {
 public:
  OutputCheck(const Plan& plan, const PlanEntry& entry, const SymbolValues& values)
      : plan_(plan), entry_(entry), values_(values) {}

  void run(const Port& port) {
    std::vector<WrittenBox> earlier;
    for (size_t step = 0; step < entry_.steps.size(); ++step) {
      if (!lists(entry_.steps[step].writes, port.buffer)) continue;
      std::vector<WrittenBox> written = boxes_of(step, port.buffer);
      if (!reads(entry_.steps[step], port.buffer)) check(port, earlier, written);
      const bool is_start = std::holds_alternative<FillStep>(entry_.steps[step].what);
      if (!is_start) earlier.insert(earlier.end(), written.begin(), written.end());
    }
  }

 private:
  static bool lists(const std::vector<int>& buffers, int buffer) {
    return std::ranges::find(buffers, buffer) != buffers.end();
  }

  /// Returns whether the step reads the buffer, as specified by a kernel's parameters, a sum's result, or the
  /// list of reads.
  bool reads(const Step& step, int buffer) const {
    if (lists(step.reads, buffer)) return true;
    if (const auto* launch = std::get_if<KernelStep>(&step.what)) {
      const KernelCode& kernel = plan_.kernels[static_cast<size_t>(launch->kernel)];
      for (size_t i = 0; i < launch->arguments.size(); ++i)
        if (launch->arguments[i].buffer == buffer && kernel.parameters[i % kernel.parameters.size()].read)
          return true;
    }
    return std::ranges::any_of(
        places(step), [&](const StepPlace& place) { return place.ref->buffer == buffer && place.reads(); });
  }

  void check(const Port& port, const std::vector<WrittenBox>& earlier,
             const std::vector<WrittenBox>& written) const {
    for (const WrittenBox& before : earlier)
      for (const WrittenBox& now : written)
        if (!are_alternatives(before.step, now.step) && share_an_element(before.box, now.box))
          refuse(
              "{} writes over elements of output '{}', buffer '{}', that {} has made: expected steps that "
              "write an output apart, or to change in place what they also read",
              describe_step(entry_, now.step), port.name,
              plan_.buffers[static_cast<size_t>(port.buffer)].name, describe_step(entry_, before.step));
  }

  bool are_alternatives(size_t a, size_t b) const {
    const Step &x = entry_.steps[a], &y = entry_.steps[b];
    return x.choice >= 0 && x.choice == y.choice && x.alternative != y.alternative;
  }

  std::vector<WrittenBox> boxes_of(size_t number, int buffer) const {
    const Step& step = entry_.steps[number];
    std::vector<WrittenBox> boxes;
    const auto add = [&](AccessBox box, int64_t offset) {
      if (box.empty) return;
      box.begin += offset;
      std::ranges::sort(box.axes, std::greater(), &AccessBox::Axis::stride);
      boxes.push_back({number, std::move(box)});
    };
    if (const auto* launch = std::get_if<KernelStep>(&step.what))
      visit_written(*launch, buffer, add);
    else
      for (const StepPlace& place : places(step))
        if (place.is_result() && place.ref->buffer == buffer) add(box_of(place, values_), 0);
    return boxes;
  }

  template <typename Add>
  void visit_written(const KernelStep& launch, int buffer, const Add& add) const {
    const KernelCode& kernel = plan_.kernels[static_cast<size_t>(launch.kernel)];
    const bool runs = kernel.splits > 0 || kernel.launch || kernel.range.evaluate(values_) > 0;
    std::vector<int64_t> extents;
    for (const Dim& axis : kernel.axes) extents.push_back(axis.evaluate(values_));
    for (size_t i = 0; runs && i < launch.arguments.size(); ++i) {
      const KernelParameter& parameter = kernel.parameters[i % kernel.parameters.size()];
      const BufferRef& argument = launch.arguments[i];
      if (argument.buffer != buffer || !parameter.written) continue;
      for (const KernelAccess& access : parameter.accesses)
        add(smelt::box_of(access, extents, values_), argument.offset.evaluate(values_));
    }
  }

  const Plan& plan_;
  const PlanEntry& entry_;
  const SymbolValues& values_;
};

}  // namespace

void check_outputs(const Plan& plan, const PlanEntry& entry, const SymbolValues& values) {
  OutputCheck check(plan, entry, values);
  for (const Port& port : entry.outputs)
    if (plan.buffers[static_cast<size_t>(port.buffer)].state < 0) check.run(port);
}

}  // namespace smelt
