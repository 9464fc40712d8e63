// Any bytes as a GGUF file: either an Error, or a model and a tokenizer whose tensors lie inside the file.
#include <span>

#include "frontend/hugging_face.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_model.h"
#include "runtime/tokenizers/gguf_tokenizer.h"

namespace {

constexpr int64_t kMostElements = 1 << 16;

template <typename Call>
void allow_errors(Call call) {
  try {
    call();
  } catch (const smelt::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  allow_errors([&] {
    const smelt::GgufContents contents = smelt::parse_gguf(file, "fuzz");
    allow_errors([&] { smelt::spec_from_config(smelt::gguf_config(contents, "fuzz"), "fuzz"); });
    allow_errors([&] { smelt::gguf_tokenizer_json(contents.metadata, "fuzz"); });
    smelt::gguf_tokenizer_config(contents.metadata);
    for (const smelt::TensorView& tensor : smelt::gguf_model_tensors(contents, "fuzz"))
      if (tensor.elements() < kMostElements) allow_errors([&] { smelt::read_floats(tensor); });
  });
  return 0;
}
