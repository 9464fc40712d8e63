#include "frontend/symbol_bounds.h"

#include <fmt/ranges.h>

#include <map>

#include "frontend/model_checks.h"
#include "runtime/error.h"
#include "runtime/generation/token_states.h"

namespace smelt {
namespace {

void check_bound(const Symbols::Bound& bound, bool source) {
  const std::string name = fmt::format("{}", fmt::join(bound.factors, "*"));
  for (const std::string& factor : bound.factors)
    if (factor != "B" && factor != "T" && !(source && factor == "S"))
      fail("bound {} <= {}: there is no symbol {}; expected B (batch), T (length){} or a product of them",
           name, bound.upper, factor, source ? ", S (length of the source)" : "");
  if (bound.factors.empty() || bound.upper < 1)
    fail("bound {} <= {}: expected at least 1", name, bound.upper);
}

}  // namespace

void bound_symbols(const TransformerSpec& spec, const BuildOptions& options, Symbols& symbols) {
  const int64_t longest = spec.max_positions > 0 ? spec.max_positions : 512;
  std::map<std::string, int64_t> upper = {{"B", 8}};
  if (!has_patches(spec)) upper["T"] = longest;
  if (has_both(spec)) upper["S"] = longest;
  for (const Symbols::Bound& bound : options.bounds) {
    check_bound(bound, has_both(spec));
    if (bound.factors.size() == 1 && upper.contains(bound.factors[0])) upper[bound.factors[0]] = bound.upper;
  }
  for (const auto& [name, most] : upper) {
    if (name != "B" && spec.positions.kind == PositionKind::learned && most > spec.max_positions)
      fail("bound {} <= {}: the model has {} positions; give {} <= {}", name, most, spec.max_positions, name,
           spec.max_positions);
    symbols.bound({name}, most);
  }
  for (const Symbols::Bound& bound : options.bounds)
    if (bound.factors.size() > 1) symbols.bound(bound.factors, bound.upper);
}

void bound_beams(Symbols& symbols) {
  const int64_t rows = symbols.upper(Dim::symbol("B"));
  symbols.bound({"N"}, rows), symbols.bound({"K"}, std::min(rows, kMostBeamsAhead));
  symbols.bound({"N", "K"}, rows);
}

}  // namespace smelt
