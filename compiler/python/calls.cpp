#include "compiler/python/calls.h"

#include <array>

namespace smelt::python {
namespace {

namespace nb = nanobind;

constexpr std::array kStatusNames = {"ok", "invalid_argument", "invalid_file", "out_of_memory",
                                     "io", "numeric",          "internal",     "unavailable"};

void set_error(const std::string& message, Status status) {
  const nb::object type = nb::module_::import_("smelt.errors").attr("Error");
  PyErr_SetObject(type.ptr(), type(message, kStatusNames.at(static_cast<size_t>(status))).ptr());
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& problem, void*) {
    try {
      std::rethrow_exception(problem);
    } catch (const Error& error) {
      set_error(error.what(), error.status());
    } catch (const std::bad_alloc&) {
      set_error("memory does not suffice", Status::out_of_memory);
    }
  });
}

}  // namespace smelt::python
