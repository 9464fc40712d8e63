// The tokenizer in the metadata of a GGUF file, in the form of the files that Hugging Face's tokenizers have.
#pragma once

#include <string_view>

#include "runtime/system/json_text.h"

namespace smelt {

/// Returns whether the metadata have a tokenizer.
bool has_gguf_tokenizer(const Json& metadata);

/// Returns the object of a tokenizer.json. `metadata` are those of GgufContents. Throws Error (invalid_file)
/// naming `file` if the tokenizer is of a kind that is not supported, or its lists do not fit each other.
Json gguf_tokenizer_json(const Json& metadata, std::string_view file);

/// Returns the object of a tokenizer_config.json: the texts of special tokens, and the chat templates.
Json gguf_tokenizer_config(const Json& metadata);

}  // namespace smelt
