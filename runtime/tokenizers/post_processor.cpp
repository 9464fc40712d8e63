#include "runtime/tokenizers/post_processor.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {
namespace {

EncodedPart part_of(const std::vector<int32_t>& ids, int32_t type_id) {
  EncodedPart part;
  part.encoding.ids = ids;
  part.encoding.type_ids.assign(ids.size(), type_id);
  part.encoding.offsets.assign(ids.size(), {});
  part.encoding.special_tokens_mask.assign(ids.size(), 1);
  part.encoding.attention_mask.assign(ids.size(), 1);
  part.blanks.assign(ids.size(), {});
  return part;
}

void set_type(Encoding& encoding, int32_t type_id) {
  std::fill(encoding.type_ids.begin(), encoding.type_ids.end(), type_id);
}

/// The space that was put before the first word is not in the text.
void trim_offsets(EncodedPart& part, bool add_prefix_space) {
  for (size_t i = 0; i < part.blanks.size(); ++i) {
    TextRange& range = part.encoding.offsets[i];
    auto [leading, trailing] = part.blanks[i];
    const bool first = i == 0 || range.begin == 0;
    if (first && add_prefix_space && leading == 1) leading = 0;
    if (leading > 0) range.begin = std::min(range.begin + leading, range.end);
    if (trailing > 0 && range.end >= trailing) range.end = std::max(range.end - trailing, range.begin);
  }
}

class TemplateProcessor : public PostProcessor {
 public:
  TemplateProcessor(std::vector<TemplatePiece> single, std::vector<TemplatePiece> pair)
      : single_(std::move(single)), pair_(std::move(pair)) {}

  void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const override {
    if (parts.size() > 2)
      fail("tokenizer: a template behind a post-processor that adds tokens has no meaning");
    std::vector<EncodedPart> result;
    for (const TemplatePiece& piece : parts.size() == 2 ? pair_ : single_) {
      if (piece.sequence < 0) {
        if (add_special_tokens) result.push_back(part_of(piece.ids, piece.type_id));
      } else if (static_cast<size_t>(piece.sequence) < parts.size()) {
        result.push_back(parts[static_cast<size_t>(piece.sequence)]);
        set_type(result.back().encoding, piece.type_id);
      }
    }
    parts = std::move(result);
  }

  size_t added_tokens(bool pair) const override {
    size_t count = 0;
    for (const TemplatePiece& piece : pair ? pair_ : single_) count += piece.ids.size();
    return count;
  }

 private:
  std::vector<TemplatePiece> single_, pair_;
};

class BertProcessor : public PostProcessor {
 public:
  BertProcessor(int32_t cls, int32_t sep) : cls_(cls), sep_(sep) {}

  void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const override {
    if (!add_special_tokens) return;
    std::vector<EncodedPart> result;
    result.push_back(part_of({cls_}, 0));
    for (size_t i = 0; i < parts.size(); ++i) {
      result.push_back(std::move(parts[i]));
      result.push_back(part_of({sep_}, i == 0 ? 0 : 1));
    }
    parts = std::move(result);
  }
  size_t added_tokens(bool pair) const override { return pair ? 3 : 2; }

 private:
  int32_t cls_, sep_;
};

class RobertaProcessor : public PostProcessor {
 public:
  RobertaProcessor(int32_t cls, int32_t sep, bool trim, bool add_prefix_space)
      : cls_(cls), sep_(sep), trim_(trim), add_prefix_space_(add_prefix_space) {}

  void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const override {
    std::vector<EncodedPart> result;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (trim_) trim_offsets(parts[i], add_prefix_space_);
      set_type(parts[i].encoding, 0);
      if (add_special_tokens) result.push_back(part_of({i == 0 ? cls_ : sep_}, 0));
      result.push_back(std::move(parts[i]));
      if (add_special_tokens) result.push_back(part_of({sep_}, 0));
    }
    parts = std::move(result);
  }
  size_t added_tokens(bool pair) const override { return pair ? 4 : 2; }
  bool trims() const override { return trim_; }

 private:
  int32_t cls_, sep_;
  bool trim_, add_prefix_space_;
};

class ByteLevelProcessor : public PostProcessor {
 public:
  ByteLevelProcessor(bool trim, bool add_prefix_space) : trim_(trim), add_prefix_space_(add_prefix_space) {}
  void process(std::vector<EncodedPart>& parts, bool) const override {
    for (EncodedPart& part : parts)
      if (trim_) trim_offsets(part, add_prefix_space_);
  }
  size_t added_tokens(bool) const override { return 0; }
  bool trims() const override { return trim_; }

 private:
  bool trim_, add_prefix_space_;
};

class SequenceProcessor : public PostProcessor {
 public:
  explicit SequenceProcessor(std::vector<std::unique_ptr<PostProcessor>> parts) : parts_(std::move(parts)) {}
  void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const override {
    for (const auto& part : parts_) part->process(parts, add_special_tokens);
  }
  size_t added_tokens(bool pair) const override {
    size_t count = 0;
    for (const auto& part : parts_) count += part->added_tokens(pair);
    return count;
  }
  bool trims() const override {
    return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->trims(); });
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

}  // namespace

std::unique_ptr<PostProcessor> template_processor(std::vector<TemplatePiece> single,
                                                  std::vector<TemplatePiece> pair) {
  return std::make_unique<TemplateProcessor>(std::move(single), std::move(pair));
}
std::unique_ptr<PostProcessor> bert_processor(int32_t cls, int32_t sep) {
  return std::make_unique<BertProcessor>(cls, sep);
}
std::unique_ptr<PostProcessor> roberta_processor(int32_t cls, int32_t sep, bool trim_offsets,
                                                 bool add_prefix_space) {
  return std::make_unique<RobertaProcessor>(cls, sep, trim_offsets, add_prefix_space);
}
std::unique_ptr<PostProcessor> byte_level_processor(bool trim_offsets, bool add_prefix_space) {
  return std::make_unique<ByteLevelProcessor>(trim_offsets, add_prefix_space);
}
std::unique_ptr<PostProcessor> sequence_processor(std::vector<std::unique_ptr<PostProcessor>> parts) {
  return std::make_unique<SequenceProcessor>(std::move(parts));
}

}  // namespace smelt
