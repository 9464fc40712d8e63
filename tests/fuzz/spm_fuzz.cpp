// Any bytes as a SentencePiece model: an Error, or pieces and rules by which any text is divided into parts
// that cover it, as Marian's side and as T5.
#include <cstdint>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/tokenizers/sentencepiece/spm_parts.h"

namespace smelt {
namespace {

constexpr std::string_view kText = " a\u0301b  AB\u00AD日本 e\u0308\uFB01  K K";

void encode(const TokenizerParts& parts) {
  const EncodedPart part = encode_sequence(parts, kText, true, true);
  for (const TextRange& range : part.encoding.offsets)
    if (range.begin > range.end || range.end > kText.size()) std::abort();
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  try {
    const SpmFile file = parse_spm({reinterpret_cast<const char*>(data), size}, "fuzz");
    Json vocabulary = {{"</s>", 0}, {"<unk>", 1}};
    for (const SpmPiece& piece : file.pieces) vocabulary.emplace(piece.text, vocabulary.size());
    encode(marian_parts(file, file, vocabulary, "fuzz"));
    encode(t5_parts(file, "fuzz"));
  } catch (const Error&) {
  }
  return 0;
}
