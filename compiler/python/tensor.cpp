#include "compiler/python/bindings.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <numeric>

#include "compiler/python/arrays.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors.h"

namespace smelt::python {
namespace {

/// Returns a view of the tensor, which it keeps alive, as an array of `Framework`.
template <typename Framework>
nb::object exported(nb::handle self) {
  auto& tensor = nb::cast<HostTensor&>(self);
  const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
  nb::ndarray<Framework> view(tensor.bytes.data(), shape.size(), shape.data(), self, nullptr,
                              dlpack_type(tensor.dtype));
  return nb::cast(view, nb::rv_policy::reference);
}

nb::object to_numpy(nb::handle self) {
  if (const auto& tensor = nb::cast<const HostTensor&>(self); tensor.dtype == DType::bf16)
    fail("'{}': NumPy has no bf16; take it with torch.from_dlpack", tensor.name);
  return exported<nb::numpy>(self);
}

nb::object to_array(nb::handle self, nb::handle dtype, nb::handle copy) {
  nb::object array = to_numpy(self);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, nb::arg("copy") = false);
  return copy.is(Py_True) ? array.attr("copy")() : array;
}

/// Results are ready before they are returned, so `stream` has no effect.
nb::object to_dlpack(nb::handle self, nb::handle /*stream*/, nb::handle max_version, nb::handle device,
                     nb::handle copy) {
  return exported<nb::array_api>(self).attr("__dlpack__")(
      nb::arg("max_version") = max_version, nb::arg("dl_device") = device, nb::arg("copy") = copy);
}

template <typename T>
T first(const HostTensor& tensor) {
  T value;
  std::memcpy(&value, tensor.bytes.data(), sizeof value);
  return value;
}

nb::object item(const HostTensor& tensor) {
  if (count_elements(tensor.shape) != 1)
    fail("'{}' is {}: expected one element", tensor.name, describe(tensor.dtype, tensor.shape));
  switch (tensor.dtype) {
    case DType::i32:
      return nb::int_(first<int32_t>(tensor));
    case DType::i64:
      return nb::int_(first<int64_t>(tensor));
    case DType::u16:
      return nb::int_(first<uint16_t>(tensor));
    case DType::u8:
      return nb::int_(first<uint8_t>(tensor));
    case DType::i8:
      return nb::int_(first<int8_t>(tensor));
    case DType::boolean:
      return nb::bool_(first<uint8_t>(tensor) != 0);
    default:
      break;
  }
  return nb::float_(read_floats({tensor.name, tensor.dtype, tensor.shape, tensor.bytes})[0]);
}

nb::tuple shape_tuple(const HostTensor& tensor) {
  nb::list shape;
  for (const int64_t size : tensor.shape) shape.append(size);
  return nb::tuple(shape);
}

size_t length(const HostTensor& tensor) {
  if (tensor.shape.empty()) throw nb::type_error("a tensor without dimensions has no length");
  return static_cast<size_t>(tensor.shape[0]);
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<HostTensor>(
      module, "Tensor",
      "A result in the host's memory, dense and row-major. numpy.asarray, numpy.from_dlpack and "
      "torch.from_dlpack take it without a copy and keep its memory alive.")
      .def_ro("name", &HostTensor::name, "Of the output, or of the parameter.")
      .def_prop_ro("dtype", [](const HostTensor& t) { return std::string(name(t.dtype)); })
      .def_prop_ro("shape", shape_tuple)
      .def_prop_ro("device", [](const HostTensor&) { return "cpu"; })
      .def_prop_ro("nbytes", [](const HostTensor& t) { return t.bytes.size(); })
      .def("numpy", to_numpy, "A view as a NumPy array.")
      .def("item", item, "The one element as a Python number.")
      .def("tolist", [](nb::handle self) { return to_numpy(self).attr("tolist")(); })
      .def("__array__", to_array, nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none())
      .def("__dlpack__", to_dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__", [](const HostTensor&) { return nb::make_tuple(nb::device::cpu::value, 0); })
      .def("__len__", length)
      .def("__float__", [](const HostTensor& t) { return nb::float_(item(t)); })
      .def("__repr__", [](const HostTensor& t) {
        return fmt::format("<smelt.Tensor '{}': {}>", t.name, describe(t.dtype, t.shape));
      });
}

}  // namespace smelt::python
