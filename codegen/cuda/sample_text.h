// The CUDA text of sample, in the order of compilation. It comes after the text of row_text.h.
#pragma once

#include <string_view>

namespace smelt {

extern const std::string_view kSampleWeightText;  // as runtime/sampling/token_weights.cpp
extern const std::string_view kSampleRowText;     // the scores of a row, and sums over them
extern const std::string_view kSampleBinsText;    // sums by their distance from the largest
extern const std::string_view kSampleListText;    // the words of some bins, sorted
extern const std::string_view kSampleSearchText;  // where a sum is reached
extern const std::string_view kSampleBestText;    // the same of few words, without bins
extern const std::string_view kSampleKernelText;

}  // namespace smelt
