// Any bytes as a safetensors file: either an Error, or tensors that lie inside the file.
#include <cstdlib>
#include <span>

#include "runtime/base/error.h"
#include "runtime/engine/weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    for (const smelt::TensorView& tensor : smelt::parse_safetensors(file, "fuzz").tensors) {
      const bool inside =
          tensor.bytes.empty() || (tensor.bytes.data() >= file.data() &&
                                   tensor.bytes.data() + tensor.bytes.size() <= file.data() + size);
      if (!inside) std::abort();
      if (smelt::is_float(tensor.dtype)) smelt::read_floats(tensor);
    }
  } catch (const smelt::Error&) {
  }
  return 0;
}
