// Execution of work without Python's global interpreter lock (GIL), and conversion of failures to Python
// exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "runtime/base/error.h"

namespace smelt::python {

/// Makes nanobind convert smelt::Error to a Python exception of the class smelt.Error, which has its status.
void translate_errors();

/// Returns body(), called without the GIL, so that other Python threads run concurrently. Exceptions of the
/// C++ library are converted to Error; Errors and Python exceptions are passed on.
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
