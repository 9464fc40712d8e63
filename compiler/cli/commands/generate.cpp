// smelt generate: text where the model has a tokenizer or its tokens are bytes, else token ids.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/continue_prompts.h"
#include "compiler/cli/shared/chat_text.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_file.h"
#include "compiler/cli/shared/prompt_text.h"
#include "runtime/base/error.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/plan/plan_ranks.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

constexpr size_t kPromptsAtOnce = 8;  // where --max says nothing of B: caches take memory for each

struct GenerateCommand {
  std::string model, prompt_file, output;
  std::vector<std::string> prompts, ids;
  bool json = false, no_special_tokens = false, chat = false;
  CompileFlags flags;
  WeightFlags weights;
  GenerationFlags generation;

  /// Returns whether results are printed as they come, for people.
  bool for_people() const { return !json && output.empty(); }
};

/// A launcher gives it to rank 0 alone.
std::string standard_input(InferenceRanks* ranks) {
  const auto read = [] { return std::string(std::istreambuf_iterator<char>(std::cin), {}); };
  return ranks ? ranks->of_first("standard input", read) : read();
}

std::vector<GivenPrompt> given_prompts(const GenerateCommand& options, InferenceRanks* ranks) {
  std::vector<GivenPrompt> prompts;
  for (const std::string& text : options.prompts)
    prompts.push_back({.text = text == "-" ? standard_input(ranks) : text, .ids = {}, .place = {}});
  for (const std::string& text : options.ids)
    prompts.push_back({.text = {}, .ids = parse_token_ids(text), .place = {}});
  if (!options.prompt_file.empty())
    for (GivenPrompt& prompt : read_prompt_file(options.prompt_file)) prompts.push_back(std::move(prompt));
  if (prompts.empty())
    fail(
        "there is no prompt: give --prompt TEXT (models with a tokenizer), --ids \"15496 11\" or --prompts "
        "FILE");
  return prompts;
}

/// Returns the tokens of a prompt. An error in a prompt of a file names the line.
Generator::Tokens tokens_of(const GivenPrompt& prompt, const PromptText& texts, const Generator& generator,
                            const GenerationOptions& generation) {
  if (prompt.place.empty()) return prompt.ids ? *prompt.ids : texts.encode(prompt.text);
  Generator::Tokens tokens;
  try {
    tokens = prompt.ids ? *prompt.ids : texts.encode(prompt.text);
  } catch (const Error& error) {
    fail_with(error.status(), "{}: {}", prompt.place, error.what());
  }
  generator.check(tokens, prompt.place, generation);
  return tokens;
}

bool is_first(const InferenceRanks* ranks) { return !ranks || ranks->is_first(); }

/// Lines of results, on standard output or in a file that is there as a whole or not at all. All ranks have
/// the same, and the first one writes them.
class ResultLines {
 public:
  ResultLines(const std::string& file, bool writes) : writes_(writes) {
    if (!file.empty() && writes) file_.emplace(file);
  }
  void add(const std::string& line) {
    if (!writes_) return;
    if (file_) return file_->write(line + "\n");
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  void finish() {
    if (file_) file_->commit();
  }

 private:
  bool writes_;
  std::optional<AtomicFile> file_;
};

/// Every new token as it comes; only where one sequence is made.
class Stream {
 public:
  Stream(bool as_text, const PromptText& texts, bool prints) : prints_(prints) {
    if (as_text) text_ = texts.stream();
  }
  void show(const Generator::Tokens& tokens) const {
    if (!prints_) return;
    for (const int32_t token : tokens) fmt::print("{}", text_ ? text_(token) : fmt::format("{} ", token));
    std::fflush(stdout);
  }
  void finish() const {
    if (prints_) fmt::print("{}\n", text_ ? text_(std::nullopt) : "");
  }

 private:
  bool prints_;
  std::function<std::string(std::optional<int32_t>)> text_;
};

/// All that is known once the model is open.
struct Work {
  const GenerateCommand& options;
  const GenerationOptions& generation;
  const PromptText& texts;
  Generator& generator;
  const std::vector<GivenPrompt>& given;
  InferenceRanks* ranks = nullptr;  // that do the same with parts of the model
  std::vector<Generator::Tokens> prompts = {};

  bool as_text(size_t prompt) const { return texts.known() && given[prompt].is_text(); }
  /// A source is not part of what a decoder writes.
  Generator::Tokens written_before(size_t prompt) const {
    return generator.reads_source() ? Generator::Tokens() : prompts[prompt];
  }
  bool streams() const {
    return options.for_people() && prompts.size() == 1 && generation.num_beams == 1 &&
           generation.num_return_sequences == 1;
  }
};

std::string json_line(const Work& work, size_t prompt, const Hypothesis& found,
                      const Generator::Tokens& all) {
  Json json = {{"prompt_ids", work.prompts[prompt]}, {"new_ids", found.tokens}};
  if (work.given[prompt].line > 0) json["line"] = work.given[prompt].line;
  if (!std::isnan(found.score)) json["score"] = found.score;
  if (work.texts.known()) json["text"] = work.texts.decode(all);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string line_of(const Work& work, size_t prompt, const Hypothesis& found) {
  Generator::Tokens all = work.written_before(prompt);
  all.insert(all.end(), found.tokens.begin(), found.tokens.end());
  if (!work.options.for_people()) return json_line(work, prompt, found, all);
  return work.as_text(prompt) ? work.texts.decode(all) : fmt::format("{}", fmt::join(all, " "));
}

CompileOptions compile_options(const GenerateCommand& options, const Model& model, size_t prompts,
                               DefaultBounds& bounds) {
  CompileOptions result = options.flags.options();
  if (result.build.cache_pages > 0)
    fail(
        "--cache-pages is for plans to serve (smelt compile, smelt serve); generate keeps a row for each "
        "prompt");
  result.mode = Mode::infer;
  const auto at_once = static_cast<int64_t>(std::min(prompts, kPromptsAtOnce));
  const int64_t beams = options.generation.options(model.about, options.weights.seed).num_beams;
  bounds.add(result.build.bounds, "B", at_once * beams, "the number of prompts and beams");
  result.entries = generation_entries(model, result);
  return result;
}

/// One prompt is continued as it is printed.
GenerationClock stream_one(const Work& work) {
  const Stream stream(work.as_text(0), work.texts, is_first(work.ranks));
  GenerationClock clock;
  bool has_begun = false;
  const auto begin = [&] {  // nothing is printed of what is refused
    if (!std::exchange(has_begun, true)) stream.show(work.written_before(0));
  };
  work.generator.generate(work.prompts, work.generation, [&](size_t, int32_t token) {
    begin();
    clock.token();
    stream.show({token});
    return true;
  });
  begin();
  stream.finish();
  return clock;
}

/// Prints each of several prompts when it and those before it are done.
GenerationClock print_all(const Work& work, ResultLines& lines) {
  GenerationClock clock;
  continue_prompts(work.generator, work.prompts, work.generation, clock,
                   [&](size_t prompt, std::span<const Hypothesis> results) {
                     for (const Hypothesis& found : results) lines.add(line_of(work, prompt, found));
                   });
  return clock;
}

/// Runs the prompts and one more step, for the choices that a device makes in its first runs.
void run_shortly(const Work& work) {
  constexpr int64_t kFewTokens = 3;
  GenerationOptions few = work.generation;
  few.max_new_tokens = std::min(few.new_tokens(0), kFewTokens);
  few.max_length.reset();
  few.min_new_tokens = few.min_length = 0;
  GenerationClock clock;
  continue_prompts(work.generator, work.prompts, few, clock, [](size_t, std::span<const Hypothesis>) {});
}

void generate(const GenerateCommand& options, const std::vector<GivenPrompt>& given,
              const GenerationOptions& generation, const Model& model, ResultLines& lines,
              InferenceRanks* ranks) {
  SessionOptions session_options = options.weights.session_options();
  if (ranks)
    ranks->add_to(session_options, *model.plan);
  else
    require_mesh(*model.plan, nullptr);
  auto session = open_session(model, options.weights, session_options);
  Generator generator(*session);
  const PromptText texts(model, generator.vocabulary(), !options.no_special_tokens && !options.chat);
  Work work{options, generation, texts, generator, given, ranks};
  for (const GivenPrompt& prompt : given)
    work.prompts.push_back(tokens_of(prompt, texts, generator, generation));
  if (ranks) ranks->share_choices(*session, [&] { run_shortly(work); });
  const GenerationClock clock = work.streams() ? stream_one(work) : print_all(work, lines);
  const std::string speed = clock.text(*model.plan);
  lines.finish();
  if (is_first(ranks) && (!options.json || options.flags.values.timing)) fmt::print(stderr, "{}\n", speed);
}

/// A file of results takes the place of what has its name.
void check_output(const GenerateCommand& options) {
  std::error_code ignored;
  if (!options.output.empty() && std::filesystem::equivalent(options.output, options.prompt_file, ignored))
    fail("--output {}: this is the file of the prompts; name another", options.output);
}

/// Replaces each text by the chat whose one message it is, as the model's template renders it.
void render_chats(std::vector<GivenPrompt>& prompts, const Model& model) {
  const std::optional<ChatText> chats = ChatText::load(model.path);
  if (!chats)
    fail(
        "--chat: '{}' has no chat template: expected chat_template.jinja, or chat_template in "
        "tokenizer_config.json",
        model.path.string());
  for (GivenPrompt& prompt : prompts) {
    if (prompt.ids) fail("--chat: expected texts, given token ids; leave out --chat, or give --prompt");
    prompt.text = chats->render({.messages = {{{"role", "user"}, {"content", prompt.text}}}});
  }
}

/// `all`: every option with its value, in which ranks must not differ.
void run_generate(const GenerateCommand& options, const Json& all, InferenceRanks* ranks) {
  std::vector<GivenPrompt> given = given_prompts(options, ranks);
  ResultLines lines(options.output, is_first(ranks));
  DefaultBounds bounds;
  Model model = open_model(options.model, options.weights);
  if (model.weights && !is_first(ranks)) model.weights->note.clear();
  if (options.chat) render_chats(given, model);
  CompileOptions compiled = compile_options(options, model, given.size(), bounds);
  if (ranks) ranks->add_to(compiled);
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first(ranks), flags.says_memory &= is_first(ranks);
  compile_model(model, compiled, flags);
  model.bounds = bounds;
  if (ranks) ranks->agree("generation", model, all);
  const GenerationOptions generation = options.generation.options(model.about, options.weights.seed);
  if (const std::string remark = options.generation.remark(generation); !remark.empty() && is_first(ranks))
    fmt::print(stderr, "{}\n", remark);
  if (is_first(ranks)) tell_unknown_fields(model);
  generate(options, given, generation, model, lines, ranks);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue prompts, or translate sources, with a trained model");
  command->add_option("model", options->model, "model directory, run directory, spec or plan")->required();
  command->add_option("--prompt", options->prompts,
                      "text (models with a tokenizer, or of bytes); - reads standard input");
  command->add_flag(
      "--no-special-tokens", options->no_special_tokens,
      "add none around a prompt, such as a chat that a template has rendered (docs/guides/tokenizers.md)");
  command->add_flag("--chat", options->chat,
                    "each prompt is a message of the user: answer it, by the model's chat template");
  command->add_option("--ids", options->ids,
                      "token ids, such as \"15496 11 995\"; of an encoder-decoder model, its source");
  command->add_option("--prompts", options->prompt_file,
                      "file with a prompt a line; of .jsonl files each line is an object, "
                      R"({"prompt": "a text"} or {"ids": [15496, 11]})");
  command->add_flag("--json", options->json, "print one JSON object a result");
  command->add_option("--output,-o", options->output,
                      "write one JSON object a result to this file, which is made when all are done");
  options->generation.add_to(*command);
  options->flags.add_to(*command, {OptionGroup::caches, OptionGroup::sampling, OptionGroup::ranks});
  options->weights.add_to(*command);
  command->callback([options, command] {
    check_output(*options);
    infer_over_ranks(options->flags.values.mesh, "generate", [&](InferenceRanks* ranks) {
      run_generate(*options, resolved_config(*command), ranks);
    });
  });
}

}  // namespace smelt::cli
