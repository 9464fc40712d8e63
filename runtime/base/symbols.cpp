// Symbols: bounds on symbols and on their products, and the largest value of a size under them.
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/dim.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int64_t kUnbounded = -1;  // also stands for a product of bounds beyond 64 bits

std::string joined(const std::vector<std::string>& names, std::string_view separator = "*") {
  return fmt::format("{}", fmt::join(names, separator));
}

int64_t checked(bool overflowed, int64_t value, const Dim& dim) {
  if (overflowed) fail("the size {} overflows 64 bits at the symbols' bounds: lower the bounds", dim.str());
  return value;
}

int64_t add(int64_t a, int64_t b, const Dim& dim) {
  int64_t sum = 0;
  const bool overflowed = __builtin_add_overflow(a, b, &sum);
  return checked(overflowed, sum, dim);
}

int64_t multiply(int64_t a, int64_t b, const Dim& dim) {
  int64_t product = 0;
  const bool overflowed = __builtin_mul_overflow(a, b, &product);
  return checked(overflowed, product, dim);
}

int64_t quotient_up(int64_t a, int64_t divisor) { return a / divisor + (a % divisor > 0 ? 1 : 0); }

/// The least product of bounds that together cover a multiset of symbols. A bound of a product may cover
/// more than is left where every symbol in it is at least 1.
class Cover {
 public:
  explicit Cover(const Symbols& symbols) : symbols_(symbols) {}

  int64_t least(const std::vector<std::string>& left) {
    if (left.empty()) return 1;
    if (const auto known = known_.find(left); known != known_.end()) return known->second;
    int64_t best = kUnbounded;
    for (const Symbols::Bound& bound : symbols_.bounds()) {
      if (!std::binary_search(bound.factors.begin(), bound.factors.end(), left[0])) continue;
      if (bound.factors.size() > 1 && std::ranges::any_of(bound.factors, [&](const std::string& name) {
            return symbols_.lower(name) == 0;
          }))
        continue;
      std::vector<std::string> rest;
      std::set_difference(left.begin(), left.end(), bound.factors.begin(), bound.factors.end(),
                          std::back_inserter(rest));
      const int64_t others = least(rest);
      int64_t product;
      if (others == kUnbounded || __builtin_mul_overflow(others, bound.upper, &product)) continue;
      if (best == kUnbounded || product < best) best = product;
    }
    return known_[left] = best;
  }

 private:
  const Symbols& symbols_;
  std::map<std::vector<std::string>, int64_t> known_;
};

/// Largest and smallest values of sizes. ceil_div counts as at least 0: its inside is a size.
class Range {
 public:
  explicit Range(const Symbols& symbols) : symbols_(symbols), cover_(symbols) {}

  int64_t upper(const Dim& dim) {
    int64_t sum = 0;
    for (const Dim::Term& term : dim.terms()) {
      const int64_t most = term.coefficient > 0 ? upper(term.atoms, dim) : lower(term.atoms, dim);
      sum = add(sum, multiply(term.coefficient, most, dim), dim);
    }
    const int64_t exact = upper_without_subtracted_division(dim);
    return exact == kUnbounded ? sum : std::min(sum, exact);
  }

  int64_t lower(const Dim& dim) {
    int64_t sum = 0;
    for (const Dim::Term& term : dim.terms()) {
      const int64_t least = term.coefficient > 0 ? lower(term.atoms, dim) : upper(term.atoms, dim);
      sum = add(sum, multiply(term.coefficient, least, dim), dim);
    }
    return sum;
  }

 private:
  int64_t lower(const std::vector<Atom>& atoms, const Dim& dim) {
    int64_t product = 1;
    for (const Atom& atom : atoms)
      product = multiply(product,
                         atom.inner ? std::max<int64_t>(0, quotient_up(lower(*atom.inner), atom.divisor))
                                    : symbols_.lower(atom.name),
                         dim);
    return product;
  }

  int64_t upper(const std::vector<Atom>& atoms, const Dim& dim) {
    std::vector<std::string> factors;
    int64_t divided = 1;
    for (const Atom& atom : atoms) {
      if (atom.inner)
        divided = multiply(divided, std::max<int64_t>(0, quotient_up(upper(*atom.inner), atom.divisor)), dim);
      else
        factors.push_back(atom.name);
    }
    const int64_t covered = cover_.least(factors);
    if (covered == kUnbounded) unbounded(factors, dim);
    const int64_t apart = multiply(divided, covered, dim);
    const int64_t together = upper_through_first_division(atoms);
    return together == kUnbounded ? apart : std::min(apart, together);
  }

  /// R ceil(x / d) <= (R x + (d - 1) R) / d: tighter where a product bound covers R x.
  int64_t upper_through_first_division(const std::vector<Atom>& atoms) {
    const auto divided = [](const Atom& a) { return a.inner != nullptr; };
    const auto first = std::find_if(atoms.begin(), atoms.end(), divided);
    const bool worthwhile = atoms.size() > 1 && std::count_if(atoms.begin(), atoms.end(), divided) <= 2;
    if (first == atoms.end() || !worthwhile) return kUnbounded;
    Dim rest = 1;
    for (auto i = atoms.begin(); i != atoms.end(); ++i)
      if (i != first) rest *= i->inner ? ceil_div(*i->inner, i->divisor) : Dim::symbol(i->name);
    try {
      return upper(rest * *first->inner + rest * (first->divisor - 1)) / first->divisor;
    } catch (const Error&) {
      return kUnbounded;  // beyond 64 bits on the way
    }
  }

  /// y - R ceil(x / d) <= (d y - R x) / d: tighter where x is a part of y, as in what is left of a division.
  int64_t upper_without_subtracted_division(const Dim& dim) {
    const std::vector<Dim::Term> terms = dim.terms();
    const auto divided = [](const Atom& a) { return a.inner != nullptr; };
    const auto subtracted = std::find_if(terms.begin(), terms.end(), [&](const Dim::Term& term) {
      return term.coefficient < 0 && std::count_if(term.atoms.begin(), term.atoms.end(), divided) == 1;
    });
    if (subtracted == terms.end()) return kUnbounded;
    const auto division = std::find_if(subtracted->atoms.begin(), subtracted->atoms.end(), divided);
    Dim whole = ceil_div(*division->inner, division->divisor), undivided = *division->inner;
    for (auto i = subtracted->atoms.begin(); i != subtracted->atoms.end(); ++i)
      if (i != division) whole *= Dim::symbol(i->name), undivided *= Dim::symbol(i->name);
    try {
      const Dim rest = dim - whole * subtracted->coefficient;
      const int64_t most = upper(rest * division->divisor + undivided * subtracted->coefficient);
      return most < 0 ? kUnbounded : most / division->divisor;
    } catch (const Error&) {
      return kUnbounded;  // beyond 64 bits on the way
    }
  }

  [[noreturn]] void unbounded(const std::vector<std::string>& factors, const Dim& dim) {
    for (const std::string& factor : factors)
      if (!symbols_.declared(factor))
        fail("the size {} has no upper bound: declare one for the symbol {} (such as {} <= 1024)", dim.str(),
             factor, factor);
    fail("the size {} overflows 64 bits at the symbols' bounds: lower the bounds", dim.str());
  }

  const Symbols& symbols_;
  Cover cover_;
};

/// The least values of a product's symbols must be allowed together.
void check_product(const Symbols& symbols, const Symbols::Bound& bound) {
  int64_t least = 1;
  for (const std::string& factor : bound.factors)
    if (__builtin_mul_overflow(least, symbols.lower(factor), &least)) least = kUnbounded;
  if (least == kUnbounded || least > bound.upper)
    fail("the bound {} <= {}: expected at least {}, the product of the symbols' least values",
         joined(bound.factors), bound.upper,
         least == kUnbounded ? std::string("more than 2^63") : std::to_string(least));
}

}  // namespace

void Symbols::bound(std::vector<std::string> factors, int64_t upper, int64_t lower) {
  if (factors.empty()) fail("a bound of {} names no symbol: expected at least one", upper);
  std::sort(factors.begin(), factors.end());
  if (upper < lower) fail("the bound {} <= {}: expected at least {}", joined(factors), upper, lower);
  if (lower < 0 || (lower != 1 && factors.size() != 1))
    fail("{} is at least {}: expected 1, or from 0 on for one symbol", joined(factors), lower);
  const auto known = std::ranges::find(bounds_, factors, &Bound::factors);
  Bound& bound = known == bounds_.end() ? bounds_.emplace_back() : *known;
  bound = {std::move(factors), upper, lower};
  for (const Bound& each : bounds_) check_product(*this, each);
}

int64_t Symbols::lower(std::string_view name) const {
  const auto found = std::find_if(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    return bound.factors.size() == 1 && bound.factors[0] == name;
  });
  return found == bounds_.end() ? 1 : found->lower;
}

bool Symbols::declared(std::string_view name) const {
  return std::any_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    return std::find(bound.factors.begin(), bound.factors.end(), name) != bound.factors.end();
  });
}

std::vector<std::string> Symbols::names() const {
  std::vector<std::string> names;
  for (const Bound& bound : bounds_)
    for (const std::string& factor : bound.factors)
      if (std::find(names.begin(), names.end(), factor) == names.end()) names.push_back(factor);
  return names;
}

int64_t Symbols::upper(const Dim& dim) const {
  if (const auto constant = dim.constant()) return *constant;
  return Range(*this).upper(dim);
}

std::string str(const Symbols::Bound& bound) {
  const std::string least = bound.lower == 1 ? "" : fmt::format("{} <= ", bound.lower);
  return fmt::format("{}{} <= {}", least, joined(bound.factors), bound.upper);
}

int64_t bytes_at_bounds(const Symbols& symbols, const Dim& elements, DType dtype) {
  return multiply(symbols.upper(elements), size_of(dtype), elements);
}

void Symbols::check(const SymbolValues& values) const {
  for (const auto& [name, value] : values) {
    if (!declared(name))
      fail("a value is given for {}: expected one of the symbols {}", name, joined(names(), ", "));
    if (value < lower(name))
      fail("{} = {}: expected at least {}{}", name, value, lower(name),
           lower(name) > 1 ? ", the bound that the plan was compiled for" : "");
  }
  for (const Bound& bound : bounds_) {
    int64_t product = 1;
    bool overflowed = false;
    for (const std::string& factor : bound.factors) {
      const auto value = values.find(factor);
      if (value == values.end()) fail("the symbol {} has no value: expected one", factor);
      overflowed |= __builtin_mul_overflow(product, value->second, &product);
    }
    if (overflowed || product > bound.upper)
      fail("{} = {}: expected at most {}, the bound that the plan was compiled for", joined(bound.factors),
           overflowed ? std::string("more than 2^63") : std::to_string(product), bound.upper);
  }
}

}  // namespace smelt
