#include "runtime/engine/training/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/plan/plan_model.h"

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
    const auto predicted = static_cast<size_t>(std::ranges::max_element(scores) - scores.begin());
    const auto label = static_cast<size_t>(labels[row]);
    ++result.classes[label].labelled, ++result.classes[predicted].predicted;
    result.classes[label].correct += label == predicted;
  }
}

/// Returns the sums of no records; `classes` is null if the model does not classify.
EvaluationSums empty_sums(const Session& session, const PlanEntry* classes) {
  EvaluationSums sums;
  if (!classes) return sums;
  const int64_t count = session.plan().symbols.upper(classes->outputs[0].shape[1]);
  sums.classes.resize(static_cast<size_t>(count));
  return sums;
}

bool are_tokens(const HostTensor* labels) {
  return labels && labels->dtype == DType::i32 && labels->shape.size() >= 2;
}

double f1_of(const ClassCounts& counts) {
  const int64_t all = counts.labelled + counts.predicted;
  return all > 0 ? 2 * static_cast<double>(counts.correct) / static_cast<double>(all) : 0;
}

template <typename Member>
int64_t sum_of(const std::vector<ClassCounts>& classes, Member member) {
  int64_t sum = 0;
  for (const ClassCounts& counts : classes) sum += counts.*member;
  return sum;
}

void add(const EvaluationSums& batch, EvaluationSums& result) {
  result.loss_sum += batch.loss_sum, result.targets += batch.targets;
  result.of_tokens |= batch.of_tokens;
  result.tokens.targets += batch.tokens.targets, result.tokens.correct += batch.tokens.correct;
  for (size_t i = 0; i < batch.classes.size(); ++i) {
    result.classes[i].labelled += batch.classes[i].labelled;
    result.classes[i].predicted += batch.classes[i].predicted;
    result.classes[i].correct += batch.classes[i].correct;
  }
}

/// The sums of one batch.
EvaluationSums evaluate_batch(Session& session, const Batch& batch, const PlanEntry* classes,
                              const RunEvaluation& run, bool of_tokens) {
  EvaluationSums sums = empty_sums(session, classes);
  const auto outputs = run ? run(batch) : session.run("evaluate", batch.inputs());
  if (outputs.empty()) return sums;
  sums.loss_sum = scalar(outputs, "loss_sum");
  sums.targets = scalar(outputs, "token_count");
  const HostTensor* labels = batch.find("labels");
  sums.of_tokens = of_tokens && are_tokens(labels);
  // Labels that are numbers, as of a regression, are met or missed by no class.
  if (!classes || !labels || labels->shape.size() != 1 || labels->dtype != DType::i32) return sums;
  count_correct(session.run(classes->name, batch.inputs_of(*classes))[0], labels->as<int32_t>(),
                ignored_label(session), sums);
  return sums;
}

}  // namespace

int64_t EvaluationSums::classified() const { return sum_of(classes, &ClassCounts::labelled); }
int64_t EvaluationSums::correct() const { return sum_of(classes, &ClassCounts::correct); }

std::optional<double> EvaluationSums::accuracy() const {
  if (classified() == 0) return std::nullopt;
  return static_cast<double>(correct()) / static_cast<double>(classified());
}

std::optional<double> EvaluationSums::f1() const {
  if (classified() == 0) return std::nullopt;
  if (classes.size() == 2) return f1_of(classes[1]);
  double sum = 0, used = 0;
  for (const ClassCounts& counts : classes)
    if (counts.labelled + counts.predicted > 0) sum += f1_of(counts), ++used;
  return sum / used;
}

Metrics EvaluationSums::metrics() const {
  if (const auto share = accuracy()) return {{"accuracy", *share}, {"f1", *f1()}};
  Metrics metrics;
  if (of_tokens) metrics.push_back({"perplexity", std::exp(loss())});
  if (tokens.targets > 0)
    metrics.push_back(
        {"token_accuracy", static_cast<double>(tokens.correct) / static_cast<double>(tokens.targets)});
  return metrics;
}

bool predicts_tokens(const Plan& plan) {
  const nlohmann::json model = read_plan_model(plan.model);
  if (model.is_object() && model.contains("spec")) {
    const std::string kind = model.value(nlohmann::json::json_pointer("/spec/head/kind"), std::string("lm"));
    return kind == "lm" || kind == "mlm";
  }
  const PlanEntry* entry = plan.find_entry("evaluate");
  return !entry || std::ranges::none_of(entry->inputs, [](const Port& port) {
    return port.name == "labels" && port.dtype == DType::f32;
  });
}

EvaluationSums evaluate_batches(Session& session, BatchList& batches, const BatchShare& share,
                                const std::function<void()>& before_batch, const RunEvaluation& run,
                                std::optional<TokenTargets> tokens) {
  Batch batch;
  const PlanEntry* classes = classifier(session);
  const bool of_tokens = predicts_tokens(session.plan());
  EvaluationSums result = empty_sums(session, classes);
  for (int64_t begin = 0; begin < batches.size(); begin += share.stride) {
    const int64_t own = begin + share.first;
    const bool counts = own < batches.size();
    if (!counts && !share.together) break;
    if (before_batch) before_batch();
    batches.fill(counts ? own : begin, batch);
    EvaluationSums sums = evaluate_batch(session, batch, classes, run, of_tokens);
    if (tokens) sums.tokens = count_tokens(session, batch, *tokens);
    if (!counts) break;
    add(sums, result);
  }
  return result;
}

}  // namespace smelt
