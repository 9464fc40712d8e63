#include "runtime/base/dim.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/base/error.h"

namespace smelt {
namespace {

// Sizes of tensors stay far below these; they keep hostile text from growing without end.
constexpr size_t kMostTerms = 4096;
constexpr size_t kMostFactors = 16;
// Refused as well, so that every coefficient has a negative.
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

[[noreturn]] void overflow() { fail("a size overflows 64 bits: expected sizes below 2^63"); }

int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum) || sum == kLeast) overflow();
  return sum;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product == kLeast) overflow();
  return product;
}

int64_t ceil_quotient(int64_t a, int64_t divisor) { return a / divisor + (a % divisor > 0 ? 1 : 0); }

/// Divides a term's coefficient; returns quotient and remainder. A number has a remainder from 1 - divisor to
/// 0, so that equal divisions look alike and round up to at least 0. Any other term is left whole as the
/// remainder unless it divides exactly.
std::pair<int64_t, int64_t> divided(const Dim::Term& term, int64_t divisor) {
  int64_t remainder = term.coefficient % divisor;
  if (remainder != 0 && !term.atoms.empty()) return {0, term.coefficient};
  if (remainder > 0) remainder -= divisor;
  return {(term.coefficient - remainder) / divisor, remainder};
}

/// Graded lexicographic order, the largest monomial first: divide() needs an order that products keep.
std::strong_ordering compare(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  if (a.size() != b.size()) return b.size() <=> a.size();
  return a <=> b;
}

/// Both lists in canonical order; `sign` multiplies b.
std::vector<Dim::Term> merge(const std::vector<Dim::Term>& a, const std::vector<Dim::Term>& b, int64_t sign) {
  std::vector<Dim::Term> sum;
  sum.reserve(a.size() + b.size());
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    const auto order = i == a.end()   ? std::strong_ordering::greater
                       : j == b.end() ? std::strong_ordering::less
                                      : compare(i->atoms, j->atoms);
    if (order < 0) {
      sum.push_back(*i++);
    } else if (order > 0) {
      sum.push_back({multiply(j->coefficient, sign), j->atoms});
      ++j;
    } else {
      const int64_t c = add(i->coefficient, multiply(j->coefficient, sign));
      if (c != 0) sum.push_back({c, i->atoms});
      ++i, ++j;
    }
  }
  return sum;
}

Dim::Term times(const Dim::Term& a, const Dim::Term& b) {
  Dim::Term product{multiply(a.coefficient, b.coefficient), {}};
  if (a.atoms.size() + b.atoms.size() > kMostFactors)
    fail("a size multiplies more than {} symbols: expected fewer", kMostFactors);
  product.atoms.reserve(a.atoms.size() + b.atoms.size());
  std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
             std::back_inserter(product.atoms));
  return product;
}

/// a / b where b's atoms are among a's and the coefficients divide.
std::optional<Dim::Term> quotient(const Dim::Term& a, const Dim::Term& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  if (!std::includes(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end())) return std::nullopt;
  return Dim::Term{a.coefficient / b.coefficient, {}};
}

}  // namespace

std::strong_ordering Atom::operator<=>(const Atom& other) const {
  if (const auto order = name <=> other.name; order != 0) return order;
  if (const auto order = divisor <=> other.divisor; order != 0) return order;
  if (!inner || !other.inner) return (inner != nullptr) <=> (other.inner != nullptr);
  if (inner == other.inner) return std::strong_ordering::equal;
  return *inner <=> *other.inner;
}

Dim::Dim(std::vector<Term> terms) {
  const bool constant = terms.empty() || (terms.size() == 1 && terms[0].atoms.empty());
  if (!constant)
    terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
  else if (!terms.empty())
    constant_ = terms[0].coefficient;
}

std::vector<Dim::Term> Dim::terms() const {
  if (terms_) return *terms_;
  if (constant_ == 0) return {};
  return {{constant_, {}}};
}

std::strong_ordering Dim::operator<=>(const Dim& other) const {
  if (terms_ == other.terms_) return constant_ <=> other.constant_;
  if (!terms_ || !other.terms_) return (terms_ != nullptr) <=> (other.terms_ != nullptr);
  return *terms_ <=> *other.terms_;
}

Dim Dim::symbol(std::string name) { return Dim(std::vector<Term>{{1, {Atom{std::move(name), nullptr, 1}}}}); }

Dim operator+(const Dim& a, const Dim& b) {
  if (b.is_zero()) return a;
  if (a.is_zero()) return b;
  if (a.is_constant() && b.is_constant()) return Dim(add(*a.constant(), *b.constant()));
  return Dim(merge(a.terms(), b.terms(), 1));
}

Dim operator-(const Dim& a, const Dim& b) { return Dim(merge(a.terms(), b.terms(), -1)); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(multiply(*a.constant(), *b.constant()));
  if (a.is_one()) return b;
  if (b.is_one()) return a;
  const std::vector<Dim::Term> rights = b.terms();
  std::vector<Dim::Term> product;
  for (const Dim::Term& x : a.terms()) {
    std::vector<Dim::Term> row;  // a monomial times an ordered list stays ordered
    row.reserve(rights.size());
    for (const Dim::Term& y : rights) row.push_back(times(x, y));
    product = product.empty() ? std::move(row) : merge(product, row, 1);
    if (product.size() > kMostTerms) fail("a size has more than {} terms: expected fewer", kMostTerms);
  }
  return Dim(std::move(product));
}

/// Returns whether every term but a constant is subtracted: what is divided is then below 0, as bounds take
/// no division to be, and its opposite is not.
static bool is_negated(const std::vector<Dim::Term>& terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [](const Dim::Term& term) { return term.coefficient < 0 || term.atoms.empty(); });
}

Dim ceil_div(const Dim& a, int64_t divisor) {
  if (divisor <= 0) fail("ceil_div({}, {}): expected a divisor above 0", a.str(), divisor);
  if (divisor == 1) return a;
  if (const auto constant = a.constant()) return Dim(ceil_quotient(*constant, divisor));
  std::vector<Dim::Term> whole, rest;  // ceil((d x + y) / d) = x + ceil(y / d)
  int64_t common = divisor;
  for (const Dim::Term& term : *a.terms_) {
    const auto [quotient, remainder] = divided(term, divisor);
    if (quotient != 0) whole.push_back({quotient, term.atoms});
    if (remainder == 0) continue;
    rest.push_back({remainder, term.atoms});
    common = std::gcd(common, remainder);
  }
  if (rest.empty()) return Dim(std::move(whole));
  for (Dim::Term& term : rest) term.coefficient /= common;
  divisor /= common;
  Dim inner(std::move(rest));
  if (inner.is_constant()) return Dim(std::move(whole)) + ceil_div(inner, divisor);
  if (is_negated(*inner.terms_)) return Dim(std::move(whole)) - floor_div(Dim(0) - inner, divisor);
  const Dim::Term& first = inner.terms_->front();
  const bool shifted = inner.terms_->size() == 2 && inner.terms_->back().atoms.empty();
  const bool nested = (inner.terms_->size() == 1 || shifted) && first.coefficient == 1 &&
                      first.atoms.size() == 1 && first.atoms[0].inner != nullptr;
  if (nested) {  // ceil((ceil(x / a) + c) / b) = ceil((x + a c) / (a b))
    const int64_t product = multiply(divisor, first.atoms[0].divisor);
    const int64_t shift = shifted ? multiply(inner.terms_->back().coefficient, first.atoms[0].divisor) : 0;
    return Dim(std::move(whole)) + ceil_div(*first.atoms[0].inner + shift, product);
  }
  const Atom atom{"", std::make_shared<const Dim>(std::move(inner)), divisor};
  return Dim(std::move(whole)) + Dim(std::vector<Dim::Term>{{1, {atom}}});
}

std::optional<Dim> Dim::divide(const Dim& divisor) const {
  if (divisor.is_zero()) return std::nullopt;
  if (divisor.is_one()) return *this;
  const Term lead = divisor.terms().front();
  Dim remainder = *this, result;
  while (!remainder.is_zero()) {
    const Term top = remainder.terms().front();
    std::optional<Term> step = quotient(top, lead);
    if (!step) return std::nullopt;
    std::set_difference(top.atoms.begin(), top.atoms.end(), lead.atoms.begin(), lead.atoms.end(),
                        std::back_inserter(step->atoms));
    const Dim part(std::vector<Term>{*step});
    result += part;
    remainder = remainder - part * divisor;
  }
  return result;
}

int64_t Dim::evaluate(const SymbolValues& values) const {
  if (!terms_) return constant_;
  int64_t sum = 0;
  for (const Term& term : *terms_) {
    int64_t product = term.coefficient;
    for (const Atom& atom : term.atoms) {
      if (atom.inner) {
        product = multiply(product, ceil_quotient(atom.inner->evaluate(values), atom.divisor));
        continue;
      }
      const auto value = values.find(atom.name);
      if (value == values.end()) fail("the size {} needs a value for the symbol {}", str(), atom.name);
      product = multiply(product, value->second);
    }
    sum = add(sum, product);
  }
  return sum;
}

Dim substitute(const Dim& dim, const std::map<std::string, Dim, std::less<>>& values) {
  if (dim.is_constant()) return dim;
  Dim sum;
  for (const Dim::Term& term : dim.terms()) {
    Dim product = term.coefficient;
    for (const Atom& atom : term.atoms) {
      const auto value = values.find(atom.name);
      if (atom.inner)
        product *= ceil_div(substitute(*atom.inner, values), atom.divisor);
      else
        product *= value == values.end() ? Dim::symbol(atom.name) : value->second;
    }
    sum += product;
  }
  return sum;
}

static std::string str(const Atom& atom) {
  return atom.inner ? fmt::format("ceil_div({}, {})", atom.inner->str(), atom.divisor) : atom.name;
}

std::string Dim::str() const {
  if (!terms_) return std::to_string(constant_);
  std::string text;
  for (const Term& term : *terms_) {
    const bool negative = term.coefficient < 0;
    const uint64_t magnitude =
        negative ? -static_cast<uint64_t>(term.coefficient) : static_cast<uint64_t>(term.coefficient);
    if (text.empty())
      text = negative ? "-" : "";
    else
      text += negative ? " - " : " + ";
    std::string factors = magnitude == 1 && !term.atoms.empty() ? "" : std::to_string(magnitude);
    for (const Atom& atom : term.atoms) factors += (factors.empty() ? "" : "*") + smelt::str(atom);
    text += factors;
  }
  return text;
}

void Dim::collect_symbols(std::vector<std::string>& names) const {
  if (!terms_) return;
  for (const Term& term : *terms_)
    for (const Atom& atom : term.atoms) {
      if (atom.inner)
        atom.inner->collect_symbols(names);
      else if (std::find(names.begin(), names.end(), atom.name) == names.end())
        names.push_back(atom.name);
    }
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count *= dim;
  return count;
}

std::string str(const Shape& shape) {
  std::string text;
  for (const Dim& dim : shape) text += (text.empty() ? "" : ",") + dim.str();
  return "[" + text + "]";
}

}  // namespace smelt
