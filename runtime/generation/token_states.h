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
/// sentence so far, f32[slots], and the slot in which each place of
/// a row lies, i32[slots,capacity].
inline constexpr std::string_view kBeamSums = "beams.sums", kBeamRows = "beams.rows";
/// The best continuations of each sentence, the best first: what they add up to from there, f32, and, i32,
/// the beam that goes on and its token; [slots,kCandidateRuns,kBeamCandidates], role stream, at the place of
/// the new token modulo kCandidateRuns.
inline constexpr std::string_view kCandidateSums = "beams.candidate_sums",
                                  kCandidateBeams = "beams.candidate_beams",
                                  kCandidateTokens = "beams.candidate_tokens";
inline constexpr int64_t kBeamCandidates = 32, kCandidateRuns = 16, kMostBeamsAhead = 16, kEndTokens = 8;

/// Tokens of a row that are held back until a place, and those that are forced at one.
inline constexpr int64_t kHeldBackTokens = 16, kForcedTokens = 2;

}  // namespace smelt
