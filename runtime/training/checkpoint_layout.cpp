#include "runtime/training/checkpoint_layout.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/error.h"

namespace smelt {
namespace {

using Json = nlohmann::json;

/// One parameter; `shape` is the plan's own ([out,in] for weights).
struct Place {
  std::string name, state;
  int64_t offset = 0;  // elements
  std::vector<int64_t> shape;
  bool transposed = false;  // a file of weights holds [in,out]
};

Place read_place(const Json& json) {
  return {json.at("name").get<std::string>(), json.at("state").get<std::string>(),
          json.at("offset").get<int64_t>(), json.at("shape").get<std::vector<int64_t>>(),
          json.at("transposed").get<bool>()};
}

std::vector<Place> read_places(std::string_view layout, const std::string& file) {
  try {
    std::vector<Place> places;
    for (const Json& json : Json::parse(layout)) places.push_back(read_place(json));
    return places;
  } catch (const Json::exception&) {
    fail_with(Status::invalid_file,
              "'{}': its metadata 'parameters' does not read: expected a list of objects with name, state, "
              "offset, shape and transposed",
              file);
  }
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

bool fits(const Place& place, const TensorView* state) {
  if (!state || place.offset < 0 || (place.transposed && place.shape.size() != 2)) return false;
  const int64_t elements = count_elements(place.shape);
  return elements <= state->elements() && place.offset <= state->elements() - elements;
}

}  // namespace

std::string parameter_layout(const Plan& plan) {
  Json list = Json::array();
  for (const State& state : plan.states) {
    if (state.role != Role::parameter || !state.copy_of.empty()) continue;
    for (const Segment& s : state.segments)
      list.push_back({{"name", s.checkpoint_names.empty() ? s.name : s.checkpoint_names.front()},
                      {"state", state.name},
                      {"offset", s.offset},
                      {"shape", s.shape},
                      {"transposed", s.transposed}});
  }
  return list.dump();
}

Checkpoint parameters_in(const Checkpoint& file, std::string_view layout) {
  std::vector<HostTensor> tensors;
  for (const Place& place : read_places(layout, file.path().string())) {
    const TensorView* state = file.find(place.state);
    if (!fits(place, state))
      fail_with(Status::invalid_file, "'{}': parameter '{}' lies outside of its state '{}'",
                file.path().string(), place.name, place.state);
    tensors.push_back(parameter(place, *state));
  }
  return Checkpoint::of(std::move(tensors), file.path());
}

}  // namespace smelt
