// Arrays of other libraries, by DLPack or Python's buffer protocol; they are read and written in place.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/tensor.h"

namespace smelt::python {

namespace nb = nanobind;

/// The type as DLPack has it.
nb::dlpack::dtype dlpack_type(DType type);
/// Returns the type; nothing where no plan has values of this type.
std::optional<DType> type_of(nb::dlpack::dtype type);

/// Arrays whose memory a session reads, by the names of inputs. Destroyed with the GIL held.
struct InputArrays {
  std::vector<nb::ndarray<nb::ro>> owners;
  std::vector<InputTensor> tensors;
};
/// The devices that arrays may be on.
enum class ArrayDevices : uint8_t { host, host_and_gpu };

/// Throws Error naming the input that is no array, is on another device, is not dense or has a type that no
/// plan has.
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
/// The same for memory that is written to; a read-only array is an Error, too.
OutputArray output_array(const std::string& name, nb::handle array, ArrayDevices devices);

/// Throws Error where the memory of an output is also that of an input or of another output, because data
/// would be overwritten.
void require_apart(const std::vector<InputTensor>& inputs, const std::vector<OutputArray>& outputs);

}  // namespace smelt::python
