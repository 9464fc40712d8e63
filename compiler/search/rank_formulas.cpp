#include "compiler/search/rank_formulas.h"

#include <algorithm>

#include "runtime/ranks/collective_rates.h"

namespace smelt {
namespace {

double count_at_bounds(const Program& program, const Shape& shape) {
  return static_cast<double>(program.symbols.upper(element_count(shape)));
}

double segment_elements(const State& state) {
  double elements = 0;
  for (const Segment& segment : state.segments) elements += static_cast<double>(segment.elements());
  return elements;
}

/// Ranks that have a part each.
double parts_of_state(const Program& program, const State& state) {
  return state.whole.empty() ? 1
                             : count_at_bounds(program, state.whole) / count_at_bounds(program, state.shape);
}

bool is_trained(const State& state) {
  return state.role == Role::parameter && state.copy_of.empty() && state.scales_of.empty() &&
         state.zeros_of.empty() && !state.from_model && state.name == "parameters";
}

/// Returns whether the parameters that are multiplied are sharded: the rounded copy where there is one.
bool gathers_parameters(const Program& program) {
  const State* read = nullptr;
  for (const State& state : program.states)
    if (is_trained(state) || state.copy_of == "parameters") read = &state;
  return read && !read->whole.empty();
}

/// The narrowest type in which the flat gradient, or the parameters, are exchanged.
double exchanged_size(const Program& program) {
  int64_t size = size_of(DType::f32);
  for (const State& state : program.states)
    if (state.copy_of == "parameters" || is_trained(state))
      size = std::min<int64_t>(size, size_of(state.dtype));
  return static_cast<double>(size);
}

}  // namespace

double state_bytes_by_formula(const Program& program) {
  double bytes = 0;
  for (const State& state : program.states) {
    const double elements = state.segments.empty()
                                ? count_at_bounds(program, state.whole.empty() ? state.shape : state.whole)
                                : segment_elements(state);
    bytes += elements / parts_of_state(program, state) * static_cast<double>(size_of(state.dtype));
  }
  return bytes;
}

int64_t trained_elements(const Program& program) {
  double elements = 0;
  for (const State& state : program.states)
    if (is_trained(state)) elements += segment_elements(state);
  return static_cast<int64_t>(elements);
}

double data_bytes_by_formula(const Program& program) {
  const auto data = program.mesh.find("data");
  if (!data) return 0;
  const double once = ring_share(CollectiveKind::all_gather, program.mesh.axes[*data].size);
  const double bytes = static_cast<double>(trained_elements(program)) * exchanged_size(program);
  return (gathers_parameters(program) ? 3 : 2) * once * bytes;
}

}  // namespace smelt
