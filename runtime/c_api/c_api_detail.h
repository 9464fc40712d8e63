// Common parts of the C interface.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/session/session.h"
#include "runtime/smelt.h"
#include "runtime/tokenizers/tokenizer.h"

/// Strings and arrays that the introspection hands out, made once: a loaded plan never changes.
struct smelt_plan {
  struct PortText {
    std::string shape;
    std::vector<int64_t> max_shape;
  };
  struct EntryText {
    std::vector<PortText> inputs, outputs;
  };
  std::shared_ptr<const smelt::Plan> plan;
  std::vector<EntryText> entries;
  std::vector<std::string> roles;  // of the states
  std::vector<int64_t> state_elements;
  int64_t memory_bytes = 0;
};

struct smelt_session {
  std::unique_ptr<smelt::Session> session;
};

struct smelt_tokenizer {
  smelt::Tokenizer tokenizer;
};

namespace smelt::c_api {

/// Stores the message for smelt_last_error; never throws.
smelt_status remember(Status status, const char* message) noexcept;

/// Runs `body`; exceptions become a status and a message.
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

template <typename T>
T* required(T* pointer, const char* what) {
  if (!pointer) fail("{} is null", what);
  return pointer;
}

inline Session& session_of(smelt_session* handle) { return *required(handle, "the session")->session; }
inline const Session& session_of(const smelt_session* handle) {
  return *required(handle, "the session")->session;
}

}  // namespace smelt::c_api
