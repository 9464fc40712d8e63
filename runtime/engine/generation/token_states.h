// States of an entry that samples tokens itself (@next): the positions of its rows, and the sampled tokens.
// Rows are the first of the caches.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

inline constexpr std::string_view kNextToken = "next.token";      // i32[slots,1]: read by the next run
inline constexpr std::string_view kNextPast = "next.past";        // i32[slots]: tokens that the caches hold
inline constexpr std::string_view kNextBias = "next.bias";        // f32[slots,V]: added to the logits
inline constexpr std::string_view kNextPenalty = "next.penalty";  // f32[slots,V,1]: 0 of tokens not seen
/// i32 and f32 [slots,capacity + 1,1], role stream: each token at its position in the row, and its
/// log-probability by the model's own logits.
inline constexpr std::string_view kNewTokens = "next.tokens";
inline constexpr std::string_view kNewLogProbabilities = "next.log_probabilities";

/// States of beams: f32[slots], the sum of the log-probabilities of each row's tokens minus that of the best
/// continuation of its sentence so far, and i32[slots,capacity], the slot that holds each position of a row.
/// If the best sum is kMostToCountFrom or more in size, nothing is subtracted, because f32 sums of that size
/// have lost their differences.
inline constexpr std::string_view kBeamSums = "beams.sums", kBeamRows = "beams.rows";
inline constexpr float kMostToCountFrom = 1e30F;
/// The best continuations of each sentence, the best first: their sums from there, f32, and, i32, the beam
/// that continues and its token; [slots,kCandidateRuns,kBeamCandidates], role stream, at the place of the new
/// token modulo kCandidateRuns.
inline constexpr std::string_view kCandidateSums = "beams.candidate_sums",
                                  kCandidateBeams = "beams.candidate_beams",
                                  kCandidateTokens = "beams.candidate_tokens";
inline constexpr int64_t kBeamCandidates = 32, kCandidateRuns = 16, kMostBeamsAhead = 16, kEndTokens = 16;

/// Tokens of a row that are held back until a place, and those that are forced at one.
inline constexpr int64_t kHeldBackTokens = 16, kForcedTokens = 2;

/// States of the entries that examine the text (@next_guided, @next_beams_guided): the tokens of each row so
/// far, including padding, i32[slots,capacity + 1]; those of its source, i32[slots,source capacity]; and for
/// each token of the vocabulary a 1 for each of its kinds, i32[kTokenKinds,V].
inline constexpr std::string_view kTextTokens = "text.tokens", kTextSource = "text.source",
                                  kTextKinds = "text.kinds";
enum TokenKind : uint8_t {
  kIsEnd,
  kIsForcedFirst,
  kIsForcedLast,
  kIsSuppressed,
  kIsSuppressedFirst,
  kTokenKinds
};

/// Columns of `text_places`, one row per sequence: tokens of its text that the model does not read, tokens at
/// its beginning that repetition_penalty skips, the length of its source, and lengths of the text: from which
/// it may end, at which the first and the last tokens are forced and the first ones suppressed (-1: never),
/// and after which ends become likelier.
enum TextPlace : uint8_t {
  kNotRead,
  kPassedOver,
  kSourceLength,
  kEndsFrom,
  kForcedFirstAt,
  kForcedLastAt,
  kSuppressedFirstAt,
  kEndsGrowFrom,
  kTextPlaces
};
/// Elements of `text_numbers`, per request: divisors of scores by penalties, and diverse_lambda.
enum TextNumber : uint8_t { kSourcePenalty, kTextPenalty, kRankPenalty, kTextNumbers };
/// Elements of `text_integers`, per request: sizes of n-grams (0: none), whether NaN and infinite scores are
/// replaced, and, for beams, the number of continuations considered per beam.
enum TextInteger : uint8_t { kNgram, kSourceNgram, kRemovesInvalid, kKeptOfBeam, kTextIntegers };

/// Limits of the phrases of a request: those with a bias, of which kBiasesOfToken may end in one token, and
/// those that are banned. Each is given by its last token and by the tokens before it, the nearest first: a
/// token of the text, kAnyToken for any token, or -1 for none.
inline constexpr int64_t kBiasedPhrases = 64, kBiasesOfToken = 4, kBannedPhrases = 256, kPhraseTokens = 8,
                         kMostNgram = 16;
inline constexpr int32_t kAnyToken = -2;

}  // namespace smelt
