// smelt evaluate: the mean loss over data.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compiler/cli/command.h"
#include "compiler/cli/data_flags.h"
#include "compiler/cli/model.h"
#include "compiler/cli/text_table.h"
#include "runtime/error.h"

namespace smelt::cli {
namespace {

struct EvaluateCommand {
  std::string model, split = "all";
  int64_t batch = 8, length = 0, batches = 0;
  bool json = false;
  CompileFlags flags;
  WeightFlags weights;
  DataFlags data;
};

struct Loss {
  double sum = 0, targets = 0;
  double mean() const { return sum / targets; }
};

CompileOptions compile_options(const EvaluateCommand& options) {
  CompileOptions result = options.flags.options();
  result.mode = Mode::train;
  result.entries = {"evaluate"};
  if (options.length > 0) default_bound(result.build.bounds, "T", options.length);
  default_bound(result.build.bounds, "B", options.batch);
  return result;
}

TokenRange range_of(const EvaluateCommand& options, int64_t vocabulary) {
  const TokenSplit split = options.data.open(vocabulary);
  if (options.split == "train") return split.train;
  if (options.split == "held-back") return split.held_back;
  return {split.train.data, 0, split.train.data->size()};
}

Loss measure(Session& session, const TokenRange& range, int64_t batch, int64_t length, int64_t batches) {
  const FixedWindows windows(range, batch, length,
                             batches > 0 ? batches : std::numeric_limits<int32_t>::max());
  std::vector<int32_t> tokens(static_cast<size_t>(batch * length));
  Loss total;
  for (int64_t i = 0; i < windows.batches(); ++i) {
    windows.fill(i, tokens);
    const std::vector<int64_t> shape = {windows.rows(i), length};
    const InputTensor inputs[] = {{"input_ids", DType::i32, shape, tokens.data()},
                                  {"labels", DType::i32, shape, tokens.data()}};
    for (const HostTensor& output : session.run("evaluate", inputs))
      (output.name == "loss_sum" ? total.sum : total.targets) += output.as<float>()[0];
  }
  return total;
}

void print(const EvaluateCommand& options, const Loss& loss, double seconds) {
  const double mean = loss.mean();
  if (options.json)
    fmt::print("{{\"loss\": {:.9g}, \"perplexity\": {:.9g}, \"targets\": {:.0f}, \"seconds\": {:.3f}}}\n",
               mean, std::exp(mean), loss.targets, seconds);
  else
    fmt::print("loss {:.6f} nats a token ({:.4f} bits), perplexity {:.4f}, over {} tokens in {}\n", mean,
               mean / std::log(2.0), std::exp(mean), count_text(static_cast<int64_t>(loss.targets)),
               seconds_text(seconds));
}

void run_evaluate(const EvaluateCommand& options) {
  const Model model =
      open_model(options.model, compile_options(options), options.weights, options.flags.timing);
  const TokenRange range = range_of(options, model.vocabulary());
  auto session = open_session(model, options.weights, NoWeights::fail);
  const int64_t length = options.length > 0 ? options.length : model.plan->symbols.upper(Dim::symbol("T"));
  const auto begin = std::chrono::steady_clock::now();
  const Loss loss = measure(*session, range, options.batch, length, options.batches);
  print(options, loss, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace

void add_evaluate(CLI::App& app) {
  auto options = std::make_shared<EvaluateCommand>();
  CLI::App* command = app.add_subcommand("evaluate", "Mean loss of a model over data");
  command->add_option("model", options->model, "model directory, run directory, spec, graph or plan")
      ->required();
  command->add_option("--batch", options->batch, "windows at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--length", options->length, "tokens a window; default: the plan's maximum");
  command->add_option("--batches", options->batches, "evenly spread batches; 0: all of the data");
  command->add_option("--split", options->split, "part of the data")
      ->check(CLI::IsMember({"all", "train", "held-back"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print one JSON object");
  options->data.add_to(*command);
  options->flags.add_to(*command);
  options->weights.add_to(*command);
  on_call(command, options, run_evaluate);
}

}  // namespace smelt::cli
