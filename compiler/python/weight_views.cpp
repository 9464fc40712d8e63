#include "compiler/python/bindings.h"

#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "compiler/python/arrays.h"
#include "compiler/python/session.h"
#include "runtime/base/error.h"
#include "runtime/cuda/executor.h"
#include "runtime/plan/segment_parts.h"
#include "runtime/session/session_weights.h"

namespace smelt::python {
namespace {

/// The location of a state, by DLPack's kinds and numbers of devices.
struct StatePlace {
  const State* state;
  std::byte* data;
  int kind, device;
};

StatePlace place_of(Session& session, size_t index) {
  const State& state = session.plan().states[index];
  if (state.resident >= 0)
    fail("state '{}': the host holds some of it (--memory-budget), so that it is no one piece of memory",
         state.name);
  if (auto* executor = dynamic_cast<cuda::CudaExecutor*>(&session.executor())) {
    const cuda::Device& device = cuda::Device::open(executor->device().info().ordinal);
    device.make_current();
    auto* data = reinterpret_cast<std::byte*>(executor->written_state(static_cast<int>(index)));
    return {&state, data, nb::device::cuda::value, device.info().ordinal};
  }
  return {&state, session.state(state.name).data(), nb::device::cpu::value, 0};
}

std::vector<StatePlace> places_of_weights(Session& session) {
  if (session.ranks() || session.weight_users() > 1)
    fail("the weights are those of {}: expected a session that has them alone",
         session.ranks() ? "several ranks" : "several sessions");
  std::vector<StatePlace> places;
  const auto& states = session.plan().states;
  for (size_t i = 0; i < states.size(); ++i)
    if (holds_weights(states[i])) places.push_back(place_of(session, i));
  session.synchronize();
  return places;
}

/// A transposed weight has the strides of its columns.
nb::object view_of(nb::handle owner, const StatePlace& place, const Segment& segment) {
  const std::vector<int64_t> stored = stored_shape(segment);
  const std::vector<size_t> shape(stored.begin(), stored.end());
  std::vector<int64_t> strides(stored.size(), 1);
  for (size_t i = stored.size(); i-- > 1;) strides[i - 1] = strides[i] * stored[i];
  if (segment.transposed) strides = {1, stored[0]};
  const nb::ndarray<nb::array_api> view(place.data + segment.offset * size_of(place.state->dtype),
                                        shape.size(), shape.data(), owner, strides.data(),
                                        dlpack_type(place.state->dtype), place.kind, place.device);
  return nb::cast(view, nb::rv_policy::reference).attr("__dlpack__")();
}

}  // namespace

nb::list weight_views(nb::handle session) {
  auto& bound = nb::cast<BoundSession&>(session);
  nb::list views;
  for (const StatePlace& place : alone(bound, places_of_weights)) {
    for (const Segment& segment : place.state->segments) {
      const auto& names = segment.checkpoint_names;
      const std::string& name = names.empty() ? segment.name : names.front();
      views.append(nb::make_tuple(nb::str(name.c_str()), view_of(session, place, segment)));
    }
  }
  return views;
}

}  // namespace smelt::python
