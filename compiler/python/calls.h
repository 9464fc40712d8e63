// Work outside of the interpreter, and failures as Python exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "runtime/base/error.h"

namespace smelt::python {

/// Makes smelt::Error an exception of the class smelt.Error, with its status.
void translate_errors();

/// Runs `body` without the GIL, so other threads of Python run concurrently. Exceptions are an Error, or an
/// exception of Python's.
template <typename Body>
auto released(Body body) {
  const nanobind::gil_scoped_release release;
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const nanobind::python_error&) {  // of a function of the caller's, or of a signal
    throw;
  } catch (const std::bad_alloc&) {
    fail_with(Status::out_of_memory, "memory does not suffice");
  } catch (const std::exception& error) {
    fail_with(Status::internal, "{}", error.what());
  }
}

}  // namespace smelt::python
