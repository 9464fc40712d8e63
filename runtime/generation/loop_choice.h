// Who chooses tokens: an entry that looks at single tokens alone (@next, @next_beams), one that looks at the
// text (@next_guided, @next_beams_guided), or the host.
#pragma once

#include <string>

#include "runtime/generation/generation_options.h"
#include "runtime/session.h"

namespace smelt {

enum class Chooser : uint8_t { host, plain, guided };

/// The longest of what a call has.
struct LongestText {
  size_t tokens = 0;  // of a prompt and its new tokens, padding included
  size_t source = 0;  // as History::source
};

/// Of tokens that are drawn or the most probable, and of a beam search; the entries are those of the plan.
/// The log is told why the host chooses, where it does though the plan has an entry.
Chooser chooser_of_tokens(const Session& session, const GenerationOptions& options,
                          const LongestText& longest);
Chooser chooser_of_beams(const Session& session, const GenerationOptions& options, const LongestText& longest,
                         int64_t max_batch);

/// Whether there is no such refusal, as the functions below give; the log is told of one.
bool is_taken(const char* entry, const std::string& refusal);
/// Why @next and @next_pages do not all that these options ask for; empty where they do.
std::string plain_choice_refuses(const GenerationOptions& options);
/// The same of @next_guided and @next_beams_guided, of what becomes of scores.
std::string guided_choice_refuses(const Plan& plan, const GenerationOptions& options,
                                  const LongestText& longest);

}  // namespace smelt
