#include "runtime/engine/serving/weight_update.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/session/session_weights.h"

namespace smelt {
namespace {

/// Throws Error if two tensors have the same name, of which only one could be loaded.
void require_different_names(const Checkpoint& weights) {
  const auto& tensors = weights.tensors();
  const auto twin = std::ranges::adjacent_find(tensors, {}, &TensorView::name);
  if (twin != tensors.end()) fail("new weights: '{}' is given twice", twin->name);
}

/// Returns whether another tensor, which the plan uses, has the same shape and the same bytes.
bool repeats_used(const TensorView& tensor, const Checkpoint& weights,
                  const std::vector<std::string>& unused) {
  return std::ranges::any_of(weights.tensors(), [&](const TensorView& other) {
    return std::ranges::find(unused, other.name) == unused.end() && have_equal_elements(other, tensor);
  });
}

void refuse_unused(const Plan& plan, const Checkpoint& weights) {
  const std::vector<std::string> unused = unused_weights(plan, weights);
  std::vector<std::string> faults;
  for (const std::string& name : unused)
    if (!repeats_used(weights.at(name), weights, unused)) faults.push_back("'" + name + "'");
  if (!faults.empty())
    fail("new weights: the plan does not use {}; expected only its own weights, and copies of them",
         fmt::join(faults, ", "));
}

/// Loading would find them too, but after it has replaced others.
void require_all_numbers(const Checkpoint& weights) {
  for (const TensorView& tensor : weights.tensors())
    if (is_float(tensor.dtype)) require_numbers(tensor, read_floats(tensor));
}

}  // namespace

std::shared_ptr<const Checkpoint> copied_weights(const Session& session) {
  return std::make_shared<const Checkpoint>(
      Checkpoint::of(weights_of(session), "the weights of another session"));
}

void check_weight_update(const Session& session, const WeightUpdate& update) {
  if (!update.weights) fail("new weights: there are none");
  if (session.weight_users() > 1)
    fail("new weights: {} sessions share the weights; expected a session that has its weights alone",
         session.weight_users());
  require_different_names(*update.weights);
  refuse_unused(session.plan(), *update.weights);
  require_all_numbers(*update.weights);
}

}  // namespace smelt
