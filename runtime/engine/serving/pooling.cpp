#include "runtime/engine/serving/pooling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace smelt {
namespace {

constexpr std::string_view kPoolingNames[] = {"cls",          "max",      "mean", "mean_sqrt_len_tokens",
                                              "weightedmean", "lasttoken"};

/// The states of the tokens from `first` on.
struct PooledStates {
  std::span<const float> states;
  size_t width, first;

  size_t tokens() const { return states.size() / width; }
  float at(size_t token, size_t element) const { return states[token * width + element]; }
};

void pool_sum(const PooledStates& x, Pooling pooling, std::span<float> result) {
  const bool weighs = pooling == Pooling::weightedmean;
  std::vector<double> sums(x.width);
  double weights = 0;
  for (size_t token = x.first; token < x.tokens(); ++token) {
    const double weight = weighs ? static_cast<double>(token + 1) : 1;
    weights += weight;
    for (size_t element = 0; element < x.width; ++element)
      sums[element] += weight * static_cast<double>(x.at(token, element));
  }
  const double divisor = pooling == Pooling::mean_sqrt_len_tokens ? std::sqrt(weights) : weights;
  for (size_t element = 0; element < x.width; ++element)
    result[element] = static_cast<float>(sums[element] / divisor);
}

void pool_max(const PooledStates& x, std::span<float> result) {
  for (size_t element = 0; element < x.width; ++element) {
    result[element] = x.at(x.first, element);
    for (size_t token = x.first + 1; token < x.tokens(); ++token)
      result[element] = std::max(result[element], x.at(token, element));
  }
}

}  // namespace

std::optional<Pooling> find_pooling(std::string_view name) {
  const auto found = std::ranges::find(kPoolingNames, name);
  if (found == std::end(kPoolingNames)) return std::nullopt;
  return static_cast<Pooling>(found - std::begin(kPoolingNames));
}

std::string pooling_names() { return fmt::format("{}", fmt::join(kPoolingNames, ", ")); }

void pool(Pooling pooling, std::span<const float> states, size_t unpooled, std::span<float> result) {
  const size_t width = result.size(), last = states.size() / width - 1;
  const PooledStates x{states, width, std::min(unpooled, last)};
  switch (pooling) {
    case Pooling::cls:
      std::ranges::copy(states.subspan(x.first * width, width), result.begin());
      return;
    case Pooling::lasttoken:
      std::ranges::copy(states.subspan(last * width, width), result.begin());
      return;
    case Pooling::max:
      return pool_max(x, result);
    case Pooling::mean:
    case Pooling::mean_sqrt_len_tokens:
    case Pooling::weightedmean:
      return pool_sum(x, pooling, result);
  }
}

void normalize(std::span<float> vector) {
  constexpr double kLeast = 1e-12;
  double squares = 0;
  for (const float x : vector) squares += static_cast<double>(x) * static_cast<double>(x);
  const double length = std::max(std::sqrt(squares), kLeast);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / length);
}

}  // namespace smelt
