#include "runtime/engine/training/checkpoint_layout.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "runtime/base/error.h"
#include "runtime/engine/training/checkpoint.h"
#include "runtime/engine/training/state_layout.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/plan/state_parts.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

/// One parameter; `shape` is the plan's own ([out,in] for weights).
struct Place {
  std::string name, state;
  int64_t offset = 0;  // elements
  std::vector<int64_t> shape;
  bool transposed = false;  // a file of weights holds [in,out]
};

bool is_text(const Json& value) { return value.is_string(); }
bool is_flag(const Json& value) { return value.is_boolean(); }
bool is_integer(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX});
}
bool is_shape(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& extent) {
           return is_integer(extent) && extent.get<int64_t>() >= 0;
         });
}

struct Member {
  const char* name;
  bool (*fits)(const Json&);
  const char* expected;
};

constexpr Member kMembers[] = {{"name", is_text, "a string"},
                               {"state", is_text, "a string"},
                               {"offset", is_integer, "an integer"},
                               {"shape", is_shape, "a list of extents"},
                               {"transposed", is_flag, "true or false"}};

/// One of the list's parameters, by its number.
Place read_place(const Json& json, size_t number, const std::string& list) {
  if (!json.is_object())
    fail_with(Status::invalid_file, "'{}': [{}] is {}: expected an object", list, number, kind_of(json));
  for (const Member& member : kMembers) {
    const auto found = json.find(member.name);
    if (found == json.end() || !member.fits(*found))
      fail_with(Status::invalid_file, "'{}': [{}].{} is {}: expected {}", list, number, member.name,
                found == json.end() ? "missing" : brief(*found), member.expected);
  }
  return {json["name"].get<std::string>(), json["state"].get<std::string>(), json["offset"].get<int64_t>(),
          json["shape"].get<std::vector<int64_t>>(), json["transposed"].get<bool>()};
}

std::vector<Place> read_places(std::string_view layout, const std::string& file) {
  const std::string list = file + ": metadata parameters";
  const Json json = parse_json(layout, list);
  if (!json.is_array())
    fail_with(Status::invalid_file, "'{}' is {}: expected a list of objects", list, kind_of(json));
  std::vector<Place> places;
  for (const Json& item : json) places.push_back(read_place(item, places.size(), list));
  return places;
}

/// to[c][r] = from[r][c], elements of any width.
void transpose(std::span<const std::byte> from, std::span<std::byte> to, size_t rows, size_t columns,
               size_t width) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      std::memcpy(to.data() + (c * rows + r) * width, from.data() + (r * columns + c) * width, width);
}

HostTensor parameter(const Place& place, const TensorView& state) {
  const auto width = static_cast<size_t>(size_of(state.dtype));
  const auto bytes = state.bytes.subspan(static_cast<size_t>(place.offset) * width,
                                         static_cast<size_t>(count_elements(place.shape)) * width);
  HostTensor tensor{place.name, state.dtype, place.shape, {bytes.begin(), bytes.end()}};
  if (!place.transposed) return tensor;
  std::ranges::reverse(tensor.shape);
  transpose(bytes, tensor.bytes, static_cast<size_t>(place.shape[0]), static_cast<size_t>(place.shape[1]),
            width);
  return tensor;
}

/// The sum of two tensors of one shape, as f32.
HostTensor sum_of(const HostTensor& a, const HostTensor& b) {
  std::vector<float> sum = read_floats({a.name, a.dtype, a.shape, a.bytes});
  const std::vector<float> addend = read_floats({b.name, b.dtype, b.shape, b.bytes});
  std::ranges::transform(sum, addend, sum.begin(), std::plus<>());
  const auto bytes = std::as_bytes(std::span(sum));
  return {a.name, DType::f32, a.shape, {bytes.begin(), bytes.end()}};
}

bool fits(const Place& place, const TensorView* state) {
  if (!state || place.offset < 0 || (place.transposed && place.shape.size() != 2)) return false;
  const int64_t elements = count_elements(place.shape);
  return elements <= state->elements() && place.offset <= state->elements() - elements;
}

/// The plan's own shape, over all ranks, with stacked matrices one below the other.
std::vector<int64_t> shape_in_files(const Segment& segment) {
  std::vector<int64_t> shape = stored_shape(segment);
  if (segment.transposed) std::ranges::reverse(shape);
  return shape;
}

}  // namespace

std::string parameter_layout(const Plan& plan) {
  Json list = Json::array();
  for (const State& state : plan.states) {
    if (state.role != Role::parameter || !is_saved(state)) continue;
    const std::vector<int64_t> offsets = whole_offsets(state);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const Segment& s = state.segments[i];
      list.push_back({{"name", file_name_of(s)},
                      {"state", state.name},
                      {"offset", offsets[i]},
                      {"shape", shape_in_files(s)},
                      {"transposed", s.transposed}});
    }
  }
  return list.dump();
}

std::vector<Segment> parameter_segments(std::string_view layout, const std::string& file,
                                        std::string_view state) {
  std::vector<Segment> segments;
  for (const Place& place : read_places(layout, file)) {
    if (place.state != state) continue;
    Segment& segment = segments.emplace_back();
    segment.name = place.name, segment.offset = place.offset, segment.shape = place.shape;
    segment.transposed = place.transposed;
  }
  return segments;
}

Checkpoint parameters_in(const Checkpoint& file, std::string_view layout) {
  std::vector<HostTensor> tensors;
  for (const Place& place : read_places(layout, file.path().string())) {
    const TensorView* state = file.find(place.state);
    if (!fits(place, state))
      fail_with(Status::invalid_file, "'{}': parameter '{}' lies outside of its state '{}'",
                file.path().string(), place.name, place.state);
    tensors.push_back(parameter(place, *state));
    if (const TensorView* offsets = place.state == "parameters" ? file.find(kAverageOffset) : nullptr;
        fits(place, offsets))
      tensors.back() = sum_of(tensors.back(), parameter(place, *offsets));
  }
  return Checkpoint::of(std::move(tensors), file.path());
}

}  // namespace smelt
