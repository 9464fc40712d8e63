// Any bytes as a quantization_config, a zero byte, and a safetensors file: either an Error, or tensors whose
// parts lie inside the file.
#include <algorithm>
#include <span>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/engine/weights/packed/quantization.h"
#include "runtime/engine/weights/safetensors.h"

namespace {

constexpr int64_t kMostElements = 1 << 16;

void read_all(const std::vector<smelt::TensorView>& tensors) {
  for (const smelt::TensorView& tensor : tensors) {
    if (!tensor.source || tensor.elements() > kMostElements) continue;
    try {
      smelt::read_floats(tensor);
    } catch (const smelt::Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto end = std::ranges::find(bytes, std::byte{0}) - bytes.begin();
  const std::string_view settings(reinterpret_cast<const char*>(data), static_cast<size_t>(end));
  if (settings.size() == size) return 0;
  try {
    const smelt::Json config = {{"quantization_config", smelt::parse_json(settings, "config")}};
    const auto file = bytes.subspan(static_cast<size_t>(end) + 1);
    read_all(smelt::unpack_quantized(smelt::parse_safetensors(file, "fuzz").tensors, config, "fuzz").tensors);
  } catch (const smelt::Error&) {
  }
  return 0;
}
