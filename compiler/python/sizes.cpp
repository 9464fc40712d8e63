#include "compiler/python/sizes.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "compiler/python/bindings.h"
#include "compiler/python/size_ranges.h"
#include "runtime/base/error.h"

namespace smelt::python {

namespace nb = nanobind;

nb::object size_object(const Dim& size) {
  const auto number = size.constant();
  return number ? nb::object(nb::int_(*number)) : nb::cast(size);
}

nb::tuple shape_object(const Shape& shape) {
  nb::list sizes;
  for (const Dim& size : shape) sizes.append(size_object(size));
  return nb::tuple(sizes);
}

std::optional<Dim> size_of(nb::handle object) {
  if (nb::isinstance<Dim>(object)) return nb::cast<Dim>(object);
  if (!PyIndex_Check(object.ptr())) return std::nullopt;
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  int overflow = 0;
  const int64_t value = number.is_valid() ? PyLong_AsLongLongAndOverflow(number.ptr(), &overflow) : 0;
  if (!number.is_valid()) {  // an array
    PyErr_Clear();
    return std::nullopt;
  }
  if (overflow != 0) fail("the integer {} does not fit 64 bits", nb::str(number).c_str());
  return Dim(value);
}

Dim expected_size(nb::handle object) {
  if (auto size = size_of(object)) return *std::move(size);
  throw nb::type_error(
      fmt::format("a size is an integer or a smelt Dim, and not a {}", nb::type_name(object.type()).c_str())
          .c_str());
}

Shape sizes_of(const nb::iterable& objects) {
  Shape sizes;
  for (nb::handle each : objects) sizes.push_back(expected_size(each));
  return sizes;
}

namespace {

// ---- arithmetic

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

/// Returns operation(a, b); NotImplemented if an operand is no size, so that Python asks the other operand.
template <typename Operation>
nb::object applied(Operation operation, nb::handle a, nb::handle b) {
  const std::optional<Dim> left = size_of(a), right = size_of(b);
  return left && right ? size_object(operation(*left, *right)) : not_implemented();
}

Dim exact_quotient(const Dim& size, const Dim& divisor) {
  if (auto quotient = size.divide(divisor)) return *std::move(quotient);
  throw nb::value_error(
      fmt::format("{} is not known to be a multiple of {}", size.str(), divisor.str()).c_str());
}

Dim rounded_down(const Dim& size, const Dim& divisor) {
  if (const auto number = divisor.constant(); number && *number > 0) return floor_div(size, *number);
  if (auto quotient = size.divide(divisor)) return *std::move(quotient);
  fail("the size {} // {}: a size is divided by numbers above 0 alone", size.str(), divisor.str());
}

Dim broadcast_size(const Dim& a, const Dim& b) {
  if (a == b || b.is_one()) return a;
  if (a.is_one()) return b;
  if (a.is_constant() != b.is_constant())
    fail("sizes {} and {} side by side, one known only when it runs; give it a fixed size", a.str(), b.str());
  fail("sizes {} and {} side by side, which do not broadcast", a.str(), b.str());
}

/// Returns the shape that all of the shapes spread to, as NumPy has it: dims line up at the end.
nb::tuple broadcast_shapes(const nb::args& shapes) {
  Shape result;
  for (nb::handle each : shapes) {
    Shape shape = sizes_of(nb::cast<nb::iterable>(each));
    if (shape.size() > result.size()) std::swap(shape, result);
    const size_t before = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i)
      result[before + i] = broadcast_size(result[before + i], shape[i]);
  }
  return shape_object(result);
}

nb::object product_of_sizes(const nb::iterable& sizes) { return size_object(element_count(sizes_of(sizes))); }

std::vector<size_t> dims_beside_1(const Shape& shape) {
  std::vector<size_t> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!shape[i].is_one()) dims.push_back(i);
  return dims;
}

/// Returns the dims after a reshape by those before it, if it only adds or drops dims of 1; else nothing.
std::optional<std::map<size_t, size_t>> kept_axes(const nb::iterable& before, const nb::iterable& after) {
  const Shape old = sizes_of(before), made = sizes_of(after);
  const std::vector<size_t> from = dims_beside_1(old), to = dims_beside_1(made);
  if (from.size() != to.size()) return std::nullopt;
  std::map<size_t, size_t> kept;
  for (size_t i = 0; i < from.size(); ++i) {
    if (old[from[i]] != made[to[i]]) return std::nullopt;
    kept[from[i]] = to[i];
  }
  return kept;
}

nb::object quotient(nb::handle size, nb::handle divisor) {
  const auto found = expected_size(size).divide(expected_size(divisor));
  return found ? size_object(*found) : nb::none();
}

void bind_dim(nb::module_& module) {
  const auto plus = [](nb::handle a, nb::handle b) { return applied(std::plus<Dim>(), a, b); };
  const auto minus = [](nb::handle a, nb::handle b) { return applied(std::minus<Dim>(), a, b); };
  const auto times = [](nb::handle a, nb::handle b) { return applied(std::multiplies<Dim>(), a, b); };
  const auto divided = [](nb::handle a, nb::handle b) { return applied(exact_quotient, a, b); };
  nb::class_<Dim>(module, "Dim")
      .def_static(
          "symbol", [](std::string name) { return Dim::symbol(std::move(name)); }, nb::arg("name"))
      .def("__add__", plus)
      .def("__radd__", plus)
      .def("__sub__", minus)
      .def("__rsub__", [=](nb::handle a, nb::handle b) { return minus(b, a); })
      .def("__mul__", times)
      .def("__rmul__", times)
      .def("__neg__", [](const Dim& a) { return Dim(0) - a; })
      .def("__floordiv__", divided)
      .def("__truediv__", divided)
      .def("__eq__",
           [](const Dim& a, nb::handle b) { return nb::isinstance<Dim>(b) && a == nb::cast<Dim>(b); })
      .def("__hash__", [](const Dim& a) { return std::hash<std::string>()(a.str()); })
      .def("symbols",
           [](const Dim& size) {
             std::vector<std::string> names;
             size.collect_symbols(names);
             return names;
           })
      .def("value",
           [](const Dim& size, const std::map<std::string, int64_t>& values) {
             return size.evaluate({values.begin(), values.end()});
           })
      .def("__str__", &Dim::str)
      .def("__repr__", &Dim::str);
}

// ---- ranges

/// Returns the end as a number of 64 bits; a larger one is infinite.
int64_t end_of(nb::handle number) {
  const double approximate = nb::cast<double>(nb::float_(number));
  if (std::abs(approximate) >= 0x1p62) return approximate > 0 ? SizeRange::kAbove : SizeRange::kBelow;
  return nb::cast<int64_t>(nb::int_(number));
}

nb::object end_object(int64_t end) {
  if (end == SizeRange::kAbove) return nb::float_(HUGE_VAL);
  return end == SizeRange::kBelow ? nb::object(nb::float_(-HUGE_VAL)) : nb::object(nb::int_(end));
}

void set_range(SizeRanges& ranges, const std::vector<std::string>& factors, nb::handle low, nb::handle high) {
  ranges.set(factors, {end_of(low), end_of(high)});
}

void make_ranges(SizeRanges* ranges, const nb::dict& given) {
  new (ranges) SizeRanges;
  for (const auto [factors, ends] : given)
    set_range(*ranges, nb::cast<std::vector<std::string>>(factors), ends[0], ends[1]);
}

std::optional<int64_t> most(const SizeRanges& ranges, nb::handle size) {
  const int64_t high = ranges.range(expected_size(size)).high;
  return high == SizeRange::kAbove ? std::nullopt : std::optional(high);
}

nb::object extreme_of(const SizeRanges& ranges, const std::string& symbol) {
  const Extreme* extreme = ranges.extreme_of(symbol);
  if (!extreme) return nb::none();
  nb::list sizes;
  for (const Dim& size : extreme->sizes) sizes.append(size_object(size));
  return nb::make_tuple(extreme->largest ? "max" : "min", sizes);
}

void bind_ranges(nb::module_& module) {
  nb::class_<SizeRanges>(module, "Ranges")
      .def("__init__", make_ranges, nb::arg("ranges") = nb::dict())
      .def("__contains__", &SizeRanges::has)
      .def("set", set_range, nb::arg("factors"), nb::arg("low"), nb::arg("high"))
      .def("of",
           [](const SizeRanges& ranges, nb::handle size) {
             const SizeRange range = ranges.range(expected_size(size));
             return std::pair(end_object(range.low), end_object(range.high));
           })
      .def("most", most)
      .def("is_natural",
           [](const SizeRanges& ranges, nb::handle size) { return ranges.is_natural(expected_size(size)); })
      .def("extreme",
           [](SizeRanges& ranges, const std::string& kind, const nb::iterable& sizes) {
             return size_object(ranges.extreme(kind == "max", sizes_of(sizes)));
           })
      .def("extreme_of", extreme_of)
      .def("symbols",
           [](const SizeRanges& ranges, nb::handle size) { return ranges.symbols(expected_size(size)); });
}

}  // namespace

void bind_sizes(nb::module_& module) {
  bind_dim(module);
  bind_ranges(module);
  module.def("ceil_div", [](nb::handle size, int64_t divisor) {
    return size_object(ceil_div(expected_size(size), divisor));
  });
  module.def("floor_div", [](nb::handle size, nb::handle divisor) {
    return size_object(rounded_down(expected_size(size), expected_size(divisor)));
  });
  module.def("quotient", quotient);
  module.def("broadcast_shapes", broadcast_shapes);
  module.def("product", product_of_sizes, nb::arg("sizes"));
  module.def("kept_axes", kept_axes, nb::arg("before"), nb::arg("after"));
}

}  // namespace smelt::python
