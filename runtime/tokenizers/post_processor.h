// Post-processors: they add tokens around encoded sequences.
#pragma once

#include <memory>
#include <vector>

#include "runtime/tokenizers/encoded_part.h"

namespace smelt {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Adds tokens to `parts`. The first post-processor gets one sequence, or the two of a pair. The caller
  /// concatenates the parts afterwards.
  virtual void process(std::vector<EncodedPart>& parts, bool add_special_tokens) const = 0;
  virtual size_t added_tokens(bool pair) const = 0;
  /// Returns whether process reads EncodedPart::blanks.
  virtual bool trims() const { return false; }
};

/// A part of a template: a sequence, or special tokens.
struct TemplatePiece {
  int sequence = -1;  // 0, 1; -1: the ids
  std::vector<int32_t> ids;
  int32_t type_id = 0;
};

std::unique_ptr<PostProcessor> template_processor(std::vector<TemplatePiece> single,
                                                  std::vector<TemplatePiece> pair);
std::unique_ptr<PostProcessor> bert_processor(int32_t cls, int32_t sep);
/// Every type id becomes 0.
std::unique_ptr<PostProcessor> roberta_processor(int32_t cls, int32_t sep, bool trim_offsets,
                                                 bool add_prefix_space);
/// Adds no tokens. If `trim_offsets`, white space is left out of the offsets.
std::unique_ptr<PostProcessor> byte_level_processor(bool trim_offsets, bool add_prefix_space);
std::unique_ptr<PostProcessor> sequence_processor(std::vector<std::unique_ptr<PostProcessor>> parts);

}  // namespace smelt
