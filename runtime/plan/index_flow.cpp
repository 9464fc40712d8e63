#include "runtime/plan/plan_checks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "runtime/base/error.h"
#include "runtime/plan/choices.h"
#include "runtime/plan/kernel_check.h"
#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/plan/step_places.h"

namespace smelt {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 26;  // of a buffer with indices

/// IndexBounds at a launch.
struct Numbers {
  int64_t least = 0, most = 0;
  std::optional<int64_t> ignored = {};
  bool operator==(const Numbers&) const = default;

  bool holds(int64_t number) const { return (number >= least && number <= most) || number == ignored; }
  bool within(const Numbers& other) const {
    const bool one = least == most && other.holds(least);
    const bool range = one || least > most || (least >= other.least && most <= other.most);
    return range && (!ignored || other.holds(*ignored));
  }
  std::string str() const {
    const std::string range = least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    return ignored ? fmt::format("{} or {}", range, *ignored) : range;
  }
};

/// Bounds of each element of a buffer: an index into IndexFlow's list, 0 if unknown.
using Known = std::vector<uint16_t>;

/// Calls `visit` with the first element and the length of every run of neighbours.
template <typename Visit>
void visit_runs(const AccessBox& box, size_t axis, int64_t begin, const Visit& visit) {
  if (axis == box.axes.size()) return visit(begin, int64_t{1});
  const auto [extent, stride] = box.axes[axis];
  if (axis + 1 == box.axes.size() && stride == 1) return visit(begin, extent);
  for (int64_t i = 0; i < extent; ++i) visit_runs(box, axis + 1, begin + i * stride, visit);
}

class IndexFlow {
 public:
  IndexFlow(const Plan& plan, const PlanEntry& entry, const SymbolValues& values)
      : plan_(plan), entry_(entry), values_(values) {}

  void run() {
    find_buffers();
    if (known_.empty()) return;
    for (auto& [buffer, known] : known_) begin(buffer, known);
    for (const Port& port : entry_.inputs) begin(port);
    for (size_t next = 0; next < entry_.steps.size();) {
      const StepSpan steps = together_with(entry_.steps, next);
      entry_.steps[next].choice < 0 ? run(steps) : run_alternatives(steps);
      next = steps.end;
    }
  }

 private:
  const Buffer& buffer(int index) const { return plan_.buffers[static_cast<size_t>(index)]; }
  int64_t value(const Dim& dim) const { return dim.evaluate(values_); }

  // ---- what matters

  const KernelCode& kernel(const KernelStep& launch) const {
    return plan_.kernels[static_cast<size_t>(launch.kernel)];
  }
  static const KernelParameter& parameter(const KernelCode& kernel, size_t argument) {
    return kernel.parameters[argument % kernel.parameters.size()];
  }

  /// Those that kernels rely on, and those that they are copied from.
  void find_buffers() {
    for (size_t i = entry_.steps.size(); i-- > 0;) {
      const Step& step = entry_.steps[i];
      if (const auto* launch = std::get_if<KernelStep>(&step.what))
        for (size_t k = 0; k < launch->arguments.size(); ++k) {
          const KernelParameter& p = parameter(kernel(*launch), k);
          if (p.read && p.indices) known_[launch->arguments[k].buffer];
        }
      const auto* copy = std::get_if<CopyStep>(&step.what);
      if (copy && known_.contains(copy->to.buffer)) known_[copy->from.buffer];
    }
  }

  // ---- what is there at first

  void begin(int index, Known& known) {
    const Buffer& b = buffer(index);
    const int64_t elements = value(b.elements);
    if (elements > kMostElements)
      fail_with(Status::invalid_file, "entry '{}': buffer '{}' holds {} indices: expected at most {}",
                entry_.name, b.name, elements, kMostElements);
    known.assign(static_cast<size_t>(elements), 0);
    if (b.role == Role::constant && b.dtype == DType::i32) begin_constant(b, known);
  }

  void begin_constant(const Buffer& b, Known& known) {
    std::vector<int32_t> numbers(std::min(known.size(), b.data.size() / sizeof(int32_t)));
    if (numbers.empty()) return;
    std::memcpy(numbers.data(), b.data.data(), numbers.size() * sizeof(int32_t));
    const auto [least, most] = std::ranges::minmax(numbers);
    std::fill_n(known.begin(), numbers.size(), number_of({least, most}));
  }

  void begin(const Port& port) {
    const auto found = known_.find(port.buffer);
    if (found == known_.end() || !port.ids) return;
    const int64_t count = value(element_count(port.shape));
    std::fill_n(found->second.begin(), count,
                number_of({port.ids->least, port.ids->below - 1, port.ids->ignored}));
  }

  // ---- steps

  void run(const StepSpan& steps) {
    for (step_ = steps.begin; step_ < steps.end; ++step_)
      std::visit([this](const auto& what) { run(what); }, entry_.steps[step_].what);
  }

  /// Runs all alternatives from the same known bounds; afterwards the bounds hold that hold after each of
  /// them.
  void run_alternatives(const StepSpan& steps) {
    if (!writes_indices(steps)) return run(steps);
    const std::map<int, Known> before = known_;
    std::optional<std::map<int, Known>> after;
    for (const StepSpan& alternative : alternatives_of(entry_.steps, steps)) {
      known_ = before;
      run(alternative);
      if (after) keep_common(*after, known_);
      if (!after) after = known_;
    }
    known_ = std::move(*after);
  }

  bool writes_indices(const StepSpan& steps) const {
    for (size_t i = steps.begin; i < steps.end; ++i)
      for (const int index : entry_.steps[i].writes)
        if (known_.contains(index)) return true;
    return false;
  }

  static void keep_common(std::map<int, Known>& kept, const std::map<int, Known>& other) {
    for (auto& [buffer, known] : kept) {
      const Known& there = other.at(buffer);
      for (size_t i = 0; i < known.size(); ++i)
        if (known[i] != there[i]) known[i] = 0;
    }
  }

  void run(const KernelStep& launch) {
    const KernelCode& code = kernel(launch);
    std::vector<int64_t> extents;
    for (const Dim& axis : code.axes) extents.push_back(value(axis));
    if (code.splits == 0 && !code.launch && value(code.range) == 0) return;
    int last = 0;
    for (const KernelParameter& p : code.parameters) last = std::max(last, p.stage);
    for (int stage = 0; stage <= last; ++stage) run(launch, stage, extents);
  }

  void run(const KernelStep& launch, int stage, const std::vector<int64_t>& extents) {
    const KernelCode& code = kernel(launch);
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      if (const KernelParameter& p = parameter(code, i); p.stage == stage && p.read && p.indices)
        require_apart(launch, i, extents), require(launch, i, extents);
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      if (const KernelParameter& p = parameter(code, i); p.stage == stage && p.written)
        write(launch.arguments[i], p, extents);
  }

  /// Elements that a parameter touches from an argument on.
  template <typename Visit>
  void visit_elements(const BufferRef& argument, const KernelParameter& p,
                      const std::vector<int64_t>& extents, const Visit& visit) const {
    const int64_t offset = value(argument.offset);
    for (const KernelAccess& access : p.accesses) {
      AccessBox box = box_of(access, extents, values_);
      if (box.empty) continue;
      std::ranges::sort(box.axes, std::greater(), &AccessBox::Axis::stride);
      visit_runs(box, 0, offset + box.begin, visit);
    }
    if (const int64_t table = value(p.table_elements); table > 0) visit(offset, table);
  }

  void require(const KernelStep& launch, size_t argument, const std::vector<int64_t>& extents) {
    const KernelParameter& p = parameter(kernel(launch), argument);
    const BufferRef& ref = launch.arguments[argument];
    const Numbers expected = numbers(*p.indices);
    const Known& known = known_.at(ref.buffer);
    uint16_t last = 0;  // found to be within
    visit_elements(ref, p, extents, [&](int64_t begin, int64_t count) {
      for (int64_t i = begin; i < begin + count; ++i) {
        const uint16_t here = known[static_cast<size_t>(i)];
        if (here != 0 && here == last) continue;
        if (here == 0 || !facts_[here - 1].within(expected)) refuse(launch, argument, i, here, expected);
        last = here;
      }
    });
  }

  /// Checks that other writes of the stage to the same buffer, such as another part of a concat, do not
  /// overlap the indices.
  void require_apart(const KernelStep& launch, size_t argument, const std::vector<int64_t>& extents) const {
    const KernelCode& code = kernel(launch);
    const BufferRef& ref = launch.arguments[argument];
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const KernelParameter& p = parameter(code, i);
      const bool is_beside = i != argument && launch.arguments[i].buffer == ref.buffer;
      if (!is_beside || !p.written || p.stage != parameter(code, argument).stage) continue;
      std::vector<bool> written(known_.at(ref.buffer).size());
      visit_elements(launch.arguments[i], p, extents, [&](int64_t begin, int64_t count) {
        std::fill_n(written.begin() + begin, count, true);
      });
      visit_elements(ref, parameter(code, argument), extents, [&](int64_t begin, int64_t count) {
        const auto from = written.begin() + begin;
        if (std::find(from, from + count, true) == from + count) return;
        fail_with(Status::invalid_file,
                  "{}: kernel '{}' writes buffer '{}' where the indices of its argument {} lie: expected "
                  "them apart",
                  describe_step(entry_, step_), code.name, buffer(ref.buffer).name, argument);
      });
    }
  }

  void write(const BufferRef& argument, const KernelParameter& p, const std::vector<int64_t>& extents) {
    const auto found = known_.find(argument.buffer);
    if (found == known_.end()) return;
    if (p.accesses.empty() && p.table_elements == 0) {  // it may write any of them
      std::ranges::fill(found->second, uint16_t{0});
      return;
    }
    const uint16_t fact = p.indices ? number_of(numbers(*p.indices)) : uint16_t{0};
    visit_elements(argument, p, extents, [&](int64_t begin, int64_t count) {
      std::fill_n(found->second.begin() + begin, count, fact);
    });
  }

  /// All other kinds write the numbers that their operands' roles give, and any into scratch.
  template <typename Kind>
  void run(const Kind&) {
    for (const StepPlace& place : places(entry_.steps[step_]))
      if (place.writes()) write(place);
  }

  void write(const StepPlace& place) {
    const auto found = known_.find(place.ref->buffer);
    if (found == known_.end()) return;
    AccessBox box = box_of(place, values_);
    if (box.empty) return;
    std::ranges::sort(box.axes, std::greater(), &AccessBox::Axis::stride);
    const uint16_t fact =
        place.numbers ? number_of({value(place.numbers->least), value(place.numbers->most)}) : uint16_t{0};
    visit_runs(box, 0, box.begin, [&](int64_t begin, int64_t count) {
      std::fill_n(found->second.begin() + begin, count, fact);
    });
  }

  void run(const CopyStep& copy) {
    const auto to = known_.find(copy.to.buffer), from = known_.find(copy.from.buffer);
    if (to == known_.end() || from == known_.end()) return;
    for (const Dim& extent : copy.extents)
      if (value(extent) == 0) return;
    const Known source = from->second;
    move(copy, 0, value(copy.from.offset), value(copy.to.offset), source, to->second);
  }

  void move(const CopyStep& copy, size_t axis, int64_t from, int64_t to, const Known& source,
            Known& target) const {
    if (axis == copy.extents.size()) {
      target[static_cast<size_t>(to)] = source[static_cast<size_t>(from)];
      return;
    }
    const int64_t from_stride = value(copy.from_strides[axis]), to_stride = value(copy.to_strides[axis]);
    for (int64_t i = value(copy.extents[axis]); i-- > 0;)
      move(copy, axis + 1, from + i * from_stride, to + i * to_stride, source, target);
  }

  // ---- numbers

  Numbers numbers(const IndexBounds& bounds) const {
    return {bounds.least, value(bounds.below) - 1, bounds.ignored};
  }

  /// Returns the index of the bounds, from 1 on.
  uint16_t number_of(const Numbers& fact) {
    const auto found = std::ranges::find(facts_, fact);
    const auto index = found - facts_.begin();
    if (index >= UINT16_MAX) return 0;
    if (found == facts_.end()) facts_.push_back(fact);
    return static_cast<uint16_t>(index + 1);
  }

  [[noreturn]] void refuse(const KernelStep& launch, size_t argument, int64_t element, uint16_t found,
                           const Numbers& expected) const {
    fail_with(Status::invalid_file,
              "{}: kernel '{}' indexes by argument {}, buffer '{}', where element {} is {}: expected {}",
              describe_step(entry_, step_), kernel(launch).name, argument,
              buffer(launch.arguments[argument].buffer).name, element,
              found == 0 ? "any number" : facts_[found - 1].str(), expected.str());
  }

  const Plan& plan_;
  const PlanEntry& entry_;
  const SymbolValues& values_;
  size_t step_ = 0;             // at hand
  std::map<int, Known> known_;  // by buffer
  std::vector<Numbers> facts_;
};

}  // namespace

void check_indices(const Plan& plan, const PlanEntry& entry, const SymbolValues& values) {
  IndexFlow(plan, entry, values).run();
}

}  // namespace smelt
