// Pre-tokenizers: the parts of a tokenizer that divide a normalized text into pieces, such as words. The
// model converts each piece to tokens.
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
  /// Divides the pieces of the list, and may change their text. Pieces that are added tokens (tokens that the
  /// tokenizer finds before this step) do not change.
  virtual void divide(PieceList& list) const = 0;
};

enum class PrependScheme { always, first, never };

/// Splits pieces at the matches of a pattern (split_pieces in pattern.h).
std::unique_ptr<PreTokenizer> split_pre_tokenizer(std::unique_ptr<Pattern> pattern, SplitBehavior behavior,
                                                  bool invert = false);
/// Replaces each byte by the character that GPT-2 uses for it. Before that, if `add_prefix_space`, inserts a
/// space before each piece that does not begin with one, and if `use_regex`, splits pieces by GPT-2's
/// pattern.
std::unique_ptr<PreTokenizer> byte_level_pre_tokenizer(bool add_prefix_space, bool use_regex);
/// Replaces spaces by `replacement`. If `split`, pieces are split before each `replacement`. If `scheme` is
/// `always`, `replacement` is inserted before each piece that begins with neither a space nor `replacement`;
/// if it is `first`, this applies only to the piece at the beginning of the text.
std::unique_ptr<PreTokenizer> metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme,
                                                      bool split);
/// Divides each piece into pieces of `code_points` code points; the last one may be shorter.
std::unique_ptr<PreTokenizer> fixed_length_pre_tokenizer(uint32_t code_points);
/// Applies pre-tokenizers one after another.
std::unique_ptr<PreTokenizer> sequence_pre_tokenizer(std::vector<std::unique_ptr<PreTokenizer>> parts);

}  // namespace smelt
