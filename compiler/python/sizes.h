// Sizes as Python's objects: int, or the class Dim for a size that has a symbol.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "runtime/base/dim.h"

namespace smelt::python {

nanobind::object size_object(const Dim& size);
nanobind::tuple shape_object(const Shape& shape);
/// Returns the size that the object is: a Dim, or an integer of Python or NumPy; nothing for other objects.
std::optional<Dim> size_of(nanobind::handle object);
/// Throws TypeError if the object is no size.
Dim expected_size(nanobind::handle object);
Shape sizes_of(const nanobind::iterable& objects);

}  // namespace smelt::python
