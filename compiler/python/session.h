// A session as a Python object: one call at a time, from any thread.
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
  std::unique_ptr<Generator> generator = {};  // of the session, once it has generated
  std::string weights;                        // where they are from, for people
  std::string note;                           // of weights that were not where one would look first
  uint32_t seed = 0;
  std::mutex busy = {};
};

/// Runs `body` on the session without the GIL, when no other thread does.
template <typename Body>
auto alone(BoundSession& bound, Body body) {
  return released([&] {
    const std::lock_guard lock(bound.busy);
    return body(*bound.session);
  });
}

nanobind::class_<BoundSession> bind_session(nanobind::module_& module);

}  // namespace smelt::python
