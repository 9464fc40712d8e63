// smelt generate: text where the model has a tokenizer or its tokens are bytes, else token ids.
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>

#include "compiler/cli/command.h"
#include "compiler/cli/generation_flags.h"
#include "compiler/cli/model.h"
#include "compiler/cli/prompt_text.h"
#include "compiler/cli/text_table.h"
#include "runtime/error.h"
#include "runtime/generation/generator.h"

namespace smelt::cli {
namespace {

struct GenerateCommand {
  std::string model;
  std::vector<std::string> prompts, ids;
  bool json = false, no_special_tokens = false;
  CompileFlags flags;
  WeightFlags weights;
  GenerationFlags generation;
};

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

std::vector<Generator::Tokens> read_prompts(const GenerateCommand& options, const PromptText& texts) {
  std::vector<Generator::Tokens> prompts;
  for (const std::string& text : options.prompts)
    prompts.push_back(texts.encode(text == "-" ? standard_input() : text));
  for (const std::string& text : options.ids) prompts.push_back(parse_token_ids(text));
  if (prompts.empty())
    fail("there is no prompt: give --prompt TEXT (models with a tokenizer) or --ids \"15496 11\"");
  return prompts;
}

/// Every new token as it comes; only where one sequence is made.
class Stream {
 public:
  Stream(const GenerateCommand& options, const PromptText& texts) : on_(!options.json) {
    if (texts.known() && !options.prompts.empty()) text_ = texts.stream();
  }

  /// A source is not part of what a decoder writes.
  void begin(const Generator::Tokens& prompt, bool source) const {
    if (!source) show(prompt);
  }
  bool operator()(size_t, int32_t token) const {
    show({token});
    return true;
  }
  void finish() const {
    if (on_) fmt::print("{}\n", text_ ? text_(std::nullopt) : "");
  }

 private:
  void show(const Generator::Tokens& tokens) const {
    if (!on_) return;
    for (const int32_t token : tokens) fmt::print("{}", text_ ? text_(token) : fmt::format("{} ", token));
    std::fflush(stdout);
  }
  std::function<std::string(std::optional<int32_t>)> text_;
  bool on_;
};

void print_one(const GenerateCommand& options, const Generator::Tokens& prompt, const Hypothesis& found,
               const PromptText& texts, bool source) {
  Generator::Tokens all = source ? Generator::Tokens() : prompt;
  all.insert(all.end(), found.tokens.begin(), found.tokens.end());
  if (options.json) {
    Json json = {{"prompt_ids", prompt}, {"new_ids", found.tokens}};
    if (!std::isnan(found.score)) json["score"] = found.score;
    if (texts.known()) json["text"] = texts.decode(all);
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  } else if (texts.known() && !options.prompts.empty()) {
    fmt::print("{}\n", texts.decode(all));
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

CompileOptions compile_options(const GenerateCommand& options, const Model& model, DefaultBounds& bounds) {
  CompileOptions result = options.flags.options();
  result.mode = Mode::infer;
  const size_t prompts = std::max<size_t>(1, options.prompts.size() + options.ids.size());
  bounds.add(result.build.bounds, "B", static_cast<int64_t>(prompts) * options.generation.beams(),
             "the number of prompts and beams");
  result.entries = generation_entries(model, result);
  return result;
}

/// One prompt is continued as it is printed; several are printed when all are done. Returns how many tokens
/// are new.
size_t print_continuations(const GenerateCommand& options, const GenerationOptions& generation,
                           const PromptText& texts, Generator& generator) {
  const auto prompts = read_prompts(options, texts);
  const bool one = prompts.size() == 1 && generation.num_beams == 1 && generation.num_return_sequences == 1;
  if (one && !options.json) {
    const Stream stream(options, texts);
    stream.begin(prompts[0], generator.reads_source());
    const size_t count = generator.generate(prompts, generation, stream)[0].size();
    stream.finish();
    return count;
  }
  size_t count = 0;
  const auto results = results_of(prompts, generation, generator);
  for (size_t i = 0; i < results.size(); ++i)
    for (const Hypothesis& found : results[i]) {
      print_one(options, prompts[i], found, texts, generator.reads_source());
      count += found.tokens.size();
    }
  return count;
}

void run_generate(const GenerateCommand& options) {
  DefaultBounds bounds;
  Model model = open_model(options.model, options.weights);
  compile_model(model, compile_options(options, model, bounds), options.flags);
  model.bounds = bounds;
  const GenerationOptions generation = options.generation.options(model.about, options.weights.seed);
  if (const std::string remark = options.generation.remark(generation); !remark.empty())
    fmt::print(stderr, "{}\n", remark);
  auto session = open_session(model, options.weights);
  Generator generator(*session);
  const PromptText texts(model, generator.vocabulary(), !options.no_special_tokens);
  const auto begin = std::chrono::steady_clock::now();
  const size_t count = print_continuations(options, generation, texts, generator);
  if (!options.flags.timing) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print(stderr, "{} new tokens in {}, {:.1f} tokens/s\n", count, seconds_text(seconds),
             static_cast<double>(count) / seconds);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue prompts, or translate sources, with a trained model");
  command->add_option("model", options->model, "model directory, run directory, spec or plan")->required();
  command->add_option("--prompt", options->prompts,
                      "text (models with a tokenizer, or of bytes); - reads standard input");
  command->add_flag("--no-special-tokens", options->no_special_tokens,
                    "add none around a prompt: a chat's template has written its own (docs/tokenizers.md)");
  command->add_option("--ids", options->ids,
                      "token ids, such as \"15496 11 995\"; of an encoder-decoder model, its source");
  command->add_flag("--json", options->json, "print one JSON object a prompt");
  options->generation.add_to(*command);
  options->flags.add_to(*command);
  options->flags.add_caches(*command);
  options->weights.add_to(*command);
  on_call(command, options, run_generate);
}

}  // namespace smelt::cli
