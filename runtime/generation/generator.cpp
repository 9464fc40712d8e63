#include "runtime/generation/generator.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "runtime/error.h"
#include "runtime/philox.h"

namespace smelt {
namespace {

constexpr uint32_t kSampleId = 0x53414D50;  // its own stream of random numbers
constexpr int64_t kByteVocabulary = 256;

/// Uniform in [0, 1) with 53 bits, for one token of one sequence.
double uniform(uint32_t seed, size_t position, size_t index) {
  const auto w = Philox{.seed = seed, .step = static_cast<uint32_t>(position)}.words(
      kSampleId, static_cast<uint32_t>(index), 0);
  return static_cast<double>((uint64_t{w[1]} << 32 | w[0]) >> 11) * 0x1p-53;
}

const Port& only(std::span<const Port> ports, const char* kind, std::string_view entry, DType dtype,
                 size_t rank) {
  for (const Port& port : ports)
    if (port.dtype == dtype && port.shape.size() == rank && !port.optional) return port;
  fail("entry '{}' has no {} of type {} and rank {}: it cannot generate", entry, kind, name(dtype), rank);
}

/// The token after `length` ones, `before` of which are no new ones.
std::optional<int32_t> forced_token(size_t length, size_t before, const GenerationOptions& options) {
  const bool last = static_cast<int64_t>(length + 1 - before) == options.max_new_tokens;
  if (last && options.forced_eos_token_id) return options.forced_eos_token_id;
  return length == 1 ? options.forced_bos_token_id : std::nullopt;
}

}  // namespace

struct Generator::Sequence {
  size_t index;
  Tokens tokens;
  size_t prompt_length;  // of what stands before the new tokens
  Tokens source, mask;   // of the encoder, or the mask of the prompt itself
  bool done = false;
};

void GenerationOptions::validate() const {
  SamplingOptions::validate();
  if (max_new_tokens < 0) fail("max_new_tokens {}: expected 0 or more", max_new_tokens);
}

Generator::Generator(Session& session, std::string entry) : session_(session), entry_(std::move(entry)) {
  const PlanEntry& plan_entry = session_.entry(entry_);
  const auto named = [&](const char* name) {
    const auto port = std::ranges::find(plan_entry.inputs, name, &Port::name);
    return port == plan_entry.inputs.end() ? nullptr : &*port;
  };
  const Port* decoder = named("decoder_input_ids");
  const Port& ids = decoder ? *decoder : only(plan_entry.inputs, "input", entry_, DType::i32, 2);
  if (decoder) source_input_ = only(plan_entry.inputs, "input", entry_, DType::i32, 2).name;
  if (named("attention_mask")) mask_input_ = "attention_mask";
  const Port& logits = only(plan_entry.outputs, "output", entry_, DType::f32, 3);
  const auto vocabulary = logits.shape[2].constant();
  if (!vocabulary)
    fail("entry '{}', output '{}': expected a constant last dimension (the vocabulary), found {}", entry_,
         logits.name, logits.shape[2].str());
  input_ = ids.name, output_ = logits.name, vocabulary_ = *vocabulary;
  max_batch_ = session_.plan().symbols.upper(ids.shape[0]);
  max_length_ = session_.plan().symbols.upper(ids.shape[1]);
}

void Generator::check_prompt(const Tokens& prompt, size_t index, const GenerationOptions& options) const {
  if (prompt.empty()) fail("prompt {} is empty: expected at least one token", index);
  for (size_t i = 0; i < prompt.size(); ++i)
    if (prompt[i] < 0 || prompt[i] >= vocabulary_)
      fail("prompt {}: token {} is {}, outside the model's vocabulary of {}", index, i, prompt[i],
           vocabulary_);
  // The last new token is never an input.
  const int64_t before = reads_source() ? 1 : static_cast<int64_t>(prompt.size());
  const int64_t needed = before + options.max_new_tokens - 1;
  if (needed > max_length_ && !options.sliding_window)
    fail(
        "prompt {}: its {} tokens and {} new ones exceed the plan's length of {}; ask for fewer, compile "
        "with a "
        "larger --max T=, or allow a sliding window",
        index, before, options.max_new_tokens, max_length_);
}

void Generator::check_forced(const GenerationOptions& options) const {
  for (const auto& [what, id] : {std::pair("forced_bos_token_id", options.forced_bos_token_id),
                                 std::pair("forced_eos_token_id", options.forced_eos_token_id)})
    if (id && (*id < 0 || *id >= vocabulary_))
      fail("{} {}: outside the model's vocabulary of {}", what, *id, vocabulary_);
}

Generator::Sequence Generator::begin(const Tokens& prompt, size_t index, const GenerationOptions& options,
                                     std::span<const Tokens> masks) const {
  check_prompt(prompt, index, options);
  Tokens mask;
  if (!masks.empty()) mask = masks[index];
  if (!mask.empty() && (mask.size() != prompt.size() || mask_input_.empty()))
    fail("prompt {}: a mask of {} tokens; expected {} and an entry with an attention_mask", index,
         mask.size(), prompt.size());
  if (!reads_source()) return {index, prompt, prompt.size(), {}, mask};
  return {index, {options.decoder_start_token_id}, 1, prompt, mask};
}

std::vector<Generator::Tokens> Generator::generate(std::span<const Tokens> prompts,
                                                   const GenerationOptions& options, const OnToken& on_token,
                                                   std::span<const Tokens> masks) {
  options.validate();
  check_forced(options);
  if (!masks.empty() && masks.size() != prompts.size())
    fail("{} masks for {} prompts: expected one each, or none", masks.size(), prompts.size());
  std::vector<Sequence> sequences;
  for (size_t i = 0; i < prompts.size(); ++i) sequences.push_back(begin(prompts[i], i, options, masks));
  std::map<size_t, std::vector<Sequence*>> by_length;
  for (Sequence& s : sequences) by_length[prompts[s.index].size()].push_back(&s);
  for (auto& [length, group] : by_length)
    for (size_t begin = 0; begin < group.size(); begin += static_cast<size_t>(max_batch_)) {
      const size_t count = std::min(group.size() - begin, static_cast<size_t>(max_batch_));
      run_batch(std::span(group).subspan(begin, count), options, on_token);
    }
  std::vector<Tokens> results;
  for (Sequence& s : sequences)
    results.emplace_back(s.tokens.begin() + static_cast<ptrdiff_t>(s.prompt_length), s.tokens.end());
  return results;
}

void Generator::run_batch(std::span<Sequence*> batch, const GenerationOptions& options,
                          const OnToken& on_token) {
  std::vector<Sequence*> live(batch.begin(), batch.end());
  for (int64_t i = 0; i < options.max_new_tokens && !live.empty(); ++i) {
    advance(live, options, on_token);
    std::erase_if(live, [](const Sequence* s) { return s->done; });
  }
}

/// What the encoder reads, and the mask of the source or of the tokens so far.
void Generator::add_sources(std::span<Sequence*> batch, std::vector<InputTensor>& inputs) {
  source_.clear(), mask_.clear();
  const bool masked = std::ranges::any_of(batch, [](const Sequence* s) { return !s->mask.empty(); });
  const size_t length = reads_source() ? batch[0]->source.size() : ids_.size() / batch.size();
  for (const Sequence* s : batch) {
    source_.insert(source_.end(), s->source.begin(), s->source.end());
    Tokens mask = s->mask;
    mask.resize(reads_source() ? length : s->tokens.size(), 1);  // new tokens are seen
    mask_.insert(mask_.end(), mask.end() - static_cast<ptrdiff_t>(length), mask.end());
  }
  const std::vector<int64_t> shape = {static_cast<int64_t>(batch.size()), static_cast<int64_t>(length)};
  if (reads_source()) inputs.push_back({source_input_, DType::i32, shape, source_.data()});
  if (masked) inputs.push_back({mask_input_, DType::i32, shape, mask_.data()});
}

/// One more token for each sequence of a batch of equal lengths.
void Generator::advance(std::span<Sequence*> batch, const GenerationOptions& options,
                        const OnToken& on_token) {
  const size_t all = batch[0]->tokens.size(), length = std::min(all, static_cast<size_t>(max_length_));
  ids_.clear();
  for (const Sequence* s : batch)
    ids_.insert(ids_.end(), s->tokens.end() - static_cast<ptrdiff_t>(length), s->tokens.end());
  const auto vocabulary = static_cast<size_t>(vocabulary_);
  logits_.resize(ids_.size() * vocabulary);
  std::vector<InputTensor> inputs = {
      {input_, DType::i32, {static_cast<int64_t>(batch.size()), static_cast<int64_t>(length)}, ids_.data()}};
  add_sources(batch, inputs);
  const OutputBuffer output{output_, logits_.data(), static_cast<int64_t>(logits_.size() * sizeof(float))};
  session_.run(entry_, inputs, std::span(&output, 1));
  for (size_t b = 0; b < batch.size(); ++b) {
    Sequence& s = *batch[b];
    const auto row = std::span(logits_).subspan(((b + 1) * length - 1) * vocabulary, vocabulary);
    const std::optional<int32_t> forced = forced_token(all, s.prompt_length, options);
    const int32_t token =
        forced ? *forced : draw(candidates(row, s.tokens, options), uniform(options.seed, all, s.index));
    s.tokens.push_back(token);
    s.done = std::ranges::count(options.eos_token_id, token) > 0;
    if (on_token) on_token(s.index, token);
  }
}

std::vector<int32_t> encode_bytes(std::string_view text, int64_t vocabulary) {
  if (vocabulary != kByteVocabulary)
    fail(
        "a text prompt needs the tokenizer of a model with {} tokens, which is not part of Smelt yet; give "
        "token ids "
        "instead (only models trained on bytes, with a vocabulary of 256, take text)",
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
