#include "passes/graph/training/gradient_sums.h"

#include "llvm/ADT/STLExtras.h"
#include "passes/expressions.h"
#include "passes/graph/training/apply_optimizer.h"
#include "passes/graph/training/flatten_parameters.h"
#include "passes/graph/training/sums_over_ranks.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

constexpr std::string_view kGradients = "gradients", kLossSum = "loss_sum", kTokenCount = "token_count";

void add_to(GraphBuilder& b, std::string_view state, Value* addend) {
  b.update(state, b.add(b.state(state), addend));
}

void add_count(GraphBuilder& b, std::string_view name, Value* addend) {
  declare_scalar_state(b.module(), std::string(name)).role = Role::gradient;
  add_to(b, name, addend);
}

/// Returns the factor from the gradient of the scaled mean to that of the sum.
Value* weight_of_scaled(Graph& graph, Value* count, const TrainingOptions& options) {
  GraphBuilder b(graph);
  b.set_source("loss");
  return b.div(b.max(count, b.scalar(1)), loss_scale(b, options.optimizer.scaling));
}

}  // namespace

Value* mean_loss(GraphBuilder& b, Value* sum, Value* count) { return b.div(sum, b.max(count, b.scalar(1))); }

void add_sums(Graph& graph, const BatchCounts& counts, const TrainingOptions& options) {
  Value* weight =
      options.optimizer.scaling.on ? weight_of_scaled(graph, counts.token_count, options) : nullptr;
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("accumulate");
  State& sums = declare_flat_state(b.module(), std::string(kGradients), Role::gradient);
  // For sharded gradients, the graph has the whole value and the sums have a rank's part.
  const bool has_parts = llvm::any_of(sums.segments, [](const Segment& s) { return is_cut(s); });
  if (weight || options.flat_sums || has_parts) {
    Value* gradient = take_flat_gradient(b, sums);
    if (weight) gradient = b.mul(gradient, everywhere(b, weight, gradient->shape()));
    add_to(b, sums.name, gradient);
  } else {
    add_gradients(b, sums, take_gradients(graph, sums));
  }
  if (counts.loss_sum) add_count(b, kLossSum, counts.loss_sum);
  if (counts.adds_tokens) add_count(b, kTokenCount, counts.token_count);
}

void make_apply(Module& module, const TrainingOptions& options) {
  Graph& graph = module.add_graph("apply");
  const PhaseMark mark(graph, Phase::update);
  GraphBuilder b(graph);
  b.set_source("optimizer");
  Value* count = b.state(kTokenCount);
  Value* factor = b.reciprocal(b.max(count, b.scalar(1)));
  Value* loss_sum = module.find_state(kLossSum) ? b.state(kLossSum) : b.scalar(0);
  b.output("loss", mean_loss(b, sum_over_stages(b, loss_sum), count));
  b.output("token_count", count);
  Value* sums = b.state(kGradients);
  b.output("gradient_norm", build_update(b, sums, factor, options.optimizer));
  b.update(kGradients, zeros(b, sums->type));
  for (const std::string_view name : {kLossSum, kTokenCount})
    if (module.find_state(name)) b.update(name, b.scalar(0));
}

}  // namespace smelt
