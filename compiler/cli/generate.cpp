// smelt generate: text of models trained on bytes, token ids of all others.
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>

#include "compiler/cli/command.h"
#include "compiler/cli/generation_flags.h"
#include "compiler/cli/model.h"
#include "runtime/error.h"
#include "runtime/generation/generator.h"

namespace smelt::cli {
namespace {

struct GenerateCommand {
  std::string model;
  std::vector<std::string> prompts, ids;
  bool json = false;
  CompileFlags flags;
  WeightFlags weights;
  GenerationFlags generation;
};

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

std::vector<Generator::Tokens> read_prompts(const GenerateCommand& options, int64_t vocabulary) {
  std::vector<Generator::Tokens> prompts;
  for (const std::string& text : options.prompts)
    prompts.push_back(encode_bytes(text == "-" ? standard_input() : text, vocabulary));
  for (const std::string& text : options.ids) prompts.push_back(parse_token_ids(text));
  if (prompts.empty())
    fail("there is no prompt: give --prompt TEXT (models trained on bytes) or --ids \"15496 11\"");
  return prompts;
}

/// Every new token as it comes; only where one sequence is made.
class Stream {
 public:
  Stream(const GenerateCommand& options, bool text)
      : text_(text && !options.prompts.empty()), on_(!options.json) {}

  /// A source is not part of what a decoder writes.
  void begin(const Generator::Tokens& prompt, bool source) const {
    if (!source) show(prompt);
  }
  void operator()(size_t, int32_t token) const { show({token}); }

 private:
  void show(const Generator::Tokens& tokens) const {
    if (!on_) return;
    if (text_)
      fmt::print("{}", decode_bytes(tokens));
    else
      for (const int32_t token : tokens) fmt::print("{} ", token);
    std::fflush(stdout);
  }
  bool text_, on_;
};

void print_one(const GenerateCommand& options, const Generator::Tokens& prompt, const Hypothesis& found,
               bool text, bool source) {
  Generator::Tokens all = source ? Generator::Tokens() : prompt;
  all.insert(all.end(), found.tokens.begin(), found.tokens.end());
  if (options.json) {
    Json json = {{"prompt_ids", prompt}, {"new_ids", found.tokens}};
    if (!std::isnan(found.score)) json["score"] = found.score;
    if (text) json["text"] = decode_bytes(all);
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else if (text && !options.prompts.empty()) {
    fmt::print("{}\n", decode_bytes(all));
  } else {
    fmt::print("{}\n", fmt::join(all, " "));
  }
}

/// The results of each prompt; what is drawn or greedy has no score.
std::vector<std::vector<Hypothesis>> results_of(std::span<const Generator::Tokens> prompts,
                                                const GenerationOptions& generation, Generator& generator) {
  if (generation.num_beams > 1) return generator.search(prompts, generation);
  std::vector<std::vector<Hypothesis>> results(prompts.size());
  const auto each = static_cast<size_t>(generation.num_return_sequences);
  const auto sequences = generator.generate(prompts, generation);
  for (size_t i = 0; i < sequences.size(); ++i)
    results[i / each].push_back({sequences[i], std::numeric_limits<float>::quiet_NaN()});
  return results;
}

CompileOptions compile_options(const GenerateCommand& options, DefaultBounds& bounds) {
  CompileOptions result = options.flags.options();
  result.mode = Mode::infer;
  const size_t prompts = std::max<size_t>(1, options.prompts.size() + options.ids.size());
  bounds.add(result.build.bounds, "B", static_cast<int64_t>(prompts) * options.generation.beams(),
             "the number of prompts and beams");
  return result;
}

/// One prompt is continued as it is printed; several are printed when all are done.
void print_continuations(const GenerateCommand& options, const GenerationOptions& generation, bool bytes,
                         Generator& generator) {
  const auto prompts = read_prompts(options, generator.vocabulary());
  const bool text = bytes && generator.vocabulary() == 256;
  const bool one = prompts.size() == 1 && generation.num_beams == 1 && generation.num_return_sequences == 1;
  if (one && !options.json) {
    const Stream stream(options, text);
    stream.begin(prompts[0], generator.reads_source());
    generator.generate(prompts, generation, stream);
    fmt::print("\n");
    return;
  }
  const auto results = results_of(prompts, generation, generator);
  for (size_t i = 0; i < results.size(); ++i)
    for (const Hypothesis& found : results[i])
      print_one(options, prompts[i], found, text, generator.reads_source());
}

void run_generate(const GenerateCommand& options) {
  DefaultBounds bounds;
  const CompileOptions compiled = compile_options(options, bounds);
  Model model = compile_or_load(options.model, compiled, options.weights, options.flags);
  model.bounds = bounds;
  const GenerationOptions generation = options.generation.options(model.about, options.weights.seed);
  if (const std::string remark = options.generation.remark(generation); !remark.empty())
    fmt::print(stderr, "{}\n", remark);
  auto session = open_session(model, options.weights);
  Generator generator(*session);
  print_continuations(options, generation, model.reads_bytes(), generator);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue prompts, or translate sources, with a trained model");
  command->add_option("model", options->model, "model directory, run directory, spec or plan")->required();
  command->add_option("--prompt", options->prompts, "text (models trained on bytes); - reads standard input");
  command->add_option("--ids", options->ids,
                      "token ids, such as \"15496 11 995\"; of an encoder-decoder model, its source");
  command->add_flag("--json", options->json, "print one JSON object a prompt");
  options->generation.add_to(*command);
  options->flags.add_to(*command);
  options->weights.add_to(*command);
  on_call(command, options, run_generate);
}

}  // namespace smelt::cli
