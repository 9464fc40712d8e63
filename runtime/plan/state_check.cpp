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
    if (!state.scales_of.empty()) check_scales(state, state.scales_of, what);
    if (!state.zeros_of.empty()) check_scales(state, state.zeros_of, what);
    if (!state.format.empty()) check_packed(state, what);
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

  /// Sessions write a scale for each row of each weight, or numbers for each group of packed weights.
  void check_scales(const State& scales, const std::string& of, const std::string& what) const {
    const State* weights = plan_.find_state(of);
    const bool is_packed = weights && !weights->format.empty();
    const auto fits = [&](const Segment& scale, const Segment& weight) {
      return scale.name == weight.name &&
             (is_packed ? divides(scale, weight, *weights) : has_number_per_row(scale, weight));
    };
    const bool typed = weights && (is_packed ? is_packed_number(scales)
                                             : weights->dtype == DType::i8 && scales.dtype == DType::f32);
    if (!typed || !std::ranges::equal(scales.segments, weights->segments, fits))
      refuse(
          "{} has scales of '{}': expected a number for each row of each segment of an i8 state, f32, or for "
          "each group of a packed state",
          what, of);
  }

  static bool is_packed_number(const State& state) {
    if (!state.zeros_of.empty()) return state.dtype == DType::i8;
    return state.dtype == DType::f32 || state.dtype == DType::bf16 || state.dtype == DType::f16;
  }
  static bool has_number_per_row(const Segment& scale, const Segment& weight) {
    return weight.shape.size() >= 2 &&
           std::ranges::equal(scale.shape, std::span(weight.shape).first(weight.shape.size() - 1));
  }
  /// Returns whether the numbers of a row are those of groups of whole words.
  static bool divides(const Segment& groups, const Segment& codes, const State& weights) {
    const PackedFormat* format = find_packed_format(weights.format);
    if (!format || codes.shape.empty() || groups.shape.size() != codes.shape.size()) return false;
    const int64_t count = groups.shape.back(), columns = codes.shape.back() * codes.per_byte;
    const auto rows = [](const Segment& s) { return std::span(s.shape).first(s.shape.size() - 1); };
    return std::ranges::equal(rows(groups), rows(codes)) && count > 0 && columns % count == 0 &&
           columns / count % format->codes_per_word() == 0;
  }

  /// Sessions write codes, scales and zeros of the same groups.
  void check_packed(const State& state, const std::string& what) const {
    const PackedFormat* format = find_packed_format(state.format);
    const bool fits =
        format && state.dtype == DType::u8 &&
        std::ranges::all_of(state.segments, [&](const Segment& segment) {
          return !segment.shape.empty() && segment.per_byte == 8 / format->bits && !is_cut(segment);
        });
    if (!fits) refuse("{} has the format '{}': expected u8, and segments of whole codes", what, state.format);
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
