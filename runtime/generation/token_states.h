// The states in which an entry that chooses tokens by itself (@next) finds where its rows are, and leaves
// what it has chosen. Rows are the first of the caches.
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt {

inline constexpr std::string_view kNextToken = "next.token";      // i32[slots,1]: read by the next run
inline constexpr std::string_view kNextPast = "next.past";        // i32[slots]: tokens that the caches hold
inline constexpr std::string_view kNextBias = "next.bias";        // f32[slots,V]: added to the logits
inline constexpr std::string_view kNextPenalty = "next.penalty";  // f32[slots,V,1]: 0 of tokens not seen
/// i32 and f32 [slots,capacity + 1,1], role stream: each token at its place in the row, and the logarithm of
/// its probability by the logits as the model gives them.
inline constexpr std::string_view kNewTokens = "next.tokens";
inline constexpr std::string_view kNewLogProbabilities = "next.log_probabilities";

/// Of beams: the sum of the logarithms of each row's tokens behind that of the best continuation of its
/// sentence so far, f32[slots], and the slot in which each place of a row lies, i32[slots,capacity]. A best
/// one that is not below kMostToCountFrom in size leaves sums as they are: f32 has swallowed what they add
/// up.
inline constexpr std::string_view kBeamSums = "beams.sums", kBeamRows = "beams.rows";
inline constexpr float kMostToCountFrom = 1e30F;
/// The best continuations of each sentence, the best first: what they add up to from there, f32, and, i32,
/// the beam that goes on and its token; [slots,kCandidateRuns,kBeamCandidates], role stream, at the place of
/// the new token modulo kCandidateRuns.
inline constexpr std::string_view kCandidateSums = "beams.candidate_sums",
                                  kCandidateBeams = "beams.candidate_beams",
                                  kCandidateTokens = "beams.candidate_tokens";
inline constexpr int64_t kBeamCandidates = 32, kCandidateRuns = 16, kMostBeamsAhead = 16, kEndTokens = 16;

/// Tokens of a row that are held back until a place, and those that are forced at one.
inline constexpr int64_t kHeldBackTokens = 16, kForcedTokens = 2;

/// Of the entries whose choice looks at the text (@next_guided, @next_beams_guided): the tokens of each row
/// so far, padding among them, i32[slots,capacity + 1]; those of its source, i32[slots,source capacity]; and,
/// of each token of the vocabulary, 1 for each kind that it is of, i32[kTokenKinds,V].
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

/// Of each row, the columns of `text_places`: tokens of its text that the model does not read, those at its
/// beginning that repetition_penalty passes over, the length of its source, and lengths of the text: from
/// which ends may come, at which the first and the last tokens are forced and the first ones suppressed (-1:
/// never), and behind which ends become likelier.
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
/// Of a request, `text_numbers`: what penalties divide scores by, and diverse_lambda.
enum TextNumber : uint8_t { kSourcePenalty, kTextPenalty, kRankPenalty, kTextNumbers };
/// Of a request, `text_integers`: sizes of n-grams (0: none), whether scores that are no numbers become some,
/// and, of beams, how many continuations of each are looked at.
enum TextInteger : uint8_t { kNgram, kSourceNgram, kRemovesInvalid, kKeptOfBeam, kTextIntegers };

/// Phrases that a request may have: those with a bias, of which so many may end in one token, and those that
/// are banned. Each is given by its last token and by the ones before it, the nearest first: one of the
/// text's tokens, or kAnyToken for one that has to be there, or -1 for one that has not.
inline constexpr int64_t kBiasedPhrases = 64, kBiasesOfToken = 4, kBannedPhrases = 256, kPhraseTokens = 8,
                         kMostNgram = 16;
inline constexpr int32_t kAnyToken = -2;

}  // namespace smelt
