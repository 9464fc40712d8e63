#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/tokenizers/encoded_part.h"

namespace smelt {
namespace {

void cut(EncodedPart& part, size_t length, Side side) {
  const size_t size = part.encoding.size();
  if (length >= size) return;
  const size_t begin = side == Side::right ? 0 : size - length;
  part.encoding.keep(begin, begin + length);
  if (part.blanks.empty()) return;
  const auto first = part.blanks.begin() + static_cast<std::ptrdiff_t>(begin);
  part.blanks = std::vector<Blanks>(first, first + static_cast<std::ptrdiff_t>(length));
}

/// The shorter of a pair is kept whole as long as it is at most half.
void cut_longest(std::span<EncodedPart> pair, size_t max_length, Side side) {
  const bool first_shorter = pair[0].encoding.size() <= pair[1].encoding.size();
  EncodedPart &shorter = pair[first_shorter ? 0 : 1], &longer = pair[first_shorter ? 1 : 0];
  size_t few = shorter.encoding.size();
  size_t many = few > max_length ? few : std::max(few, max_length - few);
  if (few + many > max_length) {
    few = max_length / 2;
    many = few + max_length % 2;
  }
  cut(shorter, few, side);
  cut(longer, many, side);
}

}  // namespace

void truncate(std::span<EncodedPart> sequences, const Truncation& truncation, size_t max_length) {
  using Strategy = Truncation::Strategy;
  size_t total = 0;
  for (const EncodedPart& part : sequences) total += part.encoding.size();
  if (total <= max_length) return;
  if (max_length == 0) {
    for (EncodedPart& part : sequences) cut(part, 0, truncation.side);
    return;
  }
  if (truncation.strategy == Strategy::longest_first)
    return sequences.size() == 2 ? cut_longest(sequences, max_length, truncation.side)
                                 : cut(sequences[0], max_length, truncation.side);
  const size_t which = truncation.strategy == Strategy::only_second ? 1 : 0;
  if (which >= sequences.size())
    fail("tokenizer: truncation of the second sequence, and there is one sequence");
  const size_t size = sequences[which].encoding.size();
  if (size <= total - max_length)
    fail("tokenizer: sequence {} of {} tokens is too short to be cut by {} for a length of {}", which + 1,
         size, total - max_length, max_length);
  cut(sequences[which], size - (total - max_length), truncation.side);
}

}  // namespace smelt
