// smelt evaluate: the mean loss over data.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/data_flags.h"
#include "compiler/cli/shared/evaluation_flags.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/text_table.h"
#include "runtime/engine/training/evaluation.h"

namespace smelt::cli {
namespace {

struct EvaluateCommand {
  std::string model, split = "all";
  int64_t batch = 8, length = 0, batches = 0;
  bool json = false;
  CompileFlags flags;
  WeightFlags weights;
  DataFlags data;
  EvaluationFlags evaluation;
};

/// Models that classify also give their scores, for the accuracy.
bool classifies(const Model& model) {
  const TransformerSpec* spec = model.spec();
  return spec &&
         (spec->head.kind == HeadKind::sequence_classes || spec->head.kind == HeadKind::image_classes);
}

CompileOptions compile_options(const EvaluateCommand& options, const Model& model,
                               std::shared_ptr<const ReadData>& read, DefaultBounds& bounds) {
  CompileOptions result = options.flags.options();
  result.mode = Mode::train;
  result.entries = {"evaluate"};
  if (classifies(model) || options.evaluation.needs_logits()) result.entries.push_back("logits");
  if (options.length > 0) bounds.add(result.build.bounds, "T", options.length, "--length");
  bounds.add(result.build.bounds, "B", options.batch, "--batch");
  DataFlags data = options.data;
  if (options.split == "all") data.held_back = 0;  // rows are divided when they are read
  read = data.read(model, result.build.bounds);
  options.data.bound_lengths(model, read.get(), result.build.bounds, bounds);
  options.data.read_segments(model, result.build);
  return result;
}

/// Train and held-back part as one.
template <typename Range>
Range whole(const Range& train) {
  return {train.data, 0, train.data->size()};
}

DataPart unpacked_part(const EvaluateCommand& options, const Model& model, const ReadData* read) {
  const DataSplit split = options.data.open(model, "evaluate", read);
  if (options.split == "train") return split.train;
  if (options.split == "held-back") return split.held_back;
  return std::visit([](const auto& train) { return DataPart(whole(train)); }, split.train);
}

BatchOptions batch_options(const EvaluateCommand& options, const Model& model) {
  BatchOptions result{.batch = options.batch};
  if (options.length > 0)
    result.length = options.length;
  else if (options.data.has_length(model))
    result.length = model.longest_labels();
  return result;
}

DataPart part_of(const EvaluateCommand& options, const Model& model, const ReadData* read, int64_t length) {
  DataPart part = unpacked_part(options, model, read);
  if (!options.data.packs(model)) return part;
  const PlanEntry& entry = *model.plan->find_entry("evaluate");
  return pack(part, pack_options(entry, length, options.data.document_end_of(model)));
}

/// There is no mean over no targets.
void require_targets(const EvaluationSums& found) {
  if (found.targets != 0) return;
  fail(
      "the loss is over 0 targets: no label of the data counts, because all are ignored (-100) or outside "
      "their texts; expected at least one that counts (docs/guides/data.md)");
}

void print_json(const EvaluationSums& found, const Metrics& metrics, double seconds) {
  fmt::print("{{\"loss\": {:.9g}, \"targets\": {:.0f}, \"seconds\": {:.3f}", found.loss(), found.targets,
             seconds);
  for (const Metric& metric : metrics) fmt::print(", \"{}\": {:.9g}", metric.name, metric.value);
  fmt::print("}}\n");
}

/// Returns ", token_accuracy 12.34%" for the metrics that the text does not have elsewhere.
std::string other_metrics(const Metrics& metrics) {
  std::string text;
  for (const Metric& metric : metrics)
    if (metric.name == "token_accuracy" || metric.name == "bleu") text += ", " + to_text(metric);
  return text;
}

void print_text(const EvaluationSums& found, const Metrics& metrics, double seconds) {
  const double mean = found.loss();
  const std::string count = count_text(static_cast<int64_t>(found.targets));
  const std::string more = other_metrics(metrics);
  if (const auto accuracy = found.accuracy())
    fmt::print("loss {:.6f} nats, accuracy {:.2f}% ({} of {}), F1 {:.4f}{}, in {}\n", mean, 100 * *accuracy,
               found.correct(), found.classified(), *found.f1(), more, seconds_text(seconds));
  else if (!find_metric(metrics, "perplexity"))
    fmt::print("loss {:.6f} a target{}, over {} targets in {}\n", mean, more, count, seconds_text(seconds));
  else
    fmt::print("loss {:.6f} nats a token ({:.4f} bits), perplexity {:.4f}{}, over {} tokens in {}\n", mean,
               mean / std::log(2.0), std::exp(mean), more, count, seconds_text(seconds));
}

/// Returns the metrics of the sums, the perplexity of models that predict tokens, and the BLEU of
/// translations. All ranks translate; their results are the same.
Metrics metrics_of(const EvaluateCommand& options, const Model& model, Session& session, const DataPart& part,
                   const EvaluationSums& found) {
  Metrics metrics = found.metrics();
  if (predicts_tokens(*model.plan) && !find_metric(metrics, "perplexity"))
    metrics.push_back({"perplexity", std::exp(found.loss())});
  if (options.evaluation.translations > 0)
    metrics.push_back(TranslationScore(session, model, part, options.evaluation.translations).score());
  return metrics;
}

/// The loss is the same at all ranks; the first one prints it.
void run_evaluate(const EvaluateCommand& options, const Json& all, InferenceRanks* ranks) {
  const bool is_first = !ranks || ranks->is_first();
  Model model = open_model(options.model, options.weights);
  std::shared_ptr<const ReadData> read;
  CompileOptions compiled = compile_options(options, model, read, model.bounds);
  if (read && is_first) fmt::print(stderr, "{}\n", read->summary());
  if (ranks) ranks->add_to(compiled);
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first, flags.says_memory &= is_first;
  compile_model(model, compiled, flags);
  const BatchOptions batching = batch_options(options, model);
  const DataPart part = part_of(options, model, read.get(), batching.length);
  SessionOptions session_options = options.weights.session_options();
  if (ranks) ranks->add_to(session_options, *model.plan), ranks->agree("the evaluation", model, all);
  auto session = open_session(model, options.weights, session_options);
  const int64_t most = options.batches > 0 ? options.batches : std::numeric_limits<int32_t>::max();
  if (ranks)
    ranks->share_choices(*session, [&] {
      evaluate_batches(*session, *make_list(part, batching, 1), {},
                       [&] { ranks->progress("a first batch"); });
    });
  const auto batches = make_list(part, batching, most);
  const auto begin = std::chrono::steady_clock::now();
  const EvaluationSums found = evaluate_batches(
      *session, *batches, {},
      [&] {
        if (ranks) ranks->progress("a batch");
      },
      {}, options.evaluation.token_targets(model, *session, options.data.packs(model)));
  require_targets(found);
  const Metrics metrics = metrics_of(options, model, *session, part, found);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!is_first) return;
  (options.json ? print_json : print_text)(found, metrics, seconds);
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto options = std::make_shared<EvaluateCommand>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Mean loss of a model over data, and the accuracy of one that classifies");
  command
      ->add_option("model", options->model, "model directory, GGUF file, run directory, spec, graph or plan")
      ->required();
  command->add_option("--batch", options->batch, "windows, records or packed rows at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--length", options->length,
                      "tokens a window or a packed row; default: the plan's maximum");
  command->add_option("--batches", options->batches, "evenly spread batches; 0: all of the data");
  command->add_option("--split", options->split, "part of the data")
      ->check(CLI::IsMember({"all", "train", "held-back"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print one JSON object");
  options->data.add_to(*command);
  options->evaluation.add_to(*command);
  options->flags.add_to(*command, {OptionGroup::ranks});
  options->weights.imported_graph = ImportedGraph::loss;
  options->weights.add_to(*command);
  command->callback([options, command] {
    infer_over_ranks(options->flags.values.mesh, "evaluate", [&](InferenceRanks* ranks) {
      run_evaluate(*options, resolved_config(*command), ranks);
    });
  });
}

}  // namespace smelt::cli
