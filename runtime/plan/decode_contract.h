// Contract of the entries that generate text (decode_contract.def), as constants such as entry::decode,
// port::logits and state::next_token. They have the names, types and shapes by which the frontend builds
// these entries and the runtime runs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/tensor.h"
#include "runtime/plan/plan.h"
#include "runtime/sampling/draw_settings.h"

namespace smelt {

/// Tokens per page of the caches.
inline constexpr int64_t kPageTokens = 16;
/// Limits of a run of tiled_pages: queries per tile, and number of prompts of which the run reads more than
/// one token.
inline constexpr int64_t kTileTokens = 64, kMostTiledPrompts = 8;
/// Limits per row: tokens that are forbidden before a position (held_back), and tokens that are forced at a
/// position.
inline constexpr int64_t kHeldBackTokens = 16, kForcedTokens = 2;
/// Limits of a beam search: best continuations per sentence and position ("candidates"), number of last
/// positions whose candidates are stored, beams per sentence, and end tokens per sentence.
inline constexpr int64_t kBeamCandidates = 32, kCandidateRuns = 16, kMostBeamsAhead = 16, kEndTokens = 16;
/// Each beam of a sentence has a sum of log-probabilities. The sums are stored minus the best sum of the
/// sentence. If the magnitude of the best sum is at least this number, the sums are stored unchanged.
inline constexpr float kMostToCountFrom = 1e30F;

/// Properties of a token in a request's settings. Each is a row of the state text_kinds, which has one column
/// per token of the vocabulary.
enum TokenKind : uint8_t {
  kIsEnd,              // ends the text
  kIsForcedFirst,      // forced at kForcedFirstAt
  kIsForcedLast,       // forced at kForcedLastAt
  kIsSuppressed,       // forbidden at all positions
  kIsSuppressedFirst,  // forbidden at kSuppressedFirstAt
  kTokenKinds          // number of properties
};

/// Columns of the input `text_places`, which has one row per sequence. All are numbers of tokens.
enum TextPlace : uint8_t {
  kNotRead,            // tokens of the text that the model does not read, because they are padding
  kPassedOver,         // first tokens of the text that repetition_penalty ignores (padding)
  kSourceLength,       // length of the source text, such as the encoder's input
  kEndsFrom,           // least length of a text that may end
  kForcedFirstAt,      // length at which tokens of the kind kIsForcedFirst are forced; -1: never
  kForcedLastAt,       // length at which tokens of the kind kIsForcedLast are forced; -1: never
  kSuppressedFirstAt,  // length at which tokens of the kind kIsSuppressedFirst are forbidden; -1: never
  kEndsGrowFrom,       // length after which end tokens become more likely
  kTextPlaces
};
/// Elements of the input `text_numbers`. They are options of generation: 1 / encoder_repetition_penalty,
/// repetition_penalty, and diverse_lambda.
enum TextNumber : uint8_t { kSourcePenalty, kTextPenalty, kRankPenalty, kTextNumbers };
/// Elements of the input `text_integers`. kNgram: size of n-grams that may occur only once in the text; 0: no
/// limit. kSourceNgram: size of n-grams of the source text that the text may not contain; 0: no limit.
/// kRemovesInvalid: 1 if NaN and infinite scores are replaced, else 0. kKeptOfBeam: for beam search, the
/// number of continuations that are considered per beam.
enum TextInteger : uint8_t { kNgram, kSourceNgram, kRemovesInvalid, kKeptOfBeam, kTextIntegers };
/// Limits per request. A request has at most kBiasedPhrases phrases with a bias, of which at most
/// kBiasesOfToken end in the same token, and at most kBannedPhrases banned phrases. A phrase is specified by
/// its last token and by kPhraseTokens elements for the tokens before it, the nearest first: a token id,
/// kAnyToken for any token, or -1 for none. kMostNgram is the largest size of n-grams.
inline constexpr int64_t kBiasedPhrases = 64, kBiasesOfToken = 4, kBannedPhrases = 256, kPhraseTokens = 8,
                         kMostNgram = 16;
inline constexpr int32_t kAnyToken = -2;

/// Sizes that shapes of the contract refer to. The sizes that are listed before row_pages may differ between
/// entries. row_pages and the sizes listed after it are equal in all entries of a plan.
enum class Extent : uint8_t {
#define SMELT_DECODE_EXTENT(name) name,
#include "runtime/plan/decode_contract.def"
};
using Extents = std::map<Extent, Dim>;

/// An extent of a shape: `number`, or a named size plus `number`.
struct ContractExtent {
  int64_t number = 0;
  bool is_named = false;
  Extent name = {};
  constexpr ContractExtent(int64_t number = 0) : number(number) {}  // NOLINT: sizes are written as numbers
  constexpr ContractExtent(Extent name, int64_t more = 0)
      : number(more), is_named(true), name(name) {}  // NOLINT
};
constexpr ContractExtent operator+(Extent name, int64_t more) { return {name, more}; }

/// The shape of a port or state in the contract: up to three extents.
struct ContractShape {
  std::array<ContractExtent, 3> extents = {};
  size_t rank = 0;
  template <typename... Each>
  constexpr ContractShape(Each... each) : extents{each...}, rank(sizeof...(each)) {}  // NOLINT: a list
  /// Returns the shape for these sizes. Requires: `sizes` has every name of the shape.
  Shape of(const Extents& sizes) const;
  /// Returns whether `shape` is this shape for `sizes`. A name that `sizes` does not have gets the size in
  /// `shape`, which is added to `sizes`.
  bool matches(const Shape& shape, Extents& sizes) const;
  /// Returns the shape for messages, such as "[B,16]". A name without a size is printed as the name.
  std::string str(const Extents& sizes) const;
};

/// Kind of a port, and whether an entry must have it:
///   input      an input that the entry must have
///   of_source  an input that replaces input_ids if the plan has the entry encode; else it is absent
///   may_lack   an input that the entry may have
///   output     an output that the entry must have
///   unread     an output that the entry may have; the runtime does not read it
enum class PortUse : uint8_t { input, of_source, may_lack, output, unread };
/// An input or output in the contract. `meaning` is a description for messages.
struct DecodePort {
  std::string_view name;
  PortUse use;
  DType dtype;
  ContractShape shape;
  std::string_view meaning;
  constexpr operator std::string_view() const { return name; }  // NOLINT: it is a name
  bool is_output() const { return use == PortUse::output || use == PortUse::unread; }
  /// Returns the input for a run, with elements at `data`.
  InputTensor tensor(std::vector<int64_t> sizes, const void* data) const {
    return {std::string(name), dtype, std::move(sizes), data};
  }
  /// Returns the output for a run, which is written to `memory`. Requires: `dtype` is f32.
  OutputBuffer buffer(std::span<float> memory) const {
    return {std::string(name), memory.data(), static_cast<int64_t>(memory.size_bytes())};
  }
  /// Does the same for a port whose `dtype` is i32.
  OutputBuffer buffer(std::span<int32_t> memory) const {
    return {std::string(name), memory.data(), static_cast<int64_t>(memory.size_bytes())};
  }
};
/// A state in the contract. `meaning` is a description for messages.
struct DecodeState {
  std::string_view name;
  Role role;
  DType dtype;
  ContractShape shape;
  std::string_view meaning;
  constexpr operator std::string_view() const { return name; }  // NOLINT: it is a name
};

namespace contract_shapes {
using enum Extent;
#define SMELT_LIST(...) {__VA_ARGS__}
#define SMELT_DECODE_PORT(name, use, dtype, shape, meaning) \
  inline constexpr ContractShape port_##name = SMELT_LIST shape;
#define SMELT_DECODE_STATE(constant, name, role, dtype, shape, meaning) \
  inline constexpr ContractShape state_##constant = SMELT_LIST shape;
#include "runtime/plan/decode_contract.def"
}  // namespace contract_shapes

namespace port {
#define SMELT_DECODE_PORT(name, use, dtype, shape, meaning) \
  inline constexpr DecodePort name{#name, PortUse::use, DType::dtype, contract_shapes::port_##name, meaning};
#include "runtime/plan/decode_contract.def"
}  // namespace port

namespace state {
#define SMELT_DECODE_STATE(constant, name, role, dtype, shape, meaning)                                    \
  inline constexpr DecodeState constant{name, Role::role, DType::dtype, contract_shapes::state_##constant, \
                                        meaning};
#include "runtime/plan/decode_contract.def"
}  // namespace state

namespace entry {
#define SMELT_DECODE_ENTRY(name, ports, states) inline constexpr const char* name = #name;
#include "runtime/plan/decode_contract.def"
/// Name of the entry that computes scores over whole sequences, without caches.
inline constexpr const char* logits = "logits";
}  // namespace entry

/// Ports that the entry of this name has, and states that a plan with the entry has.
struct EntryContract {
  std::string_view name;
  std::vector<const DecodePort*> ports;
  std::vector<const DecodeState*> states;
};
/// Returns the contracts of all entries in decode_contract.def.
std::span<const EntryContract> decode_contract();

}  // namespace smelt
