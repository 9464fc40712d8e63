// BoundSession: a session as a Python object. Any thread may call it; calls run one at a time.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "compiler/python/calls.h"
#include "compiler/python/plan.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/session/session.h"

namespace smelt::python {

struct BoundSession {
  std::shared_ptr<const CompiledPlan> compiled;
  std::unique_ptr<Session> session;
  std::unique_ptr<Generator> generator = {};  // of the session; null before the first generation
  std::string weights;                        // path of the weights, or "initial values"
  std::string note;                           // message for the user about the weights; empty: none
  uint32_t seed = 0;
  bool has_batch = false;   // a batch exists, which alone may run the session
  bool calibrated = false;  // a batch has set the first bounds of activations, if the plan learns such
  std::mutex busy = {};     // held by the thread that uses the session
};

/// Calls body(session) without the GIL, while no other thread uses the session, and returns its result. The
/// body must not run entries or write to states, because a batch may have requests in the session.
template <typename Body>
auto for_reading(BoundSession& bound, Body body) {
  return released([&] {
    const std::lock_guard lock(bound.busy);
    return body(*bound.session);
  });
}

/// Does the same for a body that may also run entries and write to states. Throws Error if a batch of the
/// session exists.
template <typename Body>
auto alone(BoundSession& bound, Body body) {
  return for_reading(bound, [&](Session& session) {
    if (bound.has_batch) fail("a smelt.Batch runs the session: close() it before the session runs otherwise");
    return body(session);
  });
}

nanobind::class_<BoundSession> bind_session(nanobind::module_& module);

}  // namespace smelt::python
