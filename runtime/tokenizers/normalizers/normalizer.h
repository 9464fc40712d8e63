// Normalizers: the parts of a tokenizer that change a text before it is split into words. They behave like
// the normalizers of the same names in Hugging Face's tokenizers library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/tokenizers/aligned_text.h"
#include "runtime/tokenizers/normalizers/charsmap.h"
#include "runtime/tokenizers/patterns/pattern.h"
#include "runtime/tokenizers/unicode/unicode.h"

namespace smelt {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Replaces the text by the normalized text. The origins of its bytes (AlignedText::source) still refer to
  /// the original text.
  virtual void normalize(AlignedText& text) const = 0;
};

struct BertNormalizerOptions {
  bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
};

std::unique_ptr<Normalizer> bert_normalizer(const BertNormalizerOptions& options);
std::unique_ptr<Normalizer> form_normalizer(NormalForm form);
std::unique_ptr<Normalizer> lowercase_normalizer();
std::unique_ptr<Normalizer> strip_normalizer(bool left, bool right);
std::unique_ptr<Normalizer> strip_accents_normalizer();
std::unique_ptr<Normalizer> nmt_normalizer();
std::unique_ptr<Normalizer> prepend_normalizer(std::string text);
std::unique_ptr<Normalizer> replace_normalizer(std::unique_ptr<Pattern> pattern, std::string replacement);
std::unique_ptr<Normalizer> precompiled_normalizer(Charsmap charsmap);
std::unique_ptr<Normalizer> byte_level_normalizer();
std::unique_ptr<Normalizer> sequence_normalizer(std::vector<std::unique_ptr<Normalizer>> parts);

// Edits that several normalizers use.

/// Inserts `prefix` before a text that is not empty.
void prepend(AlignedText& text, std::string_view prefix);
void replace_matches(AlignedText& text, const Pattern& pattern, std::string_view replacement);
/// Removes the code points for which `keep` returns false.
void filter_code_points(AlignedText& text, const std::function<bool(char32_t)>& keep);

}  // namespace smelt
