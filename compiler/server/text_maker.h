// TextMaker: converts requests about whole texts (text_request.h) to requests of a TextBatch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/shared/model.h"
#include "runtime/engine/serving/request.h"
#include "runtime/engine/serving/sentence_modules.h"
#include "runtime/engine/serving/text_request.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::server {

/// Settings of a TextMaker.
struct TextMakerOptions {
  int64_t vocabulary = 0;           // number of the model's token ids
  size_t capacity = 0;              // most tokens of a text
  bool adds_special_tokens = true;  // false: no text gets special tokens, even if its request asks for them
};

/// Thread-safe.
class TextMaker {
 public:
  /// `modules` has the prompts that requests select by name, and whether texts are converted to lower case.
  TextMaker(const cli::Model& model, SentenceModules modules, const TextMakerOptions& options);

  /// Makes one request per text or pair. Throws ApiError naming the field if a text is empty or has too many
  /// tokens, if no prompt has the name that the request gives, or if the model has no tokenizer for the
  /// texts.
  std::vector<Request> make(const TextRequest& request) const;
  /// Returns the text, in lower case if the model wants that.
  std::string cased(const std::string& text) const;

 private:
  std::string prompt_of(const TextRequest& request) const;
  Request make_one(const TextInput& input, const TextRequest& request, const std::string& prompt) const;
  Request make_of_text(const TextInput& input, const TextRequest& request, const std::string& prompt) const;
  EncodeOptions encode_options(const TextRequest& request) const;
  Encoding encoded(const TextInput& input, const TextRequest& request, const std::string& prompt) const;
  Encoding encoded_bytes(const TextInput& input, const TextRequest& request, const std::string& prompt) const;
  size_t most_tokens(const TextRequest& request) const;
  size_t prompt_tokens(const std::string& prompt, const TextRequest& request) const;

  std::optional<Tokenizer> tokenizer_;
  const SentenceModules modules_;
  const TextMakerOptions options_;
};

}  // namespace smelt::server
