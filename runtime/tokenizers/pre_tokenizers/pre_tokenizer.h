// Pre-tokenizers: they divide a normalized text into the pieces that a model sees one by one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/tokenizers/aligned_text.h"
#include "runtime/tokenizers/patterns/pattern.h"

namespace smelt {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Pieces that are tokens stay as they are.
  virtual void divide(PieceList& list) const = 0;
};

enum class PrependScheme { always, first, never };

std::unique_ptr<PreTokenizer> split_pre_tokenizer(std::unique_ptr<Pattern> pattern, SplitBehavior behavior,
                                                  bool invert = false);
std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(bool add_prefix_space, bool use_regex);
/// Spaces become `replacement`, before which the text is split.
std::unique_ptr<PreTokenizer> metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme,
                                                      bool split);
std::unique_ptr<PreTokenizer> fixed_length_pre_tokenizer(uint32_t code_points);
std::unique_ptr<PreTokenizer> sequence_pre_tokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts);

}  // namespace smelt
