// Post-processors: the parts of a tokenizer that add special tokens around encoded sequences.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tokenizers/encoded_part.h"

namespace smelt {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Inserts parts with special tokens if `add_special_tokens`, and changes type ids and offsets. `parts` is
  /// one sequence or the two sequences of a pair, or, within a sequence_processor, the result of the
  /// post-processor before. The caller concatenates the resulting parts.
  virtual void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const = 0;
  /// Returns the number of special tokens that process() adds to one sequence, or to a pair if `pair`.
  virtual size_t added_tokens(bool pair) const = 0;
  /// Returns whether process() needs EncodedPart::blanks, to exclude white space from offsets.
  virtual bool trims() const { return false; }
};

/// An element of a template: a sequence, or special tokens.
struct TemplatePiece {
  int sequence = -1;  // number of the sequence: 0 or 1; -1: the special tokens `ids`
  std::vector<int32_t> ids;
  int32_t type_id = 0;
};

/// Arranges sequences and special tokens as in `single` for one sequence, and as in `pair` for two.
std::unique_ptr<PostProcessor> template_processor(std::vector<TemplatePiece> single,
                                                  std::vector<TemplatePiece> pair);
/// Arranges sequences A and B as `cls A sep` or `cls A sep B sep`. The type ids of B and of the last `sep`
/// are 1, and all others are 0.
std::unique_ptr<PostProcessor> bert_processor(int32_t cls, int32_t sep);
/// Arranges sequences A and B as `cls A sep` or `cls A sep sep B sep`. All type ids become 0. If
/// `trim_offsets`, the offsets of a token exclude the white space at its ends. `add_prefix_space`: the
/// pre-tokenizer has inserted a space before the first word; this space is not in the text, so it does not
/// move an offset.
std::unique_ptr<PostProcessor> roberta_processor(int32_t cls, int32_t sep, bool trim_offsets,
                                                 bool add_prefix_space);
/// Adds no tokens. The options are those of roberta_processor.
std::unique_ptr<PostProcessor> byte_level_processor(bool trim_offsets, bool add_prefix_space);
/// Applies post-processors one after another.
std::unique_ptr<PostProcessor> sequence_processor(std::vector<std::unique_ptr<PostProcessor>> parts);

}  // namespace smelt
