// smelt generate: text where the model has a tokenizer or its tokens are bytes, else token ids.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/cli/command.h"
#include "compiler/cli/commands/batch_prompts.h"
#include "compiler/cli/commands/continue_prompts.h"
#include "compiler/cli/commands/serve_caches.h"
#include "compiler/cli/shared/chat_text.h"
#include "compiler/cli/shared/config_file.h"
#include "compiler/cli/shared/draft_model.h"
#include "compiler/cli/shared/generation_flags.h"
#include "compiler/cli/shared/inference_ranks.h"
#include "compiler/cli/shared/model.h"
#include "compiler/cli/shared/prompt_file.h"
#include "compiler/cli/shared/prompt_text.h"
#include "compiler/cli/shared/structured_flags.h"
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
  DraftFlags draft;
  StructuredFlags structured;

  /// Returns the given option that needs a continuous batch in place of a Generator; empty if there is none.
  std::string batch_option() const {
    if (!structured.name().empty()) return structured.name();
    if (draft.most_tokens() == 0) return "";
    return draft.source.empty() ? "--draft-tokens" : "--draft";
  }
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
Generator::Tokens tokens_of(const GivenPrompt& prompt, const PromptText& texts) {
  try {
    return prompt.ids ? *prompt.ids : texts.encode(prompt.text);
  } catch (const Error& error) {
    if (prompt.place.empty()) throw;
    fail_with(error.status(), "{}: {}", prompt.place, error.what());
  }
}

/// Does the same, and checks that a prompt of a file can be continued.
Generator::Tokens tokens_of(const GivenPrompt& prompt, const PromptText& texts, const Generator& generator,
                            const GenerationOptions& generation) {
  Generator::Tokens tokens = tokens_of(prompt, texts);
  if (!prompt.place.empty()) generator.check(tokens, prompt.place, generation);
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
  Generator* generator;  // null if a continuous batch generates
  const std::vector<GivenPrompt>& given;
  InferenceRanks* ranks = nullptr;  // that do the same with parts of the model
  std::vector<Generator::Tokens> prompts = {};

  bool as_text(size_t prompt) const { return texts.known() && given[prompt].is_text(); }
  /// A source is not part of what a decoder writes.
  Generator::Tokens written_before(size_t prompt) const {
    return generator && generator->reads_source() ? Generator::Tokens() : prompts[prompt];
  }
  bool streams() const {
    return options.for_people() && prompts.size() == 1 && generation.num_beams == 1 &&
           generation.num_return_sequences == 1;
  }
};

std::string json_line(const Work& work, size_t prompt, const Hypothesis& found, const Generator::Tokens& all,
                      const BatchResult* drafts) {
  Json json = {{"prompt_ids", work.prompts[prompt]}, {"new_ids", found.tokens}};
  if (work.given[prompt].line > 0) json["line"] = work.given[prompt].line;
  if (!std::isnan(found.score)) json["score"] = found.score;
  if (work.texts.known()) json["text"] = work.texts.decode(all);
  if (drafts)
    json["draft_tokens"] = drafts->draft_tokens, json["kept_draft_tokens"] = drafts->kept_draft_tokens;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// `drafts`: counts of drafts for JSON; null if there are none.
std::string line_of(const Work& work, size_t prompt, const Hypothesis& found,
                    const BatchResult* drafts = nullptr) {
  Generator::Tokens all = work.written_before(prompt);
  all.insert(all.end(), found.tokens.begin(), found.tokens.end());
  if (!work.options.for_people()) return json_line(work, prompt, found, all, drafts);
  return work.as_text(prompt) ? work.texts.decode(all) : fmt::format("{}", fmt::join(all, " "));
}

/// Sets the options of a plan for a continuous batch. Structured output needs no entries that sample.
void compile_for_batch(const GenerateCommand& options, const Model& model, CompileOptions& result) {
  if (options.draft.most_tokens() == 0) {
    result.build.has_sampler = false;
    return;
  }
  if (!model.description) return;
  CacheFlags().apply(model, result);
  add_draft_rows(model, result, options.draft.most_tokens());
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
  if (!options.batch_option().empty()) compile_for_batch(options, model, result);
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
  work.generator->generate(work.prompts, work.generation, [&](size_t, int32_t token) {
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
  continue_prompts(*work.generator, work.prompts, work.generation, clock,
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
  continue_prompts(*work.generator, work.prompts, few, clock, [](size_t, std::span<const Hypothesis>) {});
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
  Work work{options, generation, texts, &generator, given, ranks};
  for (const GivenPrompt& prompt : given)
    work.prompts.push_back(tokens_of(prompt, texts, generator, generation));
  if (ranks) ranks->share_choices(*session, [&] { run_shortly(work); });
  const GenerationClock clock = work.streams() ? stream_one(work) : print_all(work, lines);
  const std::string speed = clock.text(*model.plan);
  lines.finish();
  if (is_first(ranks) && (!options.json || options.flags.values.timing)) fmt::print(stderr, "{}\n", speed);
}

/// Returns names of prompts for messages: their lines in files, or their numbers.
std::vector<std::string> names_of(const std::vector<GivenPrompt>& prompts) {
  std::vector<std::string> names;
  for (const GivenPrompt& prompt : prompts)
    names.push_back(prompt.place.empty() ? fmt::format("prompt {}", names.size()) : prompt.place);
  return names;
}

/// Prints prompts that a continuous batch continues, one as it grows, several when each is done.
GenerationClock print_from_batch(const Work& work, ContinuousBatch& batch,
                                 const std::shared_ptr<structured::Constraint>& constraint,
                                 ResultLines& lines) {
  const bool streams = work.streams(), has_drafts = work.options.draft.most_tokens() > 0;
  const Stream stream(work.as_text(0), work.texts, streams);
  GenerationClock clock;
  bool has_begun = false;
  const auto begin = [&] {  // nothing is printed of what is refused
    if (!std::exchange(has_begun, true) && streams) stream.show(work.written_before(0));
  };
  continue_in_batch(
      batch, {work.prompts, names_of(work.given), work.generation, constraint}, clock,
      [&](size_t prompt, std::span<const BatchResult> results) {
        for (const BatchResult& result : results)
          if (!streams)
            lines.add(line_of(work, prompt, {result.tokens, std::numeric_limits<float>::quiet_NaN()},
                              has_drafts ? &result : nullptr));
      },
      [&](int32_t token) { begin(), stream.show({token}); });
  begin();
  stream.finish();
  return clock;
}

/// Throws Error if a continuous batch cannot do what the options say.
void check_for_batch(const GenerateCommand& options, const GenerationOptions& generation, const Model& model,
                     const InferenceRanks* ranks) {
  const std::string option = options.batch_option();
  if (DecodeInterface(*model.plan).reads_source)
    fail("{}: {} is an encoder-decoder; expected a decoder", option, model.path.string());
  if (ranks) fail("{}: one rank generates such texts; expected no launch", option);
  if (generation.num_beams > 1)
    fail("{} and num_beams {}: a beam search has neither drafts nor specifications; expected 1 beam", option,
         generation.num_beams);
  if (generation.sliding_window)
    fail("{} and --sliding-window: texts of a batch are kept as a whole; leave out one of them", option);
}

ContinuousBatchOptions drafting_batch_options(const GenerateCommand& options, const Session& session,
                                              Session* draft) {
  const size_t tokens = options.draft.most_tokens();
  const size_t rows = CacheRows::exact_rows(session, DecodeInterface(session.plan()).rows);
  return {.slots = tokens == 0 ? 0 : std::min(texts_of_rows(rows, tokens), kPromptsAtOnce),
          .draft = tokens,
          .draft_model = draft};
}

/// Generates with drafts, or texts that satisfy a specification.
void generate_in_batch(const GenerateCommand& options, const std::vector<GivenPrompt>& given,
                       const GenerationOptions& generation, const Model& model, DraftModel* draft,
                       ResultLines& lines) {
  require_mesh(*model.plan, nullptr);
  Session* drafting = draft ? &draft->open(model, options.flags.options(), options.flags) : nullptr;
  auto session = open_session(model, options.weights);
  ContinuousBatch batch(*session, drafting_batch_options(options, *session, drafting));
  const PromptText texts(model, batch.vocabulary(), !options.no_special_tokens && !options.chat);
  Work work{options, generation, texts, nullptr, given};
  for (const GivenPrompt& prompt : given) work.prompts.push_back(tokens_of(prompt, texts));
  const auto constraint = options.structured.constraint(texts);
  const GenerationClock clock = print_from_batch(work, batch, constraint, lines);
  lines.finish();
  if (!options.json || options.flags.values.timing)
    fmt::print(stderr, "{}\n", clock.text(*model.plan, draft ? draft->model().plan.get() : nullptr));
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
  std::optional<DraftModel> draft;
  if (options.draft.by_model()) draft.emplace(options.draft, options.weights);
  if (options.chat) render_chats(given, model);
  CompileOptions compiled = compile_options(options, model, given.size(), bounds);
  if (ranks) ranks->add_to(compiled);
  CompileFlags flags = options.flags;
  flags.values.timing &= is_first(ranks), flags.says_memory &= is_first(ranks);
  compile_model(model, compiled, flags);
  require_text_writer(model.plan->model);
  model.bounds = bounds;
  if (ranks) ranks->agree("generation", model, all);
  const GenerationOptions generation = options.generation.options(model.about, options.weights.seed);
  if (const std::string remark = options.generation.remark(generation); !remark.empty() && is_first(ranks))
    fmt::print(stderr, "{}\n", remark);
  if (is_first(ranks)) tell_unknown_fields(model);
  if (!options.batch_option().empty()) {
    check_for_batch(options, generation, model, ranks);
    return generate_in_batch(options, given, generation, model, draft ? &*draft : nullptr, lines);
  }
  generate(options, given, generation, model, lines, ranks);
}

}  // namespace

void add_generate(CLI::App& app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue prompts, or translate sources, with a trained model");
  command->add_option("model", options->model, "model directory, GGUF file, run directory, spec or plan")
      ->required();
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
  options->draft.add_to(*command);
  options->structured.add_to(*command);
  options->flags.add_to(
      *command, {OptionGroup::caches, OptionGroup::cache_storage, OptionGroup::sampling, OptionGroup::ranks});
  options->weights.add_to(*command);
  command->callback([options, command] {
    check_output(*options);
    options->draft.check();
    infer_over_ranks(options->flags.values.mesh, "generate", [&](InferenceRanks* ranks) {
      run_generate(*options, resolved_config(*command), ranks);
    });
  });
}

}  // namespace smelt::cli
