// Selection of the sampler for given options: an entry (a function) of the plan, or the host. The entries
// @next and @next_beams change the score of a token by properties of that token alone: its bias, and whether
// it has occurred. The changes of @next_guided and @next_beams_guided may depend on all tokens of the text so
// far, such as its n-grams.
#pragma once

#include <string>

#include "runtime/engine/generation/generation_options.h"
#include "runtime/plan/decode_interface.h"
namespace smelt {

/// `host`: no entry, the host samples. `plain`: @next or @next_beams. `guided`: @next_guided or
/// @next_beams_guided.
enum class SamplerKind : uint8_t { host, plain, guided };

/// Greatest lengths among the prompts of a call.
struct LongestText {
  size_t tokens = 0;  // of a prompt with padding, plus its new tokens
  size_t source = 0;  // of the encoder's input; without an encoder, of the prompt
};

/// Return the sampler for a call without beams, and for a beam search. It is an entry if the plan has one
/// that supports the options and lengths. If the plan has an entry, but the host samples, the reason is
/// logged.
SamplerKind sampler_of_tokens(const DecodeInterface& decode, const GenerationOptions& options,
                              const LongestText& longest);
SamplerKind sampler_of_beams(const DecodeInterface& decode, const GenerationOptions& options,
                             const LongestText& longest);
/// Returns whether `refusal`, a result of the functions below for the entry, is empty. Logs it otherwise.
bool is_taken(const char* entry, const std::string& refusal);
/// Returns the reason why @next, or @next_pages for a paged KV cache, does not support the options; empty if
/// it does.
std::string plain_choice_refuses(const GenerationOptions& options);
/// Returns the reason why @next_beams, in a plan of `rows` rows, does not support the options of a beam
/// search; empty if it does.
std::string plain_search_refuses(const GenerationOptions& options, int64_t rows);
/// Returns the reason why @next_guided and @next_beams_guided do not support the options that change scores,
/// or the lengths `longest`; empty if they do. `room`: the lengths that the plan's states can hold.
std::string guided_choice_refuses(const LongestText& room, const GenerationOptions& options,
                                  const LongestText& longest);
}  // namespace smelt
