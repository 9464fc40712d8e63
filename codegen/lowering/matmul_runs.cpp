#include "codegen/lowering/matmul_runs.h"

#include <algorithm>
#include <tuple>

namespace smelt {
namespace {

bool continues(const MatmulRun& outer, const MatmulRun& inner) {
  return outer.a == inner.a * inner.extent && outer.b == inner.b * inner.extent &&
         outer.c == inner.c * inner.extent;
}

/// Joins two of the runs; false where no two fit.
bool join_two(std::vector<MatmulRun>& runs) {
  for (size_t outer = 0; outer < runs.size(); ++outer)
    for (size_t inner = 0; inner < runs.size(); ++inner) {
      if (outer == inner || !continues(runs[outer], runs[inner])) continue;
      runs[inner].extent *= runs[outer].extent;
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(outer));
      return true;
    }
  return false;
}

/// A run and the others; of none, a run of one element.
struct RunChoice {
  MatmulRun taken{1, 1, 1, 1};
  std::vector<MatmulRun> rest;
};

/// The last run first.
std::vector<RunChoice> choices(const std::vector<MatmulRun>& runs) {
  if (runs.empty()) return {RunChoice{}};
  std::vector<RunChoice> all;
  for (size_t i = runs.size(); i-- > 0;) {
    RunChoice& choice = all.emplace_back(runs[i], runs);
    choice.rest.erase(choice.rest.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

double count(const std::vector<MatmulRun>& runs, const Symbols& symbols) {
  double product = 1;
  for (const MatmulRun& run : runs) product *= static_cast<double>(symbols.upper(run.extent));
  return product;
}

}  // namespace

std::vector<MatmulRun> joined(std::vector<MatmulRun> runs) {
  std::erase_if(runs, [](const MatmulRun& run) { return run.extent.is_one(); });
  while (join_two(runs)) {
  }
  return runs;
}

std::vector<MatrixDims> matrix_dims(const std::vector<MatmulRun>& m, const std::vector<MatmulRun>& n,
                                    const std::vector<MatmulRun>& k, const Symbols& symbols) {
  std::vector<std::tuple<double, double, MatrixDims>> all;
  for (const RunChoice& rows : choices(m))
    for (const RunChoice& columns : choices(n))
      for (const RunChoice& sums : choices(k)) {
        MatrixDims dims{rows.taken, columns.taken, sums.taken, rows.rest, sums.rest};
        dims.repeated.insert(dims.repeated.end(), columns.rest.begin(), columns.rest.end());
        all.emplace_back(count(dims.summed, symbols), count(dims.repeated, symbols), std::move(dims));
      }
  std::ranges::stable_sort(
      all, {}, [](const auto& choice) { return std::pair(std::get<0>(choice), std::get<1>(choice)); });
  std::vector<MatrixDims> sorted;
  for (auto& [added, products, dims] : all) sorted.push_back(std::move(dims));
  return sorted;
}

}  // namespace smelt
