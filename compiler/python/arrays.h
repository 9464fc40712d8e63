// Arrays of other Python libraries as inputs and outputs of a session. They are accessed through DLPack or
// Python's buffer protocol, and read and written in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/tensor.h"

namespace smelt::python {

namespace nb = nanobind;

/// Returns DLPack's code of the type.
nb::dlpack::dtype dlpack_type(DType type);
/// Returns the type for DLPack's code; empty if plans cannot have values of this type.
std::optional<DType> type_of(nb::dlpack::dtype type);

/// Arrays that a session reads as inputs. Requires: the GIL is held when this is destroyed.
struct InputArrays {
  std::vector<nb::ndarray<nb::ro>> owners;  // keep the memory of `tensors` alive
  std::vector<InputTensor> tensors;
};
/// The devices that arrays may be on.
enum class ArrayDevices : uint8_t { host, host_and_gpu };

/// Converts a dict of arrays by the names of inputs. Throws Error with the name of the first input that is
/// not an array, is on another device, is not dense and row-major, or has a type that plans cannot have.
InputArrays input_arrays(const nb::dict& arrays, ArrayDevices devices = ArrayDevices::host);

/// An array that outputs may be written to.
struct OutputArray {
  nb::ndarray<> owner;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::string name;
  bool on_device = false;

  int64_t bytes() const { return count_elements(shape) * size_of(dtype); }
};
/// Converts the array for the output `name`. Throws Error as input_arrays does, and if the array is
/// read-only.
OutputArray output_array(const std::string& name, nb::handle array, ArrayDevices devices);

/// Throws Error if the memory of an output overlaps the memory of an input or of another output, because the
/// run would then overwrite inputs that it has not read yet, or results that it has written.
void require_apart(const std::vector<InputTensor>& inputs, const std::vector<OutputArray>& outputs);

}  // namespace smelt::python
