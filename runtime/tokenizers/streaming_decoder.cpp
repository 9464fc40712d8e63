#include "runtime/tokenizers/tokenizer.h"

namespace smelt {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";
// A character has at most four bytes, so what more tokens than that leave open is not going to become one.
constexpr size_t kMostHeld = 4;

}  // namespace

StreamingDecoder::StreamingDecoder(Tokenizer tokenizer, bool skip_special_tokens)
    : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}

std::string StreamingDecoder::decode(size_t begin) const {
  return tokenizer_.decode(std::span(ids_).subspan(begin), skip_special_tokens_);
}

std::string StreamingDecoder::push(int32_t id) {
  ids_.push_back(id);
  const std::string text = decode(0);
  const bool open = text.ends_with(kReplacement) && ids_.size() - context_ < kMostHeld;
  if (open || text.size() <= shown_.size()) return "";
  return show(text);
}

std::string StreamingDecoder::finish() {
  std::string last = ids_.size() > context_ ? show(decode(0)) : "";
  ids_.clear();
  context_ = 0;
  shown_.clear();
  return last;
}

/// What is new in the text; the tokens that made it are the context of the next ones.
std::string StreamingDecoder::show(const std::string& text) {
  std::string fresh = text.starts_with(shown_) ? text.substr(shown_.size()) : decode(context_);
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(context_));
  context_ = ids_.size();
  shown_ = decode(0);
  return fresh;
}

}  // namespace smelt
