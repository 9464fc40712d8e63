#include "runtime/plan/kernel_check.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr size_t kMostAxes = 256, kMostAccesses = 1024;
constexpr int kMostStages = 64;

int64_t checked(bool overflowed, int64_t value) {
  if (overflowed) fail_with(Status::invalid_file, "what a kernel reaches overflows 64 bits");
  return value;
}

int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  const bool overflowed = __builtin_add_overflow(a, b, &sum);
  return checked(overflowed, sum);
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  const bool overflowed = __builtin_mul_overflow(a, b, &product);
  return checked(overflowed, product);
}

bool listed(const std::vector<int>& list, int i) { return std::ranges::find(list, i) != list.end(); }

/// One step and the kernel that it launches.
class LaunchCheck {
 public:
  LaunchCheck(const Plan& plan, const Step& step, const KernelStep& launch, const std::string& place)
      : plan_(plan),
        step_(step),
        launch_(launch),
        kernel_(plan.kernels[static_cast<size_t>(launch.kernel)]),
        place_(place) {}

  void run() const {
    check_counts();
    for (size_t i = 0; i < launch_.arguments.size(); ++i) {
      check_argument(i);
      if (parameter(i).indices && parameter(i).read) check_kept(i);
    }
  }

 private:
  const KernelParameter& parameter(size_t argument) const {
    return kernel_.parameters[argument % kernel_.parameters.size()];
  }
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }

  void check_counts() const {
    const size_t arguments = static_cast<size_t>(kernel_.copies) * kernel_.parameters.size();
    if (arguments != launch_.arguments.size() ||
        !std::cmp_equal(kernel_.random_ids, launch_.random_ids.size()))
      fail_with(Status::invalid_file,
                "{} gives kernel '{}' {} arguments and {} random ids: expected {} and {}", place_,
                kernel_.name, launch_.arguments.size(), launch_.random_ids.size(), arguments,
                kernel_.random_ids);
    const size_t parts = launch_.random_parts.size();
    if (parts != 0 && parts != launch_.random_ids.size())
      fail_with(Status::invalid_file, "{} gives kernel '{}' {} random ids and parts for {} of them", place_,
                kernel_.name, launch_.random_ids.size(), parts);
  }

  void check_argument(size_t i) const {
    const KernelParameter& expected = parameter(i);
    const int index = launch_.arguments[i].buffer;
    const auto refuse = [&](const std::string& what) {
      fail_with(Status::invalid_file, "{}: argument {} of kernel '{}' is buffer '{}' ({}): {}", place_, i,
                kernel_.name, buffer(index).name, name(buffer(index).dtype), what);
    };
    if (buffer(index).dtype != expected.dtype) refuse(fmt::format("expected {}", name(expected.dtype)));
    if (expected.written && !listed(step_.writes, index))
      refuse("the kernel writes it: expected it among those that the step writes");
    if (expected.read && !expected.written && !listed(step_.reads, index))
      refuse("the kernel reads it: expected it among those that the step reads");
  }

  bool is_same_memory(int a, int b) const {
    return a == b || (buffer(a).state >= 0 && buffer(a).state == buffer(b).state);
  }

  /// Checks that indices are read as they were when the stage began: the stage writes elsewhere, or
  /// overwrites them element by element. A parameter itself writes numbers within the bounds that it reads.
  /// Elements of one buffer are compared by check_indices, which has the sizes.
  void check_kept(size_t i) const {
    const int index = launch_.arguments[i].buffer;
    for (size_t j = 0; j < launch_.arguments.size(); ++j) {
      const int written = launch_.arguments[j].buffer;
      if (j == i || !parameter(j).written || parameter(j).stage != parameter(i).stage) continue;
      if (written == index && !parameter(i).accesses.empty() && !parameter(j).accesses.empty()) continue;
      const bool in_place = listed_pair({written, index}), same = is_same_memory(written, index);
      if (!same && (!in_place || parameter(j).accesses == parameter(i).accesses)) continue;
      fail_with(Status::invalid_file,
                "{}: kernel '{}' writes buffer '{}' where the indices of its argument {} lie: expected them "
                "apart",
                place_, kernel_.name, buffer(written).name, i);
    }
  }

  bool listed_pair(const std::pair<int, int>& pair) const {
    return std::ranges::find(step_.may_alias, pair) != step_.may_alias.end();
  }

  const Plan& plan_;
  const Step& step_;
  const KernelStep& launch_;
  const KernelCode& kernel_;
  const std::string& place_;
};

}  // namespace

AccessBox box_of(const KernelAccess& access, const std::vector<int64_t>& extents,
                 const SymbolValues& values) {
  AccessBox box{access.offset.evaluate(values)};
  for (size_t i = 0; i < access.strides.size(); ++i) {
    const int64_t stride = access.strides[i].evaluate(values);
    if (stride != 0 && extents[i] == 0) box.empty = true;
    if (stride != 0 && extents[i] > 1) box.axes.push_back({extents[i], stride});
  }
  return box;
}

ElementSpan span_of(const AccessBox& box) {
  if (box.empty) return {};
  int64_t first = box.begin, last = box.begin;
  for (const AccessBox::Axis& axis : box.axes) {
    int64_t& side = axis.stride < 0 ? first : last;
    side = add(side, multiply(axis.extent - 1, axis.stride));
  }
  return {first, add(last, 1)};
}

ElementSpan span_of(const KernelParameter& parameter, const std::vector<int64_t>& extents,
                    const SymbolValues& values) {
  ElementSpan all;
  for (const KernelAccess& access : parameter.accesses) {
    const ElementSpan one = span_of(box_of(access, extents, values));
    all.first = std::min(all.first, one.first), all.end = std::max(all.end, one.end);
  }
  const int64_t table = parameter.table_elements.evaluate(values);
  if (table > 0) all.first = std::min<int64_t>(all.first, 0), all.end = std::max(all.end, table);
  return all;
}

void check_parameters(const KernelCode& kernel) {
  size_t accesses = 0;
  for (const KernelParameter& parameter : kernel.parameters) {
    accesses += parameter.accesses.size();
    for (const KernelAccess& access : parameter.accesses)
      if (access.strides.size() > kernel.axes.size())
        fail_with(Status::invalid_file, "kernel '{}': an access with {} strides: expected at most {}",
                  kernel.name, access.strides.size(), kernel.axes.size());
    if (parameter.stage < 0 || parameter.stage >= kMostStages)
      fail_with(Status::invalid_file, "kernel '{}': a parameter of stage {}: expected 0 to {}", kernel.name,
                parameter.stage, kMostStages - 1);
    if (parameter.indices && (is_float(parameter.dtype) || parameter.dtype == DType::boolean))
      fail_with(Status::invalid_file, "kernel '{}': indices in {}: expected integers", kernel.name,
                name(parameter.dtype));
  }
  if (kernel.axes.size() > kMostAxes || accesses > kMostAccesses)
    fail_with(Status::invalid_file, "kernel '{}': {} axes and {} accesses: expected at most {} and {}",
              kernel.name, kernel.axes.size(), accesses, kMostAxes, kMostAccesses);
}

void check_launch(const Plan& plan, const Step& step, const KernelStep& launch, const std::string& place) {
  LaunchCheck(plan, step, launch, place).run();
}

}  // namespace smelt
