#include "compiler/python/arrays.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "runtime/base/error.h"

namespace smelt::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct TypeRow {
  DType type;
  Code code;
  uint8_t bits;
};

constexpr std::array kTypes = {TypeRow{DType::f32, Code::Float, 32}, TypeRow{DType::bf16, Code::Bfloat, 16},
                               TypeRow{DType::f16, Code::Float, 16}, TypeRow{DType::f64, Code::Float, 64},
                               TypeRow{DType::i32, Code::Int, 32},   TypeRow{DType::i64, Code::Int, 64},
                               TypeRow{DType::u16, Code::UInt, 16},  TypeRow{DType::u8, Code::UInt, 8},
                               TypeRow{DType::i8, Code::Int, 8},     TypeRow{DType::boolean, Code::Bool, 8}};

constexpr bool is_host(int device) {
  return device == nb::device::cpu::value || device == nb::device::cuda_host::value ||
         device == nb::device::cuda_managed::value;
}

constexpr bool is_gpu(int device) { return device == nb::device::cuda::value; }

[[noreturn]] void fail_no_array(const std::string& place, nb::handle given) {
  fail("{}: a {} is no array of numbers: expected what has __dlpack__ or Python's buffer protocol", place,
       nb::type_name(given.type()).c_str());
}

/// Dims of one element may have any stride.
template <typename Array>
bool is_dense(const Array& array) {
  if (array.size() == 0) return true;
  int64_t expected = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != expected) return false;
    expected *= static_cast<int64_t>(array.shape(i));
  }
  return true;
}

template <typename Array>
std::vector<int64_t> shape_of(const Array& array) {
  std::vector<int64_t> shape;
  for (size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<int64_t>(array.shape(i)));
  return shape;
}

/// Checks the conditions for both inputs and outputs; `place` is for messages.
template <typename Array>
DType checked_type(const Array& array, const std::string& place, ArrayDevices devices) {
  const auto type = type_of(array.dtype());
  if (!type)
    fail("{}: its elements (DLPack's type code {}, {} bits) are of no type that plans have", place,
         array.dtype().code, array.dtype().bits);
  const bool may_be_there = devices == ArrayDevices::host_and_gpu && is_gpu(array.device_type());
  if (!is_host(array.device_type()) && !may_be_there)
    fail("{}: it lies on a device (DLPack's number {}), expected memory of the host, such as x.cpu() has",
         place, array.device_type());
  if (!is_dense(array)) {
    std::vector<int64_t> strides;
    for (size_t i = 0; i < array.ndim(); ++i) strides.push_back(array.stride(i));
    fail(
        "{}: {} with strides {} is not dense and row-major; nothing is copied unasked: give "
        "numpy.ascontiguousarray(x) or x.contiguous()",
        place, describe(*type, shape_of(array)), strides);
  }
  return *type;
}

bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && first < second + static_cast<uintptr_t>(b_bytes) &&
         second < first + static_cast<uintptr_t>(a_bytes);
}

}  // namespace

nb::dlpack::dtype dlpack_type(DType type) {
  const auto row = std::ranges::find(kTypes, type, &TypeRow::type);
  return {static_cast<uint8_t>(row->code), row->bits, 1};
}

std::optional<DType> type_of(nb::dlpack::dtype type) {
  for (const TypeRow& row : kTypes)
    if (dlpack_type(row.type) == type) return row.type;
  return std::nullopt;
}

InputArrays input_arrays(const nb::dict& arrays, ArrayDevices devices) {
  InputArrays inputs;
  for (const auto& [key, value] : arrays) {
    const auto name = nb::cast<std::string>(key);
    const std::string place = fmt::format("input '{}'", name);
    nb::ndarray<nb::ro> array;
    if (!nb::try_cast(value, array, false)) fail_no_array(place, value);
    const DType type = checked_type(array, place, devices);
    inputs.tensors.push_back({name, type, shape_of(array), array.data(), is_gpu(array.device_type())});
    inputs.owners.push_back(std::move(array));
  }
  return inputs;
}

OutputArray output_array(const std::string& name, nb::handle array, ArrayDevices devices) {
  const std::string place = fmt::format("output '{}'", name);
  OutputArray output;
  if (!nb::try_cast(array, output.owner, false)) {
    nb::ndarray<nb::ro> readable;
    if (nb::try_cast(array, readable, false)) fail("{}: this array is read-only", place);
    fail_no_array(place, array);
  }
  output.dtype = checked_type(output.owner, place, devices);
  output.on_device = is_gpu(output.owner.device_type());
  output.shape = shape_of(output.owner);
  output.name = name;
  return output;
}

void require_apart(const std::vector<InputTensor>& inputs, const std::vector<OutputArray>& outputs) {
  const auto check = [](const OutputArray& output, const void* data, int64_t bytes, const char* kind,
                        const std::string& name) {
    if (overlap(output.owner.data(), output.bytes(), data, bytes))
      fail("output '{}': its memory is also that of {} '{}'", output.name, kind, name);
  };
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const InputTensor& input : inputs)
      check(outputs[i], input.data, count_elements(input.shape) * size_of(input.dtype), "input", input.name);
    for (size_t j = 0; j < i; ++j)
      check(outputs[i], outputs[j].owner.data(), outputs[j].bytes(), "output", outputs[j].name);
  }
}

}  // namespace smelt::python
