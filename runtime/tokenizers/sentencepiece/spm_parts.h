// Creation of the parts of a tokenizer from model files of SentencePiece. `where` is the name of the file in
// messages.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/system/json_text.h"
#include "runtime/tokenizers/sentencepiece/spm_file.h"
#include "runtime/tokenizers/tokenizer_parts.h"

namespace smelt {

/// Creates the normalizer of SentencePiece with the options of the file. At each position, the normalizer
/// applies the longest matching rule of the file's charsmap. It joins spaces, and replaces them by U+2581.
std::unique_ptr<Normalizer> spm_normalizer(const SpmFile& file, std::string_view where);
/// Creates the model of SentencePiece. Throws Error (invalid_file) if the file is not of the unigram type.
std::unique_ptr<TokenModel> spm_model(const SpmFile& file, std::string_view where);

/// Creates a tokenizer for the source or target language of a Marian model. It divides text into the pieces
/// of `file`, takes their ids from `vocabulary` (vocab.json), and appends `</s>`. A language code `>>xx<<` is
/// one token. `decoded` is the model file of the source language. For both languages, the decoder
/// (marian_decoder) needs the pieces of this file.
TokenizerParts marian_parts(const SpmFile& file, const SpmFile& decoded, const Json& vocabulary,
                            std::string_view where);

/// Creates the tokenizer of T5 from its spiece.model like Hugging Face: the tokens <extra_id_99> to
/// <extra_id_0> are added after the pieces of the file.
TokenizerParts t5_parts(const SpmFile& file, std::string_view where);

}  // namespace smelt
