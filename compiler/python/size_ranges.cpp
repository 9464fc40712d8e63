#include "compiler/python/size_ranges.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::python {
namespace {

constexpr int64_t kAbove = SizeRange::kAbove, kBelow = SizeRange::kBelow;

bool is_infinite(int64_t end) { return end == kAbove || end == kBelow; }

int64_t sum_of_ends(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? kBelow : kAbove;
  return std::max(sum, kBelow);
}

/// Zero times infinity is zero, because the value that an infinite end bounds is finite.
int64_t product_of_ends(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product))
    return (a < 0) == (b < 0) ? kAbove : kBelow;
  return std::max(product, kBelow);
}

int64_t quotient_of_end(int64_t end, int64_t divisor) {
  return is_infinite(end) ? end : end / divisor + (end % divisor > 0 ? 1 : 0);
}

SizeRange product_of(const SizeRange& a, const SizeRange& b) {
  const auto [low, high] = std::minmax({product_of_ends(a.low, b.low), product_of_ends(a.low, b.high),
                                        product_of_ends(a.high, b.low), product_of_ends(a.high, b.high)});
  return {low, high};
}

Dim size_of_atom(const Atom& atom) {
  return atom.inner ? ceil_div(*atom.inner, atom.divisor) : Dim::symbol(atom.name);
}

/// Returns the product of all atoms but number `except`, times the coefficient.
Dim product_without(const Dim::Term& term, size_t except) {
  Dim product = term.coefficient;
  for (size_t i = 0; i < term.atoms.size(); ++i)
    if (i != except) product *= size_of_atom(term.atoms[i]);
  return product;
}

/// A quotient in a term of a size.
struct Quotient {
  Dim::Term term;
  size_t atom;
};

std::optional<Quotient> first_quotient(const Dim& size) {
  for (const Dim::Term& term : size.terms())
    for (size_t i = 0; i < term.atoms.size(); ++i)
      if (term.atoms[i].inner) return Quotient{term, i};
  return std::nullopt;
}

}  // namespace

void SizeRanges::set(std::vector<std::string> factors, SizeRange range) {
  std::sort(factors.begin(), factors.end());
  ranges_[std::move(factors)] = range;
}

SizeRange SizeRanges::range(const Dim& size) const {
  SizeRange sum{0, 0};
  for (const Dim::Term& term : size.terms()) {
    const SizeRange each = range(term);
    sum = {sum_of_ends(sum.low, each.low), sum_of_ends(sum.high, each.high)};
  }
  return sum;
}

SizeRange SizeRanges::range(const Dim::Term& term) const {
  SizeRange product{1, 1};
  std::vector<std::string> factors;
  for (const Atom& atom : term.atoms) {
    product = product_of(product, range(atom));
    factors.push_back(atom.name);
  }
  if (const auto known = ranges_.find(factors); known != ranges_.end())
    product = {std::max(product.low, known->second.low), std::min(product.high, known->second.high)};
  return product_of(product, {term.coefficient, term.coefficient});
}

SizeRange SizeRanges::range(const Atom& atom) const {
  if (atom.inner) {
    const SizeRange inner = range(*atom.inner);
    return {quotient_of_end(inner.low, atom.divisor), quotient_of_end(inner.high, atom.divisor)};
  }
  if (const Extreme* extreme = extreme_of(atom.name)) return range(*extreme);
  const auto known = ranges_.find({atom.name});
  return known == ranges_.end() ? SizeRange{} : known->second;
}

SizeRange SizeRanges::range(const Extreme& extreme) const {
  const auto chosen = [&](int64_t a, int64_t b) { return extreme.largest ? std::max(a, b) : std::min(a, b); };
  SizeRange result = range(extreme.sizes.front());
  for (const Dim& size : extreme.sizes) {
    const SizeRange each = range(size);
    result = {chosen(result.low, each.low), chosen(result.high, each.high)};
  }
  return result;
}

/// Replaces quotients by what bounds them, x / n <= ceil_div(x, n) <= (x + n - 1) / n, and multiplies by n. A
/// whole number above -1 is at least 0.
bool SizeRanges::is_natural(const Dim& size) const try {
  Dim scaled = size;
  Dim scale = 1;
  if (range(size).low >= 0) return true;
  while (const auto found = first_quotient(scaled)) {
    const auto& [term, place] = *found;
    const Atom& atom = term.atoms[place];
    const Dim factor = product_without(term, place);
    const bool added = term.coefficient > 0;
    if (range(added ? factor : 0 - factor).low < 0) return false;
    const Dim bound = added ? *atom.inner : *atom.inner + (atom.divisor - 1);
    scaled = (scaled - factor * size_of_atom(atom)) * atom.divisor + factor * bound;
    scale *= atom.divisor;
  }
  return range(scaled + scale).low > 0;
} catch (const Error&) {
  return false;  // beyond 64 bits on the way
}

Dim SizeRanges::extreme(bool largest, const std::vector<Dim>& sizes) {
  const auto is_it = [&](const Dim& a) {
    return std::all_of(sizes.begin(), sizes.end(),
                       [&](const Dim& b) { return is_natural(largest ? a - b : b - a); });
  };
  if (const auto found = std::find_if(sizes.begin(), sizes.end(), is_it); found != sizes.end()) return *found;
  std::vector<std::string> texts;
  for (const Dim& size : sizes) texts.push_back(size.str());
  std::string name = fmt::format("{}({})", largest ? "max" : "min", fmt::join(texts, ", "));
  extremes_.insert_or_assign(name, Extreme{largest, sizes});
  return Dim::symbol(std::move(name));
}

const Extreme* SizeRanges::extreme_of(std::string_view symbol) const {
  const auto found = extremes_.find(symbol);
  return found == extremes_.end() ? nullptr : &found->second;
}

std::vector<std::string> SizeRanges::symbols(const Dim& size) const {
  std::vector<std::string> names;
  collect(size, names);
  return names;
}

void SizeRanges::collect(const Dim& size, std::vector<std::string>& names) const {
  const size_t before = names.size();
  size.collect_symbols(names);
  const std::vector<std::string> added(names.begin() + static_cast<ptrdiff_t>(before), names.end());
  for (const std::string& name : added)
    if (const Extreme* extreme = extreme_of(name))
      for (const Dim& each : extreme->sizes) collect(each, names);
}

}  // namespace smelt::python
