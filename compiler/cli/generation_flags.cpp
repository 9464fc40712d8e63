#include "compiler/cli/generation_flags.h"

#include <fmt/ranges.h>

#include "runtime/error.h"

namespace smelt::cli {
namespace {

template <typename T>
void override_with(const std::optional<T>& flag, T& value) {
  if (flag) value = *flag;
}

/// Special tokens of models whose generation config does not name them.
void read_tokens(const Json& about, GenerationOptions& options) {
  if (!about.is_object()) return;
  const auto read = [&](const char* name, auto& member) {
    if (const Json id = about.value(name, Json()); id.is_number_integer()) member = id.get<int32_t>();
  };
  read("decoder_start_token_id", options.decoder_start_token_id);
  read("forced_bos_token_id", options.forced_bos_token_id);
  read("forced_eos_token_id", options.forced_eos_token_id);
  const bool named = about.value("generation", Json::object()).contains("eos_token_id");
  const Json ends = about.value("eos_token_id", Json());
  if (named || !ends.is_array()) return;
  for (const Json& id : ends)
    if (id.is_number_integer()) options.eos_token_id.push_back(id.get<int32_t>());
}

}  // namespace

void GenerationFlags::add_to(CLI::App& app) {
  app.add_option("--max-new-tokens,--max_new_tokens", max_new_tokens, "tokens to add");
  app.add_flag("--do-sample,--do_sample", do_sample, "draw from the distribution instead of its maximum");
  app.add_option("--temperature", temperature, "0 = greedy");
  app.add_option("--top-k,--top_k", top_k, "the k most probable tokens; 0 = all");
  app.add_option("--top-p,--top_p", top_p, "the most probable tokens that add up to p");
  app.add_option("--min-p,--min_p", min_p, "tokens at least so probable, relative to the first");
  app.add_option("--repetition-penalty,--repetition_penalty", repetition_penalty, "1 = none");
  app.add_option("--no-repeat-ngram-size,--no_repeat_ngram_size", no_repeat_ngram_size, "0 = any may repeat");
  app.add_option("--eos-token-id,--eos_token_id", eos_token_id, "ids that end a sequence; \"\" = none");
  app.add_option("--num-beams,--num_beams", num_beams, "1; beam search is not supported yet");
  app.add_option("--length-penalty,--length_penalty", length_penalty,
                 "of beam search, which is not supported yet: changes nothing");
  app.add_flag("--sliding-window", sliding_window,
               "go on beyond the model's length, from the last tokens only");
}

GenerationOptions GenerationFlags::options(const Json& about, uint32_t seed) const {
  GenerationOptions options;
  if (about.is_object() && about["generation"].is_object())
    read_generation_config(about["generation"].dump(), options);
  read_tokens(about, options);
  if (num_beams != 1)
    fail("--num-beams {}: beam search is not supported; leave it out for greedy decoding or give --do-sample",
         num_beams);
  override_with(max_new_tokens, options.max_new_tokens);
  override_with(temperature, options.temperature);
  override_with(top_k, options.top_k);
  override_with(top_p, options.top_p);
  override_with(min_p, options.min_p);
  override_with(repetition_penalty, options.repetition_penalty);
  override_with(no_repeat_ngram_size, options.no_repeat_ngram_size);
  if (eos_token_id) options.eos_token_id = parse_token_ids(*eos_token_id);
  options.do_sample |= do_sample;
  options.sliding_window = sliding_window;
  options.seed = seed;
  options.validate();
  return options;
}

std::string GenerationFlags::remark(const GenerationOptions& resolved) const {
  std::vector<std::string> notes;
  const auto note = [&](const std::vector<std::string>& idle, const char* without) {
    if (!idle.empty())
      notes.push_back(fmt::format("note: {} {} nothing without {}", fmt::join(idle, ", "),
                                  idle.size() == 1 ? "changes" : "change", without));
  };
  std::vector<std::string> of_sampling, of_beams;
  if (temperature && *temperature != 0) of_sampling.push_back("--temperature");
  if (top_k) of_sampling.push_back("--top-k");
  if (top_p) of_sampling.push_back("--top-p");
  if (min_p) of_sampling.push_back("--min-p");
  if (length_penalty) of_beams.push_back("--length-penalty");
  if (!resolved.do_sample) note(of_sampling, "--do-sample");
  note(of_beams, "beam search, which is not supported yet");
  return fmt::format("{}", fmt::join(notes, "\n"));
}

}  // namespace smelt::cli
