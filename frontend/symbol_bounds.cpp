#include "frontend/symbol_bounds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>

#include "frontend/model_checks.h"
#include "runtime/base/error.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

/// The symbol besides B and T that the model has, and what it is.
struct OwnSymbol {
  std::string_view name, meaning;
};

OwnSymbol own_symbol(const TransformerSpec& spec) {
  if (has_both(spec)) return {"S", ", S (length of the source)"};
  if (spec.head.kind == HeadKind::choices) return {"C", ", C (number of choices)"};
  return {};
}

void check_bound(const Symbols::Bound& bound, const OwnSymbol& own) {
  const std::string name = fmt::format("{}", fmt::join(bound.factors, "*"));
  for (const std::string& factor : bound.factors)
    if (factor != "B" && factor != "T" && factor != own.name)
      fail("bound {} <= {}: there is no symbol {}; expected B (batch), T (length){} or a product of them",
           name, bound.upper, factor, own.meaning);
  if (bound.factors.empty() || bound.upper < 1)
    fail("bound {} <= {}: expected at least 1", name, bound.upper);
}

constexpr int64_t kUsualChoices = 4;

}  // namespace

void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols) {
  const int64_t longest = spec.max_positions > 0 ? spec.max_positions : 512;
  std::map<std::string, int64_t> upper = {{"B", 8}};
  if (!has_patches(spec)) upper["T"] = longest;
  if (has_both(spec)) upper["S"] = longest;
  if (spec.head.kind == HeadKind::choices) upper["C"] = kUsualChoices;
  for (const Symbols::Bound& bound : options.bounds) {
    check_bound(bound, own_symbol(spec));
    if (bound.factors.size() == 1 && upper.contains(bound.factors[0])) upper[bound.factors[0]] = bound.upper;
  }
  for (const auto& [name, most] : upper) {
    if (name != "B" && name != "C" && spec.positions.kind == PositionKind::learned &&
        most > spec.max_positions)
      fail("bound {} <= {}: the model has {} positions; give {} <= {}", name, most, spec.max_positions, name,
           spec.max_positions);
    symbols.bound({name}, most);
  }
  for (const Symbols::Bound& bound : options.bounds)
    if (bound.factors.size() > 1) symbols.bound(bound.factors, bound.upper);
}

/// Half a window more of memory buys runs of many tokens, so that prompts are read fast. With same_bits a key
/// has the number of its token, as in training, and not that of its place in a ring.
std::optional<RingBounds> ring_bounds(const TransformerSpec& spec, const BuildOptions& options,
                                      const Symbols& symbols) {
  constexpr int64_t kShortestRun = 16, kLongestRun = 512;
  const int64_t window = spec.attention.window;
  if (window == 0 || options.cache_pages > 0 || options.same_bits) return std::nullopt;
  const auto half = static_cast<uint64_t>((window + 1) / 2);
  RingBounds rings{.run = std::clamp(static_cast<int64_t>(std::bit_ceil(half)), kShortestRun, kLongestRun)};
  rings.places = window - 1 + rings.run;
  if (rings.places >= symbols.upper(Dim::symbol("T"))) return std::nullopt;
  return rings;
}

void bound_runs(const RingBounds& rings, Symbols& symbols) {
  symbols.bound({"R"}, rings.run);
  const std::vector<Symbols::Bound> bounds = symbols.bounds();
  for (Symbols::Bound bound : bounds) {
    if (bound.factors.size() < 2 || std::ranges::count(bound.factors, "T") == 0) continue;
    std::ranges::replace(bound.factors, "T", "R");
    symbols.bound(bound.factors, bound.upper);
  }
}

void bound_beams(Symbols& symbols) {
  const int64_t rows = symbols.upper(Dim::symbol("B"));
  symbols.bound({"N"}, rows), symbols.bound({"K"}, std::min(rows, kMostBeamsAhead));
  symbols.bound({"N", "K"}, rows);
}

void bound_run_tokens(int64_t step_tokens, Symbols& symbols) {
  const int64_t tokens = std::max(step_tokens, symbols.upper(Dim::symbol("B")));
  symbols.bound({"M"}, tokens);
  symbols.bound({"Q"}, (tokens + kTileTokens - 1) / kTileTokens + kMostTiledPrompts);
}

}  // namespace smelt
