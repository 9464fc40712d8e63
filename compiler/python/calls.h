// Execution of work without Python's global interpreter lock (GIL), and conversion of failures to Python
// exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <new>

#include "runtime/base/error.h"

namespace smelt::python {

/// Makes nanobind convert each smelt::Error to a Python exception of the class smelt.Error, which has the
/// same status.
void translate_errors();

/// Calls `body` without the GIL, so that other Python threads run concurrently, and returns its result. If
/// `body` throws an exception of the C++ standard library, throws an Error instead. If `body` throws an Error
/// or a Python exception, the exception is not changed.
template <typename Body>
auto released(Body body) {
  const nanobind::gil_scoped_release release;
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const nanobind::python_error&) {  // raised by a Python function that `body` called, or by a signal
    throw;
  } catch (const std::bad_alloc&) {
    fail_with(Status::out_of_memory, "memory does not suffice");
  } catch (const std::exception& error) {
    fail_with(Status::internal, "{}", error.what());
  }
}

}  // namespace smelt::python
