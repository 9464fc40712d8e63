// Tokenizers out of SentencePiece's files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"
#include "runtime/tokenizers/sentencepiece/spm_file.h"
#include "runtime/tokenizers/tokenizer_parts.h"

namespace smelt {

/// SentencePiece's own normalization: the longest rule first, spaces joined and marked. `where` is for
/// messages.
std::unique_ptr<Normalizer> spm_normalizer(const SpmFile& file, std::string_view where);
/// SentencePiece's own division. Throws Error (invalid_file) if the model is not of the unigram type.
std::unique_ptr<TokenModel> spm_model(const SpmFile& file, std::string_view where);

/// Returns one side of Marian's pair: pieces of `file` by the ids of vocab.json, then `</s>`, with `>>xx<<`
/// kept whole. `decoded` is the file of the pieces for decoding.
TokenizerParts marian_parts(const SpmFile& file, const SpmFile& decoded, const Json& vocabulary,
                            std::string_view where);

/// Returns T5's spiece.model as Hugging Face reads it: with <extra_id_99> to <extra_id_0> after its pieces.
TokenizerParts t5_parts(const SpmFile& file, std::string_view where);

}  // namespace smelt
