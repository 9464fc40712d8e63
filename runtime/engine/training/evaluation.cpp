#include "runtime/engine/training/evaluation.h"

#include <algorithm>
#include <limits>

namespace smelt {
namespace {

double scalar(std::span<const HostTensor> outputs, std::string_view name) {
  for (const HostTensor& output : outputs)
    if (output.name == name && output.dtype == DType::f32 && output.bytes.size() == sizeof(float))
      return output.as<float>()[0];
  return std::numeric_limits<double>::quiet_NaN();
}

/// The entry that gives one row of class scores a record; null if the plan does not classify.
const PlanEntry* classifier(const Session& session) {
  const PlanEntry* entry = session.plan().find_entry("logits");
  if (!entry || entry->outputs.empty()) return nullptr;
  const Port& output = entry->outputs[0];
  return output.name == "logits" && output.dtype == DType::f32 && output.shape.size() == 2 ? entry : nullptr;
}

/// The label that leaves a record out.
std::optional<int64_t> ignored_label(const Session& session) {
  for (const Port& port : session.entry("evaluate").inputs)
    if (port.name == "labels" && port.ids) return port.ids->ignored;
  return {};
}

void count_correct(const HostTensor& logits, std::span<const int32_t> labels, std::optional<int64_t> ignored,
                   EvaluationSums& result) {
  const auto classes = static_cast<size_t>(logits.shape[1]);
  for (size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] == ignored) continue;
    const auto scores = logits.as<float>().subspan(row * classes, classes);
    ++result.classified;
    result.correct += std::ranges::max_element(scores) - scores.begin() == labels[row];
  }
}

/// The sums of one batch.
EvaluationSums evaluate_batch(Session& session, const Batch& batch, const PlanEntry* classes,
                              const RunEvaluation& run) {
  EvaluationSums sums;
  const auto outputs = run ? run(batch) : session.run("evaluate", batch.inputs());
  if (outputs.empty()) return sums;
  sums.loss_sum = scalar(outputs, "loss_sum");
  sums.targets = scalar(outputs, "token_count");
  const HostTensor* labels = batch.find("labels");
  // Labels that are numbers, as of a regression, are met or missed by no class.
  if (!classes || !labels || labels->shape.size() != 1 || labels->dtype != DType::i32) return sums;
  count_correct(session.run(classes->name, batch.inputs_of(*classes))[0], labels->as<int32_t>(),
                ignored_label(session), sums);
  return sums;
}

}  // namespace

EvaluationSums evaluate_batches(Session& session, BatchList& batches, const BatchShare& share,
                                const std::function<void()>& before_batch, const RunEvaluation& run) {
  EvaluationSums result;
  Batch batch;
  const PlanEntry* classes = classifier(session);
  for (int64_t begin = 0; begin < batches.size(); begin += share.stride) {
    const int64_t own = begin + share.first;
    const bool counts = own < batches.size();
    if (!counts && !share.together) break;
    if (before_batch) before_batch();
    batches.fill(counts ? own : begin, batch);
    const EvaluationSums sums = evaluate_batch(session, batch, classes, run);
    if (!counts) break;
    result.loss_sum += sums.loss_sum, result.targets += sums.targets;
    result.classified += sums.classified, result.correct += sums.correct;
  }
  return result;
}

}  // namespace smelt
