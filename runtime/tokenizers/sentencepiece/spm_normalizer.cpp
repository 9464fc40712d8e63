#include "runtime/tokenizers/sentencepiece/spm_parts.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr std::string_view kMeta = "▁";

class SpmNormalizer : public Normalizer {
 public:
  SpmNormalizer(const SpmFile& file, std::string_view where)
      : charsmap_(file.charsmap, where),
        add_prefix_(file.add_dummy_prefix),
        suffix_(file.treat_whitespace_as_suffix),
        remove_extra_(file.remove_extra_whitespaces),
        space_(file.escape_whitespaces ? kMeta : " ") {
    for (const SpmPiece& piece : file.pieces)
      if (piece.type == SpmPiece::user_defined) add_kept(piece.text);
  }

  void normalize(AlignedText& text) const override {
    const std::string_view bytes = text.bytes;
    AlignedText next;
    uint32_t at = 0;
    while (remove_extra_ && at < bytes.size()) {
      const Step step = step_at(bytes, at);
      if (step.text != " ") break;
      at += step.length;
    }
    if (at < bytes.size()) {
      if (add_prefix_ && !suffix_) next.append(space_, text.source[at]);
      append_steps(text, at, next);
      trim_end(next);
      if (add_prefix_ && suffix_ && !next.source.empty()) next.append(space_, next.source.back());
    }
    text = std::move(next);
  }

 private:
  /// The next part of a text, and its replacement.
  struct Step {
    std::string_view text;
    uint32_t length;
  };

  void add_kept(const std::string& piece) {
    const uint32_t node = kept_.insert(piece);
    kept_ends_.resize(std::max<size_t>(kept_ends_.size(), kept_.nodes()));
    kept_ends_[node] = true;
  }

  Step step_at(std::string_view bytes, uint32_t at) const {
    const std::string_view rest = bytes.substr(at);
    uint32_t kept = 0, node = ByteTrie::kRoot;
    for (uint32_t i = 0; !kept_ends_.empty() && i < rest.size(); ++i) {
      node = kept_.child(node, rest[i]);
      if (node == ByteTrie::kNone) break;
      if (kept_ends_[node]) kept = i + 1;
    }
    if (kept > 0) return {rest.substr(0, kept), kept};
    if (const auto rule = charsmap_.longest_rule(rest)) return {rule->replacement, rule->length};
    const uint32_t length = code_point_at(bytes, at).bytes;
    return {rest.substr(0, length), length};
  }

  void append_steps(const AlignedText& text, uint32_t at, AlignedText& next) const {
    bool behind_space = remove_extra_;
    while (at < text.bytes.size()) {
      const Step step = step_at(text.bytes, at);
      std::string_view part = step.text;
      while (behind_space && part.starts_with(' ')) part.remove_prefix(1);
      const Span origin{text.source[at].begin, text.source[at + step.length - 1].end};
      for (const char c : part) next.append(c == ' ' ? space_ : std::string_view(&c, 1), origin);
      if (!part.empty()) behind_space = part.ends_with(' ');
      if (!remove_extra_) behind_space = false;
      at += step.length;
    }
  }

  void trim_end(AlignedText& text) const {
    while (remove_extra_ && text.bytes.ends_with(space_)) {
      text.bytes.resize(text.bytes.size() - space_.size());
      text.source.resize(text.bytes.size());
    }
  }

  Charsmap charsmap_;
  ByteTrie kept_;  // pieces of the user, which no rule changes
  std::vector<bool> kept_ends_;
  bool add_prefix_, suffix_, remove_extra_;
  std::string_view space_;
};

}  // namespace

std::unique_ptr<Normalizer> spm_normalizer(const SpmFile& file, std::string_view where) {
  return std::make_unique<SpmNormalizer>(file, where);
}

}  // namespace smelt
