#include "runtime/tokenizers/normalizers/normalizer.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

struct Range {
  char32_t first, last;
};

/// Blocks of Chinese characters, as BERT counts them.
constexpr Range kChinese[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                              {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};

bool is_chinese(char32_t c) {
  for (const Range& range : kChinese)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

/// Calls put(edit, code point) for every code point of the text.
template <typename Put>
void edit_each(AlignedText& text, Put put) {
  TextEdit edit(text);
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = code_point_at(text.bytes, at);
    put(edit, c.value);
    at += c.bytes;
  }
  edit.finish();
}

void clean(AlignedText& text) {
  filter_code_points(text, [](char32_t c) { return !is(c, kBertDropped); });
  edit_each(text, [](TextEdit& edit, char32_t c) { edit.put(is(c, kWhitespace) ? U' ' : c, 0); });
}

void space_chinese(AlignedText& text) {
  if (is_ascii(text.bytes)) return;
  edit_each(text, [](TextEdit& edit, char32_t c) {
    if (!is_chinese(c)) return edit.put(c, 0);
    edit.put(U' ', 0);
    edit.put(c, 1);
    edit.put(U' ', 1);
  });
}

void lower(AlignedText& text) {
  edit_each(text, [](TextEdit& edit, char32_t c) {
    char32_t place[2];
    const std::u32string_view small = lower_case(c, place);
    for (size_t i = 0; i < small.size(); ++i) edit.put(small[i], i > 0 ? 1 : 0);
  });
}

class LowercaseNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override { lower(text); }
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options) : options_(options) {}

  void normalize(AlignedText& text) const override {
    if (options_.clean_text) clean(text);
    if (options_.handle_chinese_chars) space_chinese(text);
    if (options_.strip_accents) {
      normalize_form(text, NormalForm::nfd);
      if (!is_ascii(text.bytes)) filter_code_points(text, [](char32_t c) { return !is(c, kAccent); });
    }
    if (options_.lowercase) lower(text);
  }

 private:
  BertNormalizerOptions options_;
};

}  // namespace

std::unique_ptr<Normalizer> bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}
std::unique_ptr<Normalizer> lowercase_normalizer() { return std::make_unique<LowercaseNormalizer>(); }

}  // namespace smelt
