// Types and functions that the source files of the C interface (runtime/smelt.h) share.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/session/session.h"
#include "runtime/smelt.h"
#include "runtime/structured/text_constraints.h"
#include "runtime/tokenizers/tokenizer.h"

/// A loaded plan, and the strings and arrays that functions of the C interface return pointers to. These are
/// computed once, because a loaded plan never changes.
struct smelt_plan {
  struct PortText {
    std::string shape;               // as text: "[B,T]"
    std::vector<int64_t> max_shape;  // at the symbols' upper bounds
  };
  struct EntryText {
    std::vector<PortText> inputs, outputs;
  };
  std::shared_ptr<const smelt::Plan> plan;
  std::vector<EntryText> entries;
  std::vector<std::string> roles;       // per state
  std::vector<int64_t> state_elements;  // per state, at the symbols' upper bounds
  int64_t memory_bytes = 0;             // of states, constants and the arena
};

/// Object to which the handle of a session in the C interface points.
struct smelt_session {
  std::unique_ptr<smelt::Session> session;
};

/// Object to which the handle of a tokenizer in the C interface points.
struct smelt_tokenizer {
  smelt::Tokenizer tokenizer;
  mutable std::mutex mutex = {};  // guards known_constraints
  /// By the number of a model's logits: compiled specifications of texts.
  mutable std::map<size_t, std::shared_ptr<smelt::structured::TextConstraints>> known_constraints = {};

  /// Returns the constraints for models with this number of logits. Thread-safe.
  smelt::structured::TextConstraints& constraints(size_t vocabulary) const;
};

namespace smelt::c_api {

/// Stores the message, which smelt_last_error then returns, and returns the status. Never throws.
smelt_status remember(Status status, const char* message) noexcept;

/// Runs `body` and returns SMELT_OK. If `body` throws, stores the message of the exception and returns its
/// status.
template <typename Body>
smelt_status guarded(Body body) noexcept {
  try {
    body();
    return SMELT_OK;
  } catch (const Error& error) {
    return remember(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return remember(Status::out_of_memory, "out of memory");
  } catch (const std::exception& error) {
    return remember(Status::internal, error.what());
  } catch (...) {
    return remember(Status::internal, "an unknown failure");
  }
}

/// Returns the pointer. Throws Error if it is null; `what` names it.
template <typename T>
T* required(T* pointer, const char* what) {
  if (!pointer) fail("{} is null", what);
  return pointer;
}

/// Return the session of a handle. Throw Error if the handle is null.
inline Session& session_of(smelt_session* handle) { return *required(handle, "the session")->session; }
inline const Session& session_of(const smelt_session* handle) {
  return *required(handle, "the session")->session;
}

}  // namespace smelt::c_api
