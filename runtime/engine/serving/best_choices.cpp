#include "runtime/engine/serving/best_choices.h"

#include <algorithm>
#include <numeric>

namespace smelt {
namespace {

double mean_log_probability(const Progress& choice) {
  if (choice.tokens.empty()) return 0;
  const double sum =
      std::accumulate(choice.tokens.begin(), choice.tokens.end(), 0.0,
                      [](double all, const NewToken& token) { return all + token.log_probability; });
  return sum / static_cast<double>(choice.tokens.size());
}

}  // namespace

std::vector<size_t> best_choices(std::span<const Progress> choices, size_t n, size_t best_of) {
  std::vector<size_t> result(choices.size());
  std::iota(result.begin(), result.end(), size_t{0});
  if (n == best_of) return result;
  std::vector<double> means;
  for (const Progress& each : choices) means.push_back(mean_log_probability(each));
  size_t kept = 0;
  for (size_t first = 0; first < choices.size(); first += best_of) {
    const auto begin = result.begin() + static_cast<ptrdiff_t>(first);
    std::stable_sort(begin, begin + static_cast<ptrdiff_t>(best_of),
                     [&](size_t a, size_t b) { return means[a] > means[b]; });
    std::copy_n(begin, n, result.begin() + static_cast<ptrdiff_t>(kept));
    kept += n;
  }
  result.resize(kept);
  return result;
}

}  // namespace smelt
