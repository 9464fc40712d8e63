// The states of a session: access by name, first values.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/initialize.h"
#include "runtime/engine/weights/quantize.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/session/session.h"

namespace smelt {
namespace {

const Segment* find_segment(const State& state, std::string_view name) {
  const auto found = std::ranges::find(state.segments, name, &Segment::name);
  return found == state.segments.end() ? nullptr : &*found;
}

bool is_filled(const Plan& plan, const State& state) {
  int64_t elements = 0;
  for (const Segment& segment : state.segments) elements += segment.elements();
  return elements * size_of(state.dtype) == state_bytes(plan, state);
}

void require_all_of(const State& state, std::string_view call) {
  if (is_cut(state))
    fail("state '{}' lies in parts at several ranks: {} is for states that a rank has all of", state.name,
         call);
}

/// Initializes the bytes from `begin` on of a rank's part, each run of it as in the whole state.
void initialize_part(const State& state, uint32_t seed, std::span<std::byte> part, int64_t begin,
                     std::span<const StateRun> runs, const RankPlace& place) {
  const int64_t width = size_of(state.dtype), end = begin + static_cast<int64_t>(part.size());
  const int64_t whole_bytes = count_elements(whole_extents(state)) * width;
  for (const StateRun& run : runs) {
    const int64_t from = std::max(begin, run.local * width),
                  to = std::min(end, (run.local + run.elements) * width);
    if (from < to)
      initialize_state(state, seed,
                       part.subspan(static_cast<size_t>(from - begin), static_cast<size_t>(to - from)),
                       from + (run.whole - run.local) * width, whole_bytes, place);
  }
}

bool begins_as_zeros(const State& state) {
  const auto zero = [](const Initializer& init) {
    return init.kind == Initializer::Kind::value && init.a == 0;
  };
  if (state.segments.empty()) return zero(state.init);
  return std::ranges::all_of(state.segments, [&](const Segment& segment) { return zero(segment.init); });
}

}  // namespace

int Session::state_index(std::string_view name) const {
  for (size_t i = 0; i < plan_->states.size(); ++i)
    if (plan_->states[i].name == name) return static_cast<int>(i);
  std::vector<std::string> names;
  for (const State& state : plan_->states) names.push_back("'" + state.name + "'");
  fail("the plan has no state '{}'; there are: {}", name, fmt::join(names, ", "));
}

/// Refuses writes to weights that other sessions read.
void Session::require_own(int state) const {
  const State& asked = plan_->states[static_cast<size_t>(state)];
  if (asked.role != Role::parameter || users_.count() == 1) return;
  fail(
      "state '{}' holds weights that {} sessions share: expected them to be as they are until the other "
      "sessions have ended; a session that is to have other weights is one that shares none",
      asked.name, users_.count());
}

std::span<std::byte> Session::memory(int index) {
  require_own(index);
  handed_out_[static_cast<size_t>(index)] = true;
  return executor_->state(index);
}

std::span<std::byte> Session::state(std::string_view name) { return memory(state_index(name)); }

std::span<const std::byte> Session::state(std::string_view name) const {
  return executor_->read_state(state_index(name));
}

std::span<float> Session::state_f32(std::string_view name) {
  const int index = state_index(name);
  const DType dtype = plan_->states[static_cast<size_t>(index)].dtype;
  if (dtype != DType::f32) fail("state '{}' is {}, not f32", name, smelt::name(dtype));
  const auto bytes = memory(index);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

/// Returns the rank in the mesh; a session without others is the first one.
int64_t Session::rank() const { return executor_->ranks() ? executor_->ranks()->rank() : 0; }

/// Returns whether the rank holds other elements of the copy than of the copied state.
bool Session::has_other_parts(const State& copy) const {
  return !copy.copy_of.empty() && plan_->find_state(copy.copy_of)->cut != copy.cut;
}

/// Rounds the copies of states that the host may have written.
void Session::refresh_copies() {
  for (size_t i = 0; i < plan_->states.size(); ++i) {
    const State& copy = plan_->states[i];
    if (copy.copy_of.empty()) continue;
    if (has_other_parts(copy)) continue;
    const int master = state_index(copy.copy_of);
    if (!handed_out_[static_cast<size_t>(master)] && !handed_out_[i]) continue;
    executor_->round_state(master, static_cast<int>(i), copy.dtype);
  }
  handed_out_.assign(plan_->states.size(), false);
}

float& Session::scalar(std::string_view name) {
  const auto values = state_f32(name);
  if (values.size() != 1) fail("state '{}' has {} elements, expected one number", name, values.size());
  return values[0];
}

std::span<float> Session::segment(std::string_view state, std::string_view segment) {
  const auto values = state_f32(state);
  const State& whole = *plan_->find_state(state);
  require_all_of(whole, "segment()");
  const Segment* found = find_segment(whole, segment);
  if (!found) fail("state '{}' has no segment '{}'", state, segment);
  return values.subspan(static_cast<size_t>(found->offset), static_cast<size_t>(found->elements()));
}

namespace {

const Segment& segment_of(const State& state, std::string_view name) {
  if (const Segment* found = find_segment(state, name)) return *found;
  fail("state '{}' has no segment '{}'", state.name, name);
}

}  // namespace

std::vector<float> Session::read_segment(std::string_view state, std::string_view name) const {
  const int index = state_index(state);
  const State& whole = plan_->states[static_cast<size_t>(index)];
  require_all_of(whole, "read_segment()");
  const Segment& part = segment_of(whole, name);
  if (!whole.format.empty()) return read_packed(index, part);
  std::vector<float> values(static_cast<size_t>(part.elements()));
  widen(executor_->read_state(index).data() + part.offset * size_of(whole.dtype), whole.dtype, values.data(),
        part.elements());
  if (const int scales = scales_index(state); scales >= 0)
    scale_rows(values, read_segment(plan_->states[static_cast<size_t>(scales)].name, name));
  return values;
}

void Session::write_segment(std::string_view state, std::string_view name, std::span<const float> values) {
  const int index = state_index(state);
  const State& whole = plan_->states[static_cast<size_t>(index)];
  const Segment& part = segment_of(whole, name);
  if (const int64_t expected = count_elements(stored_shape(part));
      expected != static_cast<int64_t>(values.size()))
    fail("state '{}', segment '{}': expected {} numbers, given {}", state, name, expected, values.size());
  if (!whole.format.empty()) return write_packed(index, part, values);
  if (whole.dtype == DType::i8 && scales_index(state) >= 0) return write_quantized(index, part, values);
  write_parts(index, part, values);
  for (size_t i = 0; i < plan_->states.size(); ++i)
    if (plan_->states[i].copy_of == whole.name && has_other_parts(plan_->states[i]))
      write_parts(static_cast<int>(i), segment_of(plan_->states[i], name), values);
}

/// Writes the rank's part of the segment.
void Session::write_parts(int index, const Segment& part, std::span<const float> values) {
  const State& state = plan_->states[static_cast<size_t>(index)];
  const auto all = memory(index);
  for (const TensorRun& run : whole_tensor_runs(state, plan_->mesh, rank()))
    if (run.segment == &part)
      narrow(values.data() + run.at, all.data() + run.local * size_of(state.dtype), state.dtype,
             run.elements);
}

/// The state with the scales of an i8 state; -1 where it has none.
int Session::scales_index(std::string_view weights) const {
  const auto found = std::ranges::find(plan_->states, weights, &State::scales_of);
  const bool none = weights.empty() || found == plan_->states.end();
  return none ? -1 : static_cast<int>(found - plan_->states.begin());
}

namespace {

/// Copies the rank's part of the whole.
template <typename T>
void copy_part(const Segment& segment, const RankPlace& place, std::span<const T> whole, std::byte* state) {
  T* to = reinterpret_cast<T*>(state) + segment.offset;
  for (const PartRun& run : part_runs(segment, place.mesh, place.coordinates))
    std::copy_n(whole.begin() + run.in_whole, run.elements, to + run.in_part);
}

}  // namespace

/// Ranks that have columns of a row have the scale of all of it.
void Session::write_quantized(int index, const Segment& part, std::span<const float> values) {
  const int scales = scales_index(plan_->states[static_cast<size_t>(index)].name);
  const Segment& factors = segment_of(plan_->states[static_cast<size_t>(scales)], part.name);
  std::vector<int8_t> numbers(values.size());
  std::vector<float> rows(static_cast<size_t>(count_elements(whole_shape(factors))));
  quantize_rows(values, numbers, rows);
  copy_part<int8_t>(part, place(), numbers, memory(index).data());
  copy_part<float>(factors, place(), rows, memory(scales).data());
}

namespace {

/// The elements of a segment in the memory of its state.
template <typename T>
std::span<T> elements_of(std::span<std::byte> state, const Segment& segment) {
  return {reinterpret_cast<T*>(state.data()) + segment.offset, static_cast<size_t>(segment.elements())};
}

}  // namespace

/// The state with the zeros of a packed state; -1 where it has none.
int Session::zeros_index(std::string_view weights) const {
  const auto found = std::ranges::find(plan_->states, weights, &State::zeros_of);
  return found == plan_->states.end() ? -1 : static_cast<int>(found - plan_->states.begin());
}

/// No rank has a part of a packed segment.
void Session::write_packed(int index, const Segment& part, std::span<const float> values) {
  const State& packed = plan_->states[static_cast<size_t>(index)];
  const int scales = scales_index(packed.name), zeros = zeros_index(packed.name);
  const State& of_scales = plan_->states[static_cast<size_t>(scales)];
  const Segment& groups = segment_of(of_scales, part.name);
  std::vector<float> factors(static_cast<size_t>(groups.elements()));
  PackedGroups to = {elements_of<uint8_t>(memory(index), part), factors, {}};
  if (zeros >= 0) to.zeros = elements_of<int8_t>(memory(zeros), groups);
  pack_groups(values, *find_packed_format(packed.format), of_scales.dtype, to);
  narrow(factors.data(), memory(scales).data() + groups.offset * size_of(of_scales.dtype), of_scales.dtype,
         groups.elements());
}

std::vector<float> Session::read_packed(int index, const Segment& part) const {
  const State& packed = plan_->states[static_cast<size_t>(index)];
  const int scales = scales_index(packed.name), zeros = zeros_index(packed.name);
  const Segment& groups = segment_of(plan_->states[static_cast<size_t>(scales)], part.name);
  const std::vector<float> factors = read_segment(plan_->states[static_cast<size_t>(scales)].name, part.name);
  const auto codes = executor_->read_state(index);
  const auto of_zeros = zeros >= 0 ? executor_->read_state(zeros) : decltype(codes){};
  return unpack_groups(
      *find_packed_format(packed.format),
      {reinterpret_cast<const uint8_t*>(codes.data()) + part.offset, static_cast<size_t>(part.elements())},
      factors,
      zeros < 0
          ? std::span<const int8_t>()
          : std::span(reinterpret_cast<const int8_t*>(of_zeros.data()) + groups.offset, factors.size()));
}

void Session::fill(int index, const Executor::MakePart& make) {
  require_own(index);
  handed_out_[static_cast<size_t>(index)] = true;
  executor_->fill_state(index, make);
}

void Session::write_state(std::string_view name, std::span<const std::byte> bytes) {
  const int index = state_index(name);
  const int64_t expected = state_bytes(*plan_, plan_->states[static_cast<size_t>(index)]);
  if (static_cast<int64_t>(bytes.size()) != expected)
    fail("state '{}': expected {} bytes, given {}", name, expected, bytes.size());
  fill(index, [&](int64_t begin, std::span<std::byte> part) {
    std::memcpy(part.data(), bytes.data() + begin, part.size());
  });
}

void Session::write_elements(std::string_view name, int64_t begin, std::span<const float> values) {
  const int index = state_index(name);
  require_own(index);
  const State& state = plan_->states[static_cast<size_t>(index)];
  const int64_t width = size_of(state.dtype), count = state_bytes(*plan_, state) / width;
  if (!is_float(state.dtype) || begin < 0 || begin > count || std::ssize(values) > count - begin)
    fail("state '{}' has {} elements of {}: expected floats, and at most {} from element {} on", name, count,
         smelt::name(state.dtype), std::max<int64_t>(0, count - begin), begin);
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(width));
  narrow(values.data(), bytes.data(), state.dtype, std::ssize(values));
  handed_out_[static_cast<size_t>(index)] = true;
  executor_->write_part(index, begin * width, bytes);
}

void Session::clear_state(std::string_view name) {
  const int index = state_index(name);
  require_own(index);
  handed_out_[static_cast<size_t>(index)] = true;
  executor_->clear_state(index);
}

void Session::clear_rows(std::string_view name, int64_t begin, int64_t count) {
  const int index = state_index(name);
  require_own(index);
  const State& state = plan_->states[static_cast<size_t>(index)];
  const int64_t rows = state.shape.empty() ? 0 : plan_->symbols.upper(state.shape[0]);
  const bool is_sharded = !state.cut.empty() && !state.cut[0].empty();
  if (is_sharded || begin < 0 || begin > rows || count < 0 || count > rows - begin)
    fail("state '{}' has {} rows{}: expected at most {} from row {} on", name, rows,
         is_sharded ? ", which are sharded" : "", count, begin);
  if (count == 0) return;
  const int64_t bytes = state_bytes(*plan_, state) / rows;
  handed_out_[static_cast<size_t>(index)] = true;
  executor_->write_part(index, begin * bytes, std::vector<std::byte>(static_cast<size_t>(count * bytes)));
}

void Session::initialize(uint32_t seed) {
  initialize_states(seed, [](const State&) { return false; });
}

/// `is_read`: those that are written afterwards, and are zeros where nothing is written.
void Session::initialize_states(uint32_t seed, const std::function<bool(const State&)>& is_read) {
  for (size_t i = 0; i < plan_->states.size(); ++i) require_own(static_cast<int>(i));
  for (size_t i = 0; i < plan_->states.size(); ++i) {
    const State& s = plan_->states[i];
    if (!s.copy_of.empty() && !has_other_parts(s)) continue;    // rounded from its master before the next run
    if (!s.scales_of.empty() || !s.zeros_of.empty()) continue;  // written with what they are for
    if (is_read(s)) {
      if (!is_filled(*plan_, s)) clear_state(s.name);
      continue;
    }
    initialize_state(static_cast<int>(i), seed);
  }
}

void Session::initialize_state(int index, uint32_t seed) {
  const State& s = plan_->states[static_cast<size_t>(index)];
  if (scales_index(s.name) >= 0) return initialize_quantized(index, seed);
  if (begins_as_zeros(s)) return clear_state(s.name);
  handed_out_[static_cast<size_t>(index)] = true;
  if (!is_in_parts(s) && s.copy_of.empty() && executor_->initialize_state(index, seed)) return;
  const std::vector<StateRun> runs = state_runs(s, plan_->mesh, rank());
  fill(index, [&](int64_t begin, std::span<std::byte> part) {
    initialize_part(s, seed, part, begin, runs, place());
  });
}

RankPlace Session::place() const {
  return {plan_->mesh, plan_->mesh.coordinates(ranks() ? ranks()->rank() : 0)};
}

/// The values that the same weights in f32 begin with, quantised.
void Session::initialize_quantized(int index, uint32_t seed) {
  const State& state = plan_->states[static_cast<size_t>(index)];
  clear_state(state.name);
  for (const Segment& part : state.segments) {
    std::vector<float> values(static_cast<size_t>(count_elements(stored_shape(part))));
    initialize_values(part.init, part.name, seed, values);
    write_segment(state.name, part.name, values);
  }
}

}  // namespace smelt
