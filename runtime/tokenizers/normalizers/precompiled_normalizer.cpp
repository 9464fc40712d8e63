#include <vector>

#include "runtime/tokenizers/normalizers/normalizer.h"
#include "runtime/tokenizers/unicode/unicode.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr size_t kLongestGrapheme = 5;

/// Hugging Face applies SentencePiece's rules to short graphemes as wholes, else to single code points; a
/// rule for the beginning of a grapheme replaces all of it.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap charsmap) : charsmap_(std::move(charsmap)) {}

  void normalize(AlignedText& text) const override {
    std::vector<Change> changes;
    changes.reserve(text.bytes.size());
    for (uint32_t at = 0; at < text.bytes.size();) {
      const uint32_t end = grapheme_end(text.bytes, at);
      const std::string_view grapheme = std::string_view(text.bytes).substr(at, end - at);
      if (grapheme.size() > kLongestGrapheme || !apply(grapheme, changes)) put_code_points(grapheme, changes);
      at = end;
    }
    TextEdit edit(text);
    for (const Change& change : changes) edit.put(change.value, change.change);
    edit.finish();
  }

 private:
  /// As for TextEdit.
  struct Change {
    char32_t value;
    int change;
  };

  void put_code_points(std::string_view text, std::vector<Change>& changes) const {
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = code_point_at(text, at);
      if (!apply(text.substr(at, c.bytes), changes)) changes.push_back({c.value, 0});
      at += c.bytes;
    }
  }

  bool apply(std::string_view text, std::vector<Change>& changes) const {
    const auto rule = charsmap_.shortest_rule(text);
    if (!rule) return false;
    auto more =
        static_cast<int>(count_code_points(rule->replacement)) - static_cast<int>(count_code_points(text));
    for (size_t at = 0; at < rule->replacement.size();) {
      const CodePoint c = code_point_at(rule->replacement, at);
      changes.push_back({c.value, 0});
      at += c.bytes;
    }
    // The last are new, or the last takes the place of what is gone, were it one of an earlier rule.
    for (size_t i = changes.size(); more > 0; --more) changes[--i].change = 1;
    if (more < 0 && !changes.empty()) changes.back().change += more;
    return true;
  }

  Charsmap charsmap_;
};

}  // namespace

std::unique_ptr<Normalizer> precompiled_normalizer(Charsmap charsmap) {
  return std::make_unique<PrecompiledNormalizer>(std::move(charsmap));
}

}  // namespace smelt
