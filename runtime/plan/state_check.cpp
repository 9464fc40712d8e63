#include "runtime/plan/plan_checks.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "runtime/plan/plan_fields.h"
#include "runtime/plan/plan_refusal.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"

namespace smelt {

bool is_state(Role role) {
  return role == Role::parameter || role == Role::gradient || role == Role::optimizer ||
         role == Role::state || role == Role::cache || role == Role::stream || role == Role::fault;
}

int64_t most_elements(const Symbols& symbols, std::span<const SymbolValues> points, const Dim& dim,
                      DType dtype, std::string_view what) {
  for (const SymbolValues& values : points)
    if (dim.evaluate(values) < 0) refuse("{}: the size {} can be below 0", what, dim.str());
  const int64_t most = symbols.upper(dim);
  if (most < 0 || most > kMostBytes / size_of(dtype)) refuse("{}: {} elements: too many", what, most);
  return most;
}

namespace {

class StateCheck {
 public:
  StateCheck(const Plan& plan, std::span<const SymbolValues> points) : plan_(plan), points_(points) {}

  void run() const {
    require_names(plan_.states, "state");
    for (const State& state : plan_.states) check_state(state);
    check_size_of_states();
  }

 private:
  int64_t most(const Dim& dim, DType dtype, std::string_view what) const {
    return most_elements(plan_.symbols, points_, dim, dtype, what);
  }

  void check_state(const State& state) const {
    const std::string what = fmt::format("state '{}'", state.name);
    if (!is_state(state.role)) refuse("{} has the role {}", what, name(state.role));
    for (const Dim& dim : state.shape) most(dim, state.dtype, what);
    const Shape& whole = state.whole.empty() ? state.shape : state.whole;
    const int64_t elements = most(element_count(whole), state.dtype, what);
    check_cut(state, what);
    if (state.resident < -1 || state.resident > elements)
      refuse("{}: a GPU holds {} of its {} elements", what, state.resident, elements);
    check_initializer(state.init, what);
    if (state.role == Role::fault && (state.dtype != DType::i32 || state.shape != Shape{Dim(3)}))
      refuse("{} has the role fault: expected i32[3]", what);
    if (!state.copy_of.empty()) check_copy(state, what);
    if (!state.scales_of.empty()) check_scales(state, what);
    require_names(state.segments, what + ", segment");
    if (!state.segments.empty() && state.shape.empty())
      refuse("{} has segments: expected one dim and more", what);
    int64_t at = 0;
    for (const Segment& segment : state.segments) {
      const int64_t size = segment.elements();
      if (segment.offset < at || size > elements || segment.offset > elements - size)
        refuse("{}, segment '{}' at {}: expected it behind the one before and within {} elements", what,
               segment.name, segment.offset, elements);
      if (segment.transposed && segment.shape.size() != (segment.stacked ? 3 : 2))
        refuse("{}, segment '{}' is transposed: expected two dims", what, segment.name);
      check_initializer(segment.init, what);
      if (const auto faults = cut_faults(segment, plan_.mesh); !faults.empty())
        refuse("{}, segment '{}': {}", what, segment.name, faults.front());
      at = segment.offset + size;
    }
  }

  void check_cut(const State& state, const std::string& what) const {
    if (const std::string fault = fault_of_parts(state, plan_.mesh); !fault.empty())
      refuse("{} {}", what, fault);
  }

  /// Sums of sizes are made unchecked from here on.
  void check_size_of_states() const {
    int64_t total = 0;
    for (const State& state : plan_.states) {
      total += plan_.symbols.upper(element_count(state.shape)) * size_of(state.dtype);
      if (total > kMostBytes) refuse("the states up to '{}' have {} bytes: too many", state.name, total);
    }
  }

  /// Sessions round the master's elements into the copy, one for one.
  void check_copy(const State& copy, const std::string& what) const {
    const State* master = plan_.find_state(copy.copy_of);
    const bool fits = master && master->dtype == DType::f32 && have_same_elements(*master, copy) &&
                      is_float(copy.dtype) && copy.dtype != DType::f64;
    if (!fits) refuse("{} is a copy of '{}': expected an f32 state of its shape", what, copy.copy_of);
  }

  /// Sessions write a scale for each row of each weight.
  void check_scales(const State& scales, const std::string& what) const {
    const State* weights = plan_.find_state(scales.scales_of);
    const auto fits = [](const Segment& scale, const Segment& weight) {
      return scale.name == weight.name && weight.shape.size() >= 2 &&
             std::ranges::equal(scale.shape, std::span(weight.shape).first(weight.shape.size() - 1));
    };
    if (!weights || weights->dtype != DType::i8 || scales.dtype != DType::f32 ||
        !std::ranges::equal(scales.segments, weights->segments, fits))
      refuse("{} has scales of '{}': expected f32, and a number for each row of each segment of an i8 state",
             what, scales.scales_of);
  }

  static void check_initializer(const Initializer& init, const std::string& what) {
    if (!std::isfinite(init.a)) refuse("{}: the initial value {} is not finite", what, init.a);
  }

  const Plan& plan_;
  std::span<const SymbolValues> points_;
};

}  // namespace

void check_states(const Plan& plan, std::span<const SymbolValues> points) { StateCheck(plan, points).run(); }

}  // namespace smelt
