// Contract of the entries that generate text (decode_contract.def), as constants: entry::decode,
// port::logits, state::next_token. The frontend builds entries by them, and the runtime runs entries by them.
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

/// Tokens of a page.
inline constexpr int64_t kPageTokens = 16;
/// Tokens of a row that are held back until a position, and those that are forced at one.
inline constexpr int64_t kHeldBackTokens = 16, kForcedTokens = 2;
/// Limits of beam searches: continuations of a sentence, positions at which they are kept, beams and end
/// tokens.
inline constexpr int64_t kBeamCandidates = 32, kCandidateRuns = 16, kMostBeamsAhead = 16, kEndTokens = 16;
/// If the best sum of a sentence is this or more in size, nothing is subtracted from its sums, because f32
/// sums of that size have lost their differences.
inline constexpr float kMostToCountFrom = 1e30F;

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
/// Elements of `text_numbers`: divisors of scores by penalties, and diverse_lambda.
enum TextNumber : uint8_t { kSourcePenalty, kTextPenalty, kRankPenalty, kTextNumbers };
/// Elements of `text_integers`: sizes of n-grams (0: none), whether NaN and infinite scores are replaced,
/// and, for beams, the number of continuations considered per beam.
enum TextInteger : uint8_t { kNgram, kSourceNgram, kRemovesInvalid, kKeptOfBeam, kTextIntegers };
/// Limits of the phrases of a request: those with a bias, of which kBiasesOfToken may end in one token, and
/// those that are banned. Each is given by its last token and by the tokens before it, the nearest first: a
/// token of the text, kAnyToken for any token, or -1 for none.
inline constexpr int64_t kBiasedPhrases = 64, kBiasesOfToken = 4, kBannedPhrases = 256, kPhraseTokens = 8,
                         kMostNgram = 16;
inline constexpr int32_t kAnyToken = -2;

/// Sizes that shapes of the contract refer to; those before row_pages belong to one run.
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

struct ContractShape {
  std::array<ContractExtent, 3> extents = {};
  size_t rank = 0;
  template <typename... Each>
  constexpr ContractShape(Each... each) : extents{each...}, rank(sizeof...(each)) {}  // NOLINT: a list
  /// Returns the shape for these sizes. Requires: they have all names of the shape.
  Shape of(const Extents& sizes) const;
  /// Returns whether a shape is this one, and adds the sizes that it gives to names without one.
  bool matches(const Shape& shape, Extents& sizes) const;
  /// Returns the shape for messages: "[B,16]"; names without a size stay.
  std::string str(const Extents& sizes) const;
};

/// Kind of a port, and whether a plan's entry must have it: not if it is `may_lack`, or an `unread` output,
/// which no host reads. Where the plan has the entry encode, a port `of_source` is in the place of input_ids.
enum class PortUse : uint8_t { input, of_source, may_lack, output, unread };
struct DecodePort {
  std::string_view name;
  PortUse use;
  DType dtype;
  ContractShape shape;
  std::string_view meaning;
  constexpr operator std::string_view() const { return name; }  // NOLINT: it is a name
  bool is_output() const { return use == PortUse::output || use == PortUse::unread; }
  /// Returns the input for a run.
  InputTensor tensor(std::vector<int64_t> sizes, const void* data) const {
    return {std::string(name), dtype, std::move(sizes), data};
  }
  /// Returns the output of a run. Requires: its type is f32.
  OutputBuffer buffer(std::span<float> memory) const {
    return {std::string(name), memory.data(), static_cast<int64_t>(memory.size_bytes())};
  }
};
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
/// The entry over whole sequences, without caches.
inline constexpr const char* logits = "logits";
}  // namespace entry

/// Ports and states that a plan with this entry needs.
struct EntryContract {
  std::string_view name;
  std::vector<const DecodePort*> ports;
  std::vector<const DecodeState*> states;
};
std::span<const EntryContract> decode_contract();

}  // namespace smelt
