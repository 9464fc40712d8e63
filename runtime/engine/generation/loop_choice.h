// Selection of the sampler: an entry that examines single tokens alone (@next, @next_beams), one that
// examines the text (@next_guided, @next_beams_guided), or the host.
#pragma once

#include <string>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/plan/decode_interface.h"
namespace smelt {

enum class SamplerKind : uint8_t { host, plain, guided };

/// The greatest lengths in a call.
struct LongestText {
  size_t tokens = 0;  // of a prompt and its new tokens, padding included
  size_t source = 0;  // as History::source
};

/// Returns the sampler for tokens that are drawn or the most probable, and for a beam search, among the
/// plan's entries. If the host samples although the plan has an entry, the reason is logged.
SamplerKind sampler_of_tokens(const DecodeInterface& decode, const GenerationOptions& options,
                              const LongestText& longest);
SamplerKind sampler_of_beams(const DecodeInterface& decode, const GenerationOptions& options,
                             const LongestText& longest);
/// Returns whether `refusal`, the result of a function below, is empty; logs it otherwise.
bool is_taken(const char* entry, const std::string& refusal);
/// Returns why @next and @next_pages do not support these options; empty if they do.
std::string plain_choice_refuses(const GenerationOptions& options);
/// Returns the same for @next_guided and @next_beams_guided, for the options that change scores, where texts
/// of at most `room` fit.
std::string guided_choice_refuses(const LongestText& room, const GenerationOptions& options,
                                  const LongestText& longest);
}  // namespace smelt
