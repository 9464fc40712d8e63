// rewrite_reductions: reductions over a row that wait for each other become independent ones, which fit one
// sweep over the row. Runs on primitives, after differentiation.
//
//   share            a statistic that backward computes again is the forward's
//   hoist            f(broadcast a, broadcast b) = broadcast f(a, b)
//   constant_row     the sum of a row of equal values is their number times the value
//   zero_sum         sum (x - mean x) = 0 and whatever else vanishes by algebra; 0 mean x, which is NaN where
//                    x is, but for terms of a gradient that are added to others of the row
//   max_sumexp       max x, then sum exp(x - max x): one reduction with two results
//   shift            x - mean x = u - mean u with u = x - (sample x): rows with a common offset keep their
//                    digits; the sample is the mean of a few elements, since one may be far from all others
//   linear           sum (s f + g) = s sum f + sum g where s waits for another sum over the row
//   centred_squares  sum (u - s)^2 = max(sum u^2 - (sum u)^2 / n, 0) + n (s - sum u / n)^2, u shifted
//   collect          s f + t f = (s + t) f for row values s, t
//   log_sum_exp      exp(x - m) / s in backward is exp((x - m) - log s), which reads two stored values per
//   row
//
// No rule knows a norm or a criterion. Contract: values stay the same but for rounding, which does not grow:
// a varying factor x - s is taken apart only after both parts are shifted by the row's sample. Every
// rewrite needs that the waiting reduction becomes independent of all others in its kernel (same phase, same
// side of every matmul); otherwise the graph stays as it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

namespace smelt {

enum class ReductionRule : uint8_t {
  share,
  hoist,
  constant_row,
  zero_sum,
  max_sumexp,
  shift,
  linear,
  centred_squares,
  collect,
  log_sum_exp,
};
std::string_view name(ReductionRule rule);

struct ReductionRewrite {
  ReductionRule rule;
  std::string node;  // describe() of the node that was rewritten
};

struct RewriteReductionsOptions {
  std::vector<ReductionRewrite>* log = nullptr;
  int max_sweeps = 16;
};
bool rewrite_reductions(Graph& graph, const RewriteReductionsOptions& options);

}  // namespace smelt
