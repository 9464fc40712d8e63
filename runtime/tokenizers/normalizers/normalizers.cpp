#include "runtime/tokenizers/normalizers/normalizer.h"

#include "runtime/tokenizers/byte_alphabet.h"
#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalForm form) : form_(form) {}
  void normalize(AlignedText& text) const override { normalize_form(text, form_); }

 private:
  NormalForm form_;
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  void normalize(AlignedText& text) const override {
    uint32_t begin = 0, end = static_cast<uint32_t>(text.bytes.size());
    while (left_ && begin < end && is(code_point_at(text.bytes, begin).value, kWhitespace))
      begin += code_point_at(text.bytes, begin).bytes;
    while (right_ && begin < end && is(code_point_before(text.bytes, end).value, kWhitespace))
      end -= code_point_before(text.bytes, end).bytes;
    if (end - begin < text.bytes.size()) text = text.slice({begin, end});
  }

 private:
  bool left_, right_;
};

class StripAccentsNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    filter_code_points(text, [](char32_t c) { return !is(c, kMark); });
  }
};

/// The clean-up that SentencePiece's "nmt" rules do.
class NmtNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    filter_code_points(text, [](char32_t c) { return !is_control(c); });
    TextEdit edit(text);
    for (size_t at = 0; at < text.bytes.size();) {
      const CodePoint c = code_point_at(text.bytes, at);
      edit.put(is_space(c.value) ? U' ' : c.value, 0);
      at += c.bytes;
    }
    edit.finish();
  }

 private:
  static bool is_control(char32_t c) {
    return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  static bool is_space(char32_t c) {
    constexpr std::u32string_view kSpaces = U"\t\n\f\r\u1680\u2028\u2029\u2581\uFEFF\uFFFD";
    return (c >= 0x200B && c <= 0x200F) || kSpaces.find(c) != std::u32string_view::npos;
  }
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void normalize(AlignedText& text) const override { prepend(text, prefix_); }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::unique_ptr<Pattern> pattern, std::string replacement)
      : pattern_(std::move(pattern)), replacement_(std::move(replacement)) {}
  void normalize(AlignedText& text) const override {
    if (!text.bytes.empty()) replace_matches(text, *pattern_, replacement_);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string replacement_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void normalize(AlignedText& text) const override {
    AlignedText next;
    append_byte_level(text, {0, static_cast<uint32_t>(text.bytes.size())}, next);
    text = std::move(next);
  }
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> parts) : parts_(std::move(parts)) {}
  void normalize(AlignedText& text) const override {
    for (const auto& part : parts_) part->normalize(text);
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

}  // namespace

std::unique_ptr<Normalizer> form_normalizer(NormalForm form) {
  return std::make_unique<FormNormalizer>(form);
}
std::unique_ptr<Normalizer> strip_normalizer(bool left, bool right) {
  return std::make_unique<StripNormalizer>(left, right);
}
std::unique_ptr<Normalizer> strip_accents_normalizer() { return std::make_unique<StripAccentsNormalizer>(); }
std::unique_ptr<Normalizer> nmt_normalizer() { return std::make_unique<NmtNormalizer>(); }
std::unique_ptr<Normalizer> prepend_normalizer(std::string text) {
  return std::make_unique<PrependNormalizer>(std::move(text));
}
std::unique_ptr<Normalizer> replace_normalizer(std::unique_ptr<Pattern> pattern, std::string replacement) {
  return std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(replacement));
}
std::unique_ptr<Normalizer> byte_level_normalizer() { return std::make_unique<ByteLevelNormalizer>(); }
std::unique_ptr<Normalizer> sequence_normalizer(std::vector<std::unique_ptr<Normalizer>> parts) {
  return std::make_unique<SequenceNormalizer>(std::move(parts));
}

}  // namespace smelt
