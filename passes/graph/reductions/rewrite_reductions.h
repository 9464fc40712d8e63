// rewrite_reductions: makes reductions over a row independent of each other, if one of them needs the result
// of another. Independent reductions need only one sweep over the row. Runs on primitives, after
// differentiation. In the rules below, a row has n elements. The values x, u, f and g vary along the row,
// except that f is a pointwise operation in the rule hoist. The values a, b, m, s and t are constant along
// the row.
//
//   share            a statistic that backward computes again is replaced by the one of forward
//   hoist            f(broadcast a, broadcast b) = broadcast f(a, b)
//   constant_row     the sum of a row of equal values is their number times the value
//   zero_sum         sum (x - mean x) = 0, and other sums that are algebraically zero. The result is NaN for
//                    rows with NaN or infinity, except in gradients whose other terms are NaN anyway.
//   max_sumexp       max x, then sum exp(x - max x): one reduction with two results
//   shift            x - mean x = u - mean u with u = x - (sample x). Rows with a large common offset keep
//                    their digits. The sample is the mean of a few elements.
//   linear           sum (s f + g) = s sum f + sum g, if s depends on another sum over the row
//   centred_squares  sum (u - s)^2 = max(sum u^2 - (sum u)^2 / n, 0) + n (s - sum u / n)^2, with u from shift
//   collect          s f + t f = (s + t) f
//   log_sum_exp      exp(x - m) / s in backward becomes exp((x - m) - log s); forward stores m and log s
//
// The rules are algebraic: none of them is specific to a norm or a loss. Ensures: values differ only by
// rounding, and rounding errors do not grow. The rules linear and centred_squares apply only if the new sums
// depend on no other reduction in their kernel. Reductions are in one kernel if they have the same phase and
// no matmul is between them.
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

/// One rewrite, for the log.
struct ReductionRewrite {
  ReductionRule rule;
  std::string node;  // describe() of the node that was rewritten
};

struct RewriteReductionsOptions {
  std::vector<ReductionRewrite>* log = nullptr;  // receives the rewrites; null: no log
  int max_sweeps = 16;                           // the rules run at most this number of times over the graph
};
bool rewrite_reductions(Graph& graph, const RewriteReductionsOptions& options);

}  // namespace smelt
