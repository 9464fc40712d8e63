#include "compiler/cli/shared/generation_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

/// The conversion of a flag's text to a value of generation_config.json.
enum class Text : uint8_t {
  value,  // a number, true, false or a word
  ids,    // token ids, with commas or spaces between them
  json    // lists of lists
};
/// The mode without which a flag has no effect.
enum class Needs : uint8_t { nothing, sampling, beams };

struct Flag {
  const char* name;
  Text text;
  Needs needs;
  const char* help;
};

constexpr Flag kFlags[] = {
    {"max_new_tokens", Text::value, Needs::nothing, "tokens to add"},
    {"max_length", Text::value, Needs::nothing,
     "of a prompt and its new tokens together, where max_new_tokens is not given"},
    {"min_new_tokens", Text::value, Needs::nothing, "no end before so many new ones"},
    {"min_length", Text::value, Needs::nothing, "the same, the prompt counted in"},
    {"temperature", Text::value, Needs::sampling, "0 = greedy"},
    {"top_k", Text::value, Needs::sampling, "the k most probable tokens; 0 = all"},
    {"top_p", Text::value, Needs::sampling, "the most probable tokens that add up to p"},
    {"min_p", Text::value, Needs::sampling, "tokens at least so probable, relative to the first"},
    {"num_beams", Text::value, Needs::nothing, "beams of a beam search; 1 = none"},
    {"num_return_sequences", Text::value, Needs::nothing, "results of each prompt"},
    {"length_penalty", Text::value, Needs::beams, "> 0 favours long results, < 0 short ones"},
    {"length_score", Text::value, Needs::beams,
     "what length_penalty is a power of: power (tokens, as fairseq), gnmt ((5 + tokens) / 6), or none at "
     "all"},
    {"num_beam_groups", Text::value, Needs::nothing, "groups of beams that keep apart; 1 = none"},
    {"diversity_penalty", Text::value, Needs::beams,
     "what a token loses for each beam of a group before that has chosen it"},
    {"diverse_lambda", Text::value, Needs::beams,
     "what a beam's candidate loses for each better one of that beam (LightSeq)"},
    {"early_stopping", Text::value, Needs::beams, "true, false or never: when enough has ended"},
    {"repetition_penalty", Text::value, Needs::nothing, "1 = none"},
    {"presence_penalty", Text::value, Needs::nothing,
     "subtracted from the scores of tokens that the new text has, -2 to 2; default: 0"},
    {"frequency_penalty", Text::value, Needs::nothing,
     "subtracted once for each occurrence in the new text, -2 to 2; default: 0"},
    {"encoder_repetition_penalty", Text::value, Needs::nothing, "> 1 favours tokens of the source; 1 = none"},
    {"no_repeat_ngram_size", Text::value, Needs::nothing, "0 = any may repeat"},
    {"encoder_no_repeat_ngram_size", Text::value, Needs::nothing, "the same of n-grams in the source"},
    {"eos_token_id", Text::ids, Needs::nothing, "ids that end a sequence; \"\" = none"},
    {"forced_bos_token_id", Text::value, Needs::nothing, "the first new token"},
    {"forced_eos_token_id", Text::ids, Needs::nothing, "the last one of max_new_tokens"},
    {"suppress_tokens", Text::ids, Needs::nothing, "ids that never come"},
    {"allowed_token_ids", Text::ids, Needs::nothing, "the only ids that may come; default: all"},
    {"begin_suppress_tokens", Text::ids, Needs::nothing, "ids that do not come first"},
    {"bad_words_ids", Text::json, Needs::nothing, "sequences that never come, such as \"[[5],[7,9]]\""},
    {"sequence_bias", Text::json, Needs::nothing,
     "added to the score of what completes a sequence, such as \"[[[7,9],2.5]]\""},
    {"exponential_decay_length_penalty", Text::json, Needs::nothing,
     "\"[start,factor]\": ends become likelier with each token beyond start"},
};

std::string dashed(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

/// Returns the spelling with dashes and, where it differs, the one with underscores.
std::string spellings(const std::string& name) {
  const std::string first = dashed(name), second = "--" + name;
  return first == second ? first : first + "," + second;
}

Json value_of(const Flag& flag, const std::string& text) {
  if (flag.text == Text::ids) return parse_token_ids(text);
  Json value = parse_json_or_null(text);
  if (!value.is_null()) return value;
  if (flag.text == Text::json) fail("{} {}: expected JSON, {}", dashed(flag.name), text, flag.help);
  return text;
}

}  // namespace

void GenerationFlags::add_to(CLI::App& app) {
  app.add_flag_function(
      "--do-sample,--do_sample,!--no-do-sample", [this](int64_t count) { do_sample = count > 0; },
      "draw from the distribution instead of its maximum; --do-sample=false, too, overrides the model's");
  for (const Flag& flag : kFlags)
    app.add_option_function<std::string>(
        spellings(flag.name), [this, name = flag.name](const std::string& text) { given[name] = text; },
        flag.help);
  app.add_flag("--sliding-window", sliding_window,
               "go on beyond the model's length, from the last tokens only");
}

GenerationOptions GenerationFlags::options(const Json& about, uint32_t seed) const {
  GenerationOptions options = model_generation_options(about.is_null() ? "" : about.dump());
  Json overrides = Json::object();
  for (const Flag& flag : kFlags)
    if (const auto text = given.find(flag.name); text != given.end())
      overrides[flag.name] = value_of(flag, text->second);
  if (do_sample) overrides["do_sample"] = *do_sample;
  read_generation_options(overrides.dump(), options);
  options.sliding_window = sliding_window;
  options.seed = seed;
  return options;
}

void tell_unknown_fields(const Model& model) {
  const auto unknown = unknown_generation_fields(model.plan->model);
  if (!unknown.empty())
    fmt::print(stderr, "note: generation_config.json: {} {} not read\n", fmt::join(unknown, ", "),
               unknown.size() == 1 ? "is" : "are");
}

std::string GenerationFlags::remark(const GenerationOptions& resolved) const {
  std::vector<std::string> notes;
  const auto note = [&](Needs needs, const char* without) {
    std::vector<std::string> idle;
    for (const Flag& flag : kFlags)
      if (const auto text = given.find(flag.name); text != given.end() && flag.needs == needs)
        if (flag.name != std::string("temperature") || resolved.temperature != 0)
          idle.push_back(dashed(flag.name));
    if (!idle.empty())
      notes.push_back(fmt::format("note: {} {} nothing without {}", fmt::join(idle, ", "),
                                  idle.size() == 1 ? "changes" : "change", without));
  };
  if (!resolved.do_sample) note(Needs::sampling, "--do-sample");
  if (resolved.num_beams == 1) note(Needs::beams, "--num-beams");
  return fmt::format("{}", fmt::join(notes, "\n"));
}

}  // namespace smelt::cli
