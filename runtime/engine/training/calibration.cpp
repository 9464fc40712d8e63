#include "runtime/engine/training/calibration.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/activation_bound.h"
#include "runtime/session/session_weights.h"

namespace smelt {
namespace {

/// Returns whether the bound was given a first value.
bool set_bound(Session& session, const HostTensor& largest) {
  const float value = largest.as<float>()[0];
  if (!(value > 0) || !std::isfinite(value)) return false;
  for (const State& state : session.plan().states) {
    if (!holds_weights(state)) continue;
    const auto bound = std::ranges::find(state.segments, largest.name, &Segment::name);
    if (bound == state.segments.end()) continue;
    if (session.read_segment(state.name, bound->name)[0] != static_cast<float>(bound->init.a)) return false;
    session.write_segment(state.name, bound->name, std::span(&value, 1));
    return true;
  }
  return false;
}

}  // namespace

bool calibrates(const Session& session) { return session.plan().find_entry(kCalibrate) != nullptr; }

int64_t calibrate_bounds(Session& session, std::span<const InputTensor> inputs) {
  if (!calibrates(session)) return 0;
  int64_t count = 0;
  for (const HostTensor& largest : session.run(kCalibrate, inputs)) count += set_bound(session, largest);
  return count;
}

}  // namespace smelt
