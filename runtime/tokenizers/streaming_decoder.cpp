#include <algorithm>
#include <utility>

#include "runtime/tokenizers/tokenizer.h"

namespace smelt {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";
// A character has at most four bytes, so bytes that are incomplete after four tokens are no character.
constexpr size_t kMostOpen = 4;
constexpr size_t kLongestWindow = 256;

}  // namespace

StreamingDecoder::StreamingDecoder(Tokenizer tokenizer, bool skip_special_tokens)
    : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}

StreamingDecoder::StreamingDecoder(Tokenizer tokenizer, std::vector<int32_t> kept)
    : tokenizer_(std::move(tokenizer)), skip_special_tokens_(false), kept_(std::move(kept)) {}

std::string StreamingDecoder::push(int32_t id) {
  if (kept_ && tokenizer_.is_special(id) && !std::ranges::count(*kept_, id)) return "";
  ids_.push_back(id);
  const std::string text = tokenizer_.decode(ids_, skip_special_tokens_);
  open_ = text.ends_with(kReplacement) ? open_ + 1 : 0;
  if (open_ == 0 || ids_.size() - context_ > kLongestWindow) return show_all(text);
  std::string_view known = text;
  do known.remove_suffix(kReplacement.size());
  while (open_ < kMostOpen && known.ends_with(kReplacement));
  return show(known);
}

std::string StreamingDecoder::finish() {
  std::string last = show_all(tokenizer_.decode(ids_, skip_special_tokens_));
  ids_.clear();
  context_ = open_ = 0;
  shown_.clear();
  return last;
}

/// Returns the new part of a text that begins like the one before; nothing if it does not.
std::string StreamingDecoder::show(std::string_view text) {
  if (text.size() <= shown_.size() || !text.starts_with(shown_)) return "";
  std::string fresh(text.substr(shown_.size()));
  shown_ = text;
  return fresh;
}

/// Returns the new text. Its tokens become the context of the next ones.
std::string StreamingDecoder::show_all(const std::string& text) {
  if (text.size() <= shown_.size()) return "";
  if (!text.starts_with(shown_)) {  // a character's bytes may be invalid with those after them
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(context_));
    shown_.clear();
    context_ = 0;
    return show_all(tokenizer_.decode(ids_, skip_special_tokens_));
  }
  std::string fresh = show(text);
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(context_));
  context_ = ids_.size();
  open_ = 0;
  shown_ = tokenizer_.decode(ids_, skip_special_tokens_);
  return fresh;
}

}  // namespace smelt
