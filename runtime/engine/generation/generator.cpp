#include "runtime/engine/generation/generator.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_choice.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/engine/generation/step_loop.h"

namespace smelt {
namespace {

constexpr int64_t kByteVocabulary = 256;

GenerationOptions with_new_tokens(GenerationOptions options, int64_t count) {
  options.max_new_tokens = count;
  options.max_length.reset();
  return options;
}

/// Common properties of prompts that run together: the number of tokens read, and the most new tokens.
struct PromptKind {
  size_t length;
  int64_t new_tokens;
  auto operator<=>(const PromptKind&) const = default;
};

/// Calls `advance` with those of `all` that are not done, and the options of their prompts, until all are
/// done or it returns false; prompts of different `kind` are not mixed.
template <typename T, typename Kind, typename Advance>
void run_by_kind(std::vector<T>& all, const GenerationOptions& options, size_t most, const Kind& kind,
                 const Advance& advance) {
  std::map<PromptKind, std::vector<T*>> by_kind;
  for (T& each : all) by_kind[kind(each.prompt)].push_back(&each);
  for (auto& [what, group] : by_kind)
    for (size_t begin = 0; begin < group.size(); begin += most) {
      const auto first = group.begin() + static_cast<ptrdiff_t>(begin);
      std::vector<T*> live(first, first + static_cast<ptrdiff_t>(std::min(most, group.size() - begin)));
      for (std::erase_if(live, [](const T* each) { return each->done(); }); !live.empty();
           std::erase_if(live, [](const T* each) { return each->done(); }))
        if (!advance(std::span<T*>(live), with_new_tokens(options, what.new_tokens))) return;
    }
}

/// Returns the greatest lengths of prompts with all of their new tokens.
template <typename Prompt>
LongestText longest_of(std::span<const Prompt> prompts, const GenerationOptions& options) {
  LongestText longest;
  for (const Prompt& prompt : prompts) {
    longest.tokens = std::max(
        longest.tokens, prompt.tokens.size() + static_cast<size_t>(options.new_tokens(prompt.tokens.size())));
    longest.source = std::max(longest.source, prompt.source.size());
  }
  return longest;
}

}  // namespace

/// The beginning of one sequence.
struct Generator::Prompt {
  Tokens tokens;       // of the decoder, as given
  size_t padding = 0;  // tokens before the first that is none
  Tokens source;       // as History::source
  Tokens read, mask;   // by the first stack; the mask of a source where it has holes

  History history(const Tokens& all) const { return {all, tokens.size(), padding, source}; }
};

/// One continuation that is drawn token by token.
struct Generator::Sequence {
  size_t index;
  const Prompt& prompt;
  Tokens tokens;
  bool ended;
  bool done() const { return ended; }
  History history() const { return prompt.history(tokens); }
  void append(int32_t token, const GenerationOptions& options) {
    tokens.push_back(token);
    const auto fresh = static_cast<int64_t>(tokens.size() - prompt.tokens.size());
    ended = options.ends(token) || fresh == options.max_new_tokens;
  }
};

/// Receivers of new tokens: a callback, or a list.
struct Generator::Listener {
  const OnToken& on_token;
  LogProbabilities* log_probabilities;
  /// Returns whether to go on.
  bool report(size_t index, int32_t token, float log_p) const {
    if (log_probabilities) (*log_probabilities)[index].push_back(log_p);
    return !on_token || on_token(index, token);
  }
};

/// One prompt whose continuations a beam search finds.
struct Generator::Sentence {
  const Prompt& prompt;
  BeamGroups beams;
  bool done() const { return beams.done(); }
};

Generator::Generator(Session& session, std::string entry)
    : session_(session), decode_(session.plan()), model_(session, decode_, std::move(entry)) {
  if (model_.cached() && decode_.samplers.tokens) loop_.emplace(session, decode_);
  if (model_.cached() && decode_.samplers.beams) beam_loop_.emplace(session, decode_);
}

/// Removes padding at the end. Padding before that is passed to the encoder as a mask, because positions
/// matter.
Generator::Prompt Generator::read_source(const Tokens& source, const std::string& name,
                                         const GenerationOptions& options, const Tokens& mask) const {
  Prompt result{{options.decoder_start_token_id}, 0, source, source, mask};
  while (!result.mask.empty() && result.mask.back() == 0) result.mask.pop_back(), result.read.pop_back();
  if (std::ranges::count(result.mask, 0) == 0) result.mask.clear();
  if (!result.mask.empty() && !model_.takes_mask())
    fail("{}: padding within it; expected an entry with an attention_mask", name);
  return result;
}

Generator::Prompt Generator::read_prompt(const Tokens& prompt, const std::string& name,
                                         const GenerationOptions& options, const Tokens& mask) const {
  if (!mask.empty() && mask.size() != prompt.size())
    fail("{}: a mask of {} tokens; expected {}", name, mask.size(), prompt.size());
  for (size_t i = 0; i < prompt.size(); ++i)
    if (prompt[i] < 0 || prompt[i] >= vocabulary())
      fail("{}: token {} is {}, outside the model's vocabulary of {}", name, i, prompt[i], vocabulary());
  if (prompt.empty() || std::ranges::count(mask, 0) == static_cast<ptrdiff_t>(prompt.size()))
    fail("{} is empty: expected at least one token", name);
  if (reads_source()) return read_source(prompt, name, options, mask);
  Prompt result{prompt,
                static_cast<size_t>(std::ranges::find_if(mask, std::identity()) - mask.begin()),
                prompt,
                {},
                {}};
  for (size_t i = 0; i < prompt.size(); ++i)
    if (mask.empty() || mask[i] != 0) result.read.push_back(prompt[i]);
  return result;
}

/// The last new token is never an input.
void Generator::check_length(const Prompt& prompt, const std::string& name,
                             const GenerationOptions& options) const {
  const int64_t before = reads_source() ? 1 : static_cast<int64_t>(prompt.read.size());
  const int64_t fresh = options.new_tokens(prompt.tokens.size());
  if (options.max_length && fresh < 1)
    fail(
        "{}: its {} tokens leave no room for new ones in a max_length of {}; give max_new_tokens, which "
        "counts "
        "new ones alone",
        name, prompt.tokens.size(), *options.max_length);
  if (options.sliding_window || fresh - 1 <= max_length() - before) return;
  fail(
      "{}: its {} tokens and {} new ones{} exceed the plan's length of {}; ask for fewer, compile with a "
      "larger "
      "bound of T (--max T=, or max= in Python), or allow a sliding window",
      name, before, fresh,
      options.max_length ? fmt::format(" of a max_length of {}", *options.max_length) : "", max_length());
}

void Generator::check(const Tokens& prompt, const std::string& name, const GenerationOptions& options) const {
  check_length(read_prompt(prompt, name, options, {}), name, options);
}

std::vector<Generator::Prompt> Generator::read_prompts(std::span<const Tokens> prompts,
                                                       const GenerationOptions& options,
                                                       std::span<const Tokens> masks) const {
  options.validate(vocabulary());
  if (!masks.empty() && masks.size() != prompts.size())
    fail("{} masks for {} prompts: expected one each, or none", masks.size(), prompts.size());
  std::vector<Prompt> result;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string name = fmt::format("prompt {}", i);
    result.push_back(read_prompt(prompts[i], name, options, masks.empty() ? Tokens() : masks[i]));
    check_length(result.back(), name, options);
  }
  return result;
}

int64_t Generator::new_tokens(const Tokens& prompt, const GenerationOptions& options) const {
  return options.new_tokens(reads_source() ? 1 : prompt.size());
}

/// Returns the length of a prompt that must run with prompts of equal length; 0 if any length may be mixed.
size_t Generator::length_of(const Prompt& prompt) const {
  return model_.mixes_lengths() ? 0 : prompt.read.size();
}

/// `tokens` begin with those of the prompt.
ModelRow Generator::row_of(const Prompt& prompt, const Tokens& tokens) const {
  if (reads_source()) return {tokens, prompt.read, prompt.mask};
  ModelRow row{prompt.read, {}, {}};
  row.tokens.insert(row.tokens.end(), tokens.begin() + static_cast<ptrdiff_t>(prompt.tokens.size()),
                    tokens.end());
  return row;
}

std::vector<Generator::Tokens> Generator::generate(std::span<const Tokens> prompts,
                                                   const GenerationOptions& options, const OnToken& on_token,
                                                   std::span<const Tokens> masks,
                                                   LogProbabilities* log_probabilities) {
  if (options.num_beams == 1)
    return draw_all(read_prompts(prompts, options, masks), options, {on_token, log_probabilities});
  if (log_probabilities)
    fail("num_beams {}: a beam search has scores, not log-probabilities", options.num_beams);
  std::vector<Tokens> results;
  for (auto& found : search(prompts, options, masks))
    for (Hypothesis& each : found) results.push_back(std::move(each.tokens));
  for (size_t i = 0; on_token && i < results.size(); ++i)
    for (const int32_t token : results[i])
      if (!on_token(i, token)) return results;
  return results;
}

std::vector<Generator::Tokens> Generator::draw_all(std::span<const Prompt> prompts,
                                                   const GenerationOptions& options,
                                                   const Listener& listener) {
  std::vector<Sequence> sequences;
  for (const Prompt& prompt : prompts)
    for (int64_t copy = 0; copy < options.num_return_sequences; ++copy)
      sequences.push_back(
          {sequences.size(), prompt, prompt.tokens, options.new_tokens(prompt.tokens.size()) == 0});
  if (listener.log_probabilities) listener.log_probabilities->assign(sequences.size(), {});
  const SamplerKind sampler =
      loop_ ? sampler_of_tokens(decode_, options, longest_of(prompts, options)) : SamplerKind::host;
  run_by_kind(
      sequences, options, static_cast<size_t>(max_batch()),
      [&](const Prompt& prompt) {
        return PromptKind{length_of(prompt), options.new_tokens(prompt.tokens.size())};
      },
      [&](std::span<Sequence*> live, const GenerationOptions& now) {
        return sampler == SamplerKind::host
                   ? draw_by_host(live, now, listener)
                   : advance_ahead(live, now, sampler == SamplerKind::guided, listener);
      });
  std::vector<Tokens> results;
  for (const Sequence& s : sequences)
    results.emplace_back(s.tokens.begin() + static_cast<ptrdiff_t>(s.prompt.tokens.size()), s.tokens.end());
  return results;
}

/// Policy of sequences whose tokens the host draws by their logits.
struct Generator::HostTokens {
  Generator& generator;
  std::span<Sequence*> batch;
  const GenerationOptions& options;
  const Listener& listener;
  bool wanted = true;  // until the listener has heard enough
  std::vector<Sequence*> live = {};
  std::vector<ModelRow> rows = {};
  std::span<const float> logits = {};  // of a step under way

  bool goes_on() const { return wanted && !std::ranges::all_of(batch, &Sequence::done); }
  int64_t under_way() const { return logits.empty() ? 0 : 1; }
  int64_t start() {
    live.clear(), rows.clear();
    std::ranges::remove_copy_if(batch, std::back_inserter(live), &Sequence::done);
    for (const Sequence* s : live) rows.push_back(generator.row_of(s->prompt, s->tokens));
    logits = generator.model_.run(rows);
    return 0;
  }
  void take() {
    const auto all = std::exchange(logits, {});
    const size_t vocabulary = all.size() / rows.size();
    for (size_t i = 0; i < rows.size() && wanted; ++i)
      wanted = take(*live[i], rows[i].tokens.size(), all.subspan(i * vocabulary, vocabulary));
  }
  bool take(Sequence& s, size_t position, std::span<const float> row) const {
    std::vector<double> scores(row.begin(), row.end());
    process_scores(options, s.history(), scores);
    const int32_t token = draw(candidates(scores, options), uniform_number(options.seed, position, s.index));
    s.append(token, options);
    return listener.report(s.index, token, listener.log_probabilities ? log_probability(row, token) : 0);
  }
};

bool Generator::draw_by_host(std::span<Sequence*> batch, const GenerationOptions& options,
                             const Listener& listener) {
  HostTokens steps{*this, batch, options, listener};
  run_steps(steps);
  return steps.wanted;
}

/// Generates tokens by the entry @next, or @next_guided, until the batch must change.
bool Generator::advance_ahead(std::span<Sequence*> batch, const GenerationOptions& options, bool guided,
                              const Listener& listener) {
  std::vector<ModelRow> rows;
  for (const Sequence* s : batch) rows.push_back(row_of(s->prompt, s->tokens));
  model_.cached()->hold(rows);
  std::vector<LoopRow> loop_rows;
  for (size_t i = 0; i < batch.size(); ++i)
    loop_rows.push_back({rows[i].tokens, batch[i]->history(), batch[i]->index});
  bool wanted = true;
  std::vector<Tokens> read;  // since then, the last one of all not yet
  for (const ModelRow& row : rows) read.push_back({row.tokens.back()});
  const size_t runs = loop_->run(loop_rows, options, guided, [&](size_t row, int32_t token, float log_p) {
    if (!wanted) return false;
    Sequence& s = *batch[row];
    s.append(token, options), read[row].push_back(token);
    wanted = listener.report(s.index, token, log_p);
    return wanted && !s.ended;
  });
  for (size_t i = 0; i < read.size(); ++i)
    model_.cached()->note_read(i, std::span(read[i]).first(read[i].size() - 1), runs);
  return wanted;
}

/// Policy of sentences whose beams the host chooses by their logits.
struct Generator::HostBeams {
  Generator& generator;
  std::span<Sentence*> batch;
  const std::function<void(const Sentence&)>& on_done;
  std::vector<Sentence*> live = {};
  std::vector<ModelRow> rows = {};
  std::span<const float> logits = {};  // of a step under way

  bool goes_on() const { return !std::ranges::all_of(batch, &Sentence::done); }
  int64_t under_way() const { return logits.empty() ? 0 : 1; }
  int64_t start() {
    live.clear(), rows.clear();
    std::ranges::remove_copy_if(batch, std::back_inserter(live), &Sentence::done);
    for (const Sentence* sentence : live)
      for (const Tokens& tokens : sentence->beams.rows())
        rows.push_back(generator.row_of(sentence->prompt, tokens));
    logits = generator.model_.run(rows);
    return 0;
  }
  void take() {
    auto all = std::exchange(logits, {});
    const size_t vocabulary = all.size() / rows.size();
    for (Sentence* sentence : live) {
      const size_t count = sentence->beams.rows().size() * vocabulary;
      sentence->beams.advance(all.first(count));
      all = all.subspan(count);
    }
    for (const Sentence* sentence : live)
      if (sentence->done()) on_done(*sentence);
  }
};

std::vector<std::vector<Hypothesis>> Generator::search(std::span<const Tokens> prompts,
                                                       const GenerationOptions& options,
                                                       std::span<const Tokens> masks,
                                                       const OnFound& on_found) {
  const std::vector<Prompt> all = read_prompts(prompts, options, masks);
  std::vector<Sentence> sentences;
  const auto new_tokens = [&](const Prompt& prompt) { return options.new_tokens(prompt.tokens.size()); };
  for (const Prompt& prompt : all)
    sentences.push_back({prompt, BeamGroups(with_new_tokens(options, new_tokens(prompt)), prompt.tokens,
                                            prompt.padding, prompt.source, sentences.size())});
  const auto most = static_cast<size_t>(std::max<int64_t>(1, max_batch() / options.num_beams));
  const SamplerKind sampler =
      beam_loop_ ? sampler_of_beams(decode_, options, longest_of<Prompt>(all, options)) : SamplerKind::host;
  const bool ahead = sampler != SamplerKind::host;
  const auto found = [&](const Sentence& sentence) {
    return sentence.beams.best(static_cast<size_t>(options.num_return_sequences));
  };
  const std::function<void(const Sentence&)> on_done = [&](const Sentence& sentence) {
    if (on_found) on_found(static_cast<size_t>(&sentence - sentences.data()), found(sentence));
  };
  run_by_kind(
      sentences, options, most,
      [&](const Prompt& prompt) {
        return PromptKind{ahead ? tokens_of(prompt) : length_of(prompt), new_tokens(prompt)};
      },
      [&](std::span<Sentence*> live, const GenerationOptions& now) {
        if (!ahead) return run_steps(HostBeams{*this, live, on_done}), true;
        finish_ahead(live, now, sampler == SamplerKind::guided);
        for (const Sentence* sentence : live) on_done(*sentence);
        return true;
      });
  std::vector<std::vector<Hypothesis>> results;
  for (const Sentence& sentence : sentences) results.push_back(found(sentence));
  return results;
}

/// Returns the length of a prompt whose beams must continue at one position with others; 0 if the prompt is a
/// source that may have any length.
size_t Generator::tokens_of(const Prompt& prompt) const {
  return reads_source() ? length_of(prompt) : prompt.read.size();
}

/// Runs a whole search by the entry @next_beams, or @next_beams_guided. The beams that remain in the caches
/// are not continued.
void Generator::finish_ahead(std::span<Sentence*> batch, const GenerationOptions& options, bool guided) {
  std::vector<ModelRow> rows;
  for (const Sentence* sentence : batch)
    rows.push_back(row_of(sentence->prompt, sentence->beams.only().rows().front()));
  model_.cached()->hold(rows);
  std::vector<BeamLoop::Sentence> sentences;
  for (size_t i = 0; i < batch.size(); ++i)
    sentences.push_back(
        {rows[i].tokens, batch[i]->prompt.history(batch[i]->prompt.tokens), batch[i]->beams.only()});
  model_.cached()->forget();
  beam_loop_->run(sentences, options, guided);
}

std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary) {
  if (vocabulary != kByteVocabulary)
    fail(
        "a text prompt needs a tokenizer beside the model, which has {} tokens, and there is none; give "
        "token "
        "ids instead (only models trained on bytes, with a vocabulary of 256, take text without one)",
        vocabulary);
  std::vector<int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string decode_bytes(std::span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    if (token < 0 || token >= kByteVocabulary) fail("token {} is no byte", token);
    text += static_cast<char>(token);
  }
  return text;
}

std::vector<int32_t> parse_token_ids(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t\r\n[]";
  std::vector<int32_t> ids;
  for (size_t i = text.find_first_not_of(kSeparators); i != std::string_view::npos;
       i = text.find_first_not_of(kSeparators, i)) {
    const size_t end = std::min(text.find_first_of(kSeparators, i), text.size());
    int32_t id = 0;
    const auto [stop, error] = std::from_chars(text.data() + i, text.data() + end, id);
    if (error != std::errc{} || stop != text.data() + end)
      fail("'{}' is no token id: expected whole numbers such as \"15496, 11, 995\"", text.substr(i, end - i));
    ids.push_back(id);
    i = end;
  }
  return ids;
}

}  // namespace smelt
