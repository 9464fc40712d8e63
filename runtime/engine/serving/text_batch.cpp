#include "runtime/engine/serving/text_batch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/prompt_lengths.h"
#include "runtime/plan/decode_contract.h"
#include "runtime/plan/device_kind.h"

namespace smelt {
namespace {

constexpr const char *kMaskInput = "attention_mask", *kTypesInput = "token_type_ids";
constexpr size_t kLeastTextLength = 16;  // of a padded run
/// Padding of a run that costs less than a run of its own for some of the texts: a few tokens, and a share of
/// the texts' tokens.
constexpr size_t kFreePadding = 16, kFreePaddingOfDevice = 512, kLeastTokensPerPadding = 16;
constexpr size_t kMostCandidates = 4096;  // texts among which a run is chosen

const Port* find_text_port(const std::vector<Port>& ports, std::string_view name, DType dtype, size_t rank) {
  const auto port = std::ranges::find(ports, name, &Port::name);
  const bool fits = port != ports.end() && port->dtype == dtype && port->shape.size() == rank;
  return fits ? &*port : nullptr;
}

std::string only_symbol(const Dim& dim) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return names.size() == 1 && Dim::symbol(names[0]) == dim ? names[0] : "";
}

}  // namespace

TextBatch::TextBatch(Session& session, const TextBatchOptions& options)
    : session_(session), options_(options) {
  find_ports();
  check_inputs();
  pads_runs_ = has_mask_ && device_kind(session.plan().target).captures_runs;
  const Symbols& symbols = session_.plan().symbols;
  const auto longest = static_cast<size_t>(symbols.upper(Dim::symbol(length_symbol_)));
  capacity_ = std::min(longest, most_beside(symbols, length_symbol_, {{rows_symbol_, 1}}));
  if (options_.most_tokens > 0) capacity_ = std::min(capacity_, options_.most_tokens);
  const auto rows = static_cast<size_t>(symbols.upper(Dim::symbol(rows_symbol_)));
  if (options_.step_tokens == 0) options_.step_tokens = std::max(rows * capacity_, capacity_);
  if (options_.step_tokens < capacity_)
    fail("{} tokens per run: a text may have {}; expected at least as many, or a smaller --max T=",
         options_.step_tokens, capacity_);
  counts_.slots = rows;
  if (options_.prepares) prepare();
}

void TextBatch::find_ports() {
  const PlanEntry& entry = session_.entry(entry::logits);
  const Port* ids = find_text_port(entry.inputs, port::input_ids.name, DType::i32, 2);
  if (ids) rows_symbol_ = only_symbol(ids->shape[0]), length_symbol_ = only_symbol(ids->shape[1]);
  if (!ids || rows_symbol_.empty() || length_symbol_.empty())
    fail("the entry '{}' has no input i32[B,T] '{}': it reads no texts", entry.name, port::input_ids.name);
  ids_ = ids->ids, vocabulary_ = ids->ids ? ids->ids->below : INT32_MAX;
  has_mask_ = find_text_port(entry.inputs, kMaskInput, DType::i32, 2) != nullptr;
  if (const Port* types = find_text_port(entry.inputs, kTypesInput, DType::i32, 2))
    has_types_ = true, types_range_ = types->ids;
  const Port* states = find_text_port(entry.outputs, "last_hidden_state", DType::f32, 3);
  const Port* scores = find_text_port(entry.outputs, port::logits.name, DType::f32, 2);
  const Port* output = states ? states : scores;
  const auto size = output ? output->shape.back().constant() : std::nullopt;
  if (!size)
    fail("the entry '{}' returns neither f32[B,T,size] 'last_hidden_state' nor f32[B,classes] '{}'",
         entry.name, port::logits.name);
  output_ = output->name, classifies_ = output == scores, state_size_ = static_cast<size_t>(*size);
  width_ = classifies_ ? state_size_ : options_.modules.width(state_size_);
}

void TextBatch::check_inputs() const {
  for (const Port& input : session_.entry(entry::logits).inputs)
    if (!input.optional && input.name != port::input_ids.name)
      fail("the entry '{}' needs the input '{}', and texts give {}, {} and {} alone", entry::logits,
           input.name, port::input_ids.name, kMaskInput, kTypesInput);
}

void TextBatch::check(const Request& request) const {
  const size_t length = request.prompt.size();
  if (length == 0) fail("the text has no tokens: expected at least one");
  if (length > capacity_)
    fail("a text of {} tokens: expected at most {}; shorten it, or set truncate_prompt_tokens", length,
         capacity_);
  const auto holds = [](const std::optional<IdRange>& range, int32_t id) {
    return id >= 0 && (!range || (id >= range->least && id < range->below));
  };
  for (const int32_t id : request.prompt)
    if (!holds(ids_, id)) fail("token {} is outside the model's vocabulary of {}", id, vocabulary_);
  if (!has_types_) return;
  for (const int32_t type : request.token_types)
    if (!holds(types_range_, type))
      fail("token type {}: the model has {} types", type, types_range_ ? types_range_->below : 0);
}

void TextBatch::require_room(size_t requests) const {
  if (requests > most_requests())
    fail("{} texts at once: expected at most {}, which are all that may run and wait", requests,
         most_requests());
  if (waiting_.size() + requests > most_requests())
    fail_with(Status::unavailable, "{} texts wait, of at most {}: try again later", waiting_.size(),
              most_requests());
}

TextBatch::Id TextBatch::submit(Request request) {
  check(request);
  require_room(1);
  auto text = std::make_shared<Text>(Text{.request = std::move(request), .id = next_});
  known_.emplace(next_, text);
  waiting_.push_back(std::move(text));
  return next_++;
}

/// Returns how many rows of this length a run may have.
size_t TextBatch::most_rows(size_t length) const {
  const SymbolValues sizes = {{length_symbol_, static_cast<int64_t>(length)}};
  const size_t rows = most_beside(session_.plan().symbols, rows_symbol_, sizes);
  return std::max<size_t>(1, std::min(rows, options_.step_tokens / length));
}

size_t TextBatch::padded_length(size_t length) const {
  return pads_runs_ ? std::min(std::bit_ceil(std::max(length, kLeastTextLength)), capacity_) : length;
}

TextBatch::Size TextBatch::padded(Size size) const {
  const size_t length = padded_length(size.length);
  return {pads_runs_ ? std::min(std::bit_ceil(size.rows), most_rows(length)) : size.rows, length};
}

/// Returns all sizes that padded() can return.
std::vector<TextBatch::Size> TextBatch::sizes() const {
  std::vector<Size> all;
  for (size_t length = padded_length(1);; length = padded_length(length + 1)) {
    for (size_t rows = 1; rows <= most_rows(length); rows = padded({rows, length}).rows + 1)
      all.push_back(padded({rows, length}));
    if (length == capacity_) return all;
  }
}

/// The first run of a size chooses kernels, and the second one is captured.
void TextBatch::prepare() {
  if (!pads_runs_) return;
  for (const Size size : sizes()) {
    fill_inputs({}, size);
    execute(size), execute(size);
  }
}

/// Returns whether a run may have these texts, which are sorted by length and have `tokens` tokens together.
bool TextBatch::may_share(std::span<const TextPointer> sorted, size_t tokens) const {
  const size_t longest = sorted.back()->length();
  if (sorted.size() > most_rows(padded_length(longest))) return false;
  if (!has_mask_) return sorted.front()->length() == longest;
  const size_t free = pads_runs_ ? kFreePaddingOfDevice : kFreePadding;
  return sorted.size() * longest - tokens <= free + tokens / kLeastTokensPerPadding;
}

/// Returns the text that has waited longest, and others next to it in the order of lengths: always the one
/// whose length is nearer, as long as the run has room.
std::vector<TextBatch::TextPointer> TextBatch::next_run() const {
  const auto candidates = static_cast<ptrdiff_t>(std::min(waiting_.size(), kMostCandidates));
  std::vector<TextPointer> sorted(waiting_.begin(), waiting_.begin() + candidates);
  std::ranges::stable_sort(sorted, {}, [](const TextPointer& text) { return text->length(); });
  const size_t length = waiting_.front()->length();
  auto begin = static_cast<size_t>(std::ranges::find(sorted, waiting_.front()) - sorted.begin());
  size_t end = begin + 1, tokens = length;
  const auto part = [&](size_t from, size_t to) { return std::span(sorted).subspan(from, to - from); };
  while (true) {
    const size_t below = begin > 0 ? sorted[begin - 1]->length() : 0;
    const size_t above = end < sorted.size() ? sorted[end]->length() : 0;
    const bool lower = below > 0 && may_share(part(begin - 1, end), tokens + below);
    const bool upper = above > 0 && may_share(part(begin, end + 1), tokens + above);
    if (!lower && !upper) break;
    if (upper && (!lower || above - length <= length - below))
      ++end, tokens += above;
    else
      --begin, tokens += below;
  }
  const auto run = part(begin, end);
  return {run.begin(), run.end()};
}

bool TextBatch::step() {
  if (waiting_.empty()) return false;
  const std::vector<TextPointer> texts = next_run();
  std::erase_if(waiting_, [&](const TextPointer& text) { return std::ranges::count(texts, text) > 0; });
  ++counts_.steps;
  try {
    run(texts, padded({texts.size(), texts.back()->length()}));
  } catch (const Error& error) {
    for (const TextPointer& text : texts) end(*text, Finish::failed, error.what());
  }
  return true;
}

void TextBatch::run(const std::vector<TextPointer>& texts, Size size) {
  fill_inputs(texts, size);
  execute(size);
  size_t tokens = 0;
  for (size_t row = 0; row < texts.size(); ++row) {
    texts[row]->progress.vector = result_of(*texts[row], row, size);
    end(*texts[row], Finish::stop);
    tokens += texts[row]->length();
  }
  counts_.prompt_tokens += tokens, counts_.padding_tokens += size.rows * size.length - tokens;
}

/// Rows without a text have one token, because attention over no token at all is undefined.
void TextBatch::fill_inputs(const std::vector<TextPointer>& texts, Size size) {
  inputs_.assign(size.rows * size.length, options_.padding);
  mask_.assign(inputs_.size(), 0), types_.assign(inputs_.size(), 0);
  for (size_t row = 0; row < size.rows; ++row) {
    const auto begin = static_cast<ptrdiff_t>(row * size.length);
    const size_t length = row < texts.size() ? texts[row]->length() : 1;
    std::fill_n(mask_.begin() + begin, length, 1);
    if (row >= texts.size()) continue;
    std::ranges::copy(texts[row]->request.prompt, inputs_.begin() + begin);
    std::ranges::copy(texts[row]->request.token_types, types_.begin() + begin);
  }
}

void TextBatch::execute(Size size) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(size.rows), static_cast<int64_t>(size.length)};
  std::vector<InputTensor> inputs = {port::input_ids.tensor(shape, inputs_.data())};
  if (has_mask_) inputs.push_back({kMaskInput, DType::i32, shape, mask_.data()});
  if (has_types_) inputs.push_back({kTypesInput, DType::i32, shape, types_.data()});
  outputs_.resize(size.rows * (classifies_ ? 1 : size.length) * state_size_);
  const OutputBuffer output{output_, outputs_.data(), static_cast<int64_t>(outputs_.size() * sizeof(float))};
  session_.run(entry::logits, inputs, std::span(&output, 1));
}

std::vector<float> TextBatch::result_of(const Text& text, size_t row, Size size) const {
  const std::span<const float> all(outputs_);
  if (classifies_) {
    const auto scores = all.subspan(row * state_size_, state_size_);
    return {scores.begin(), scores.end()};
  }
  const auto states = all.subspan(row * size.length * state_size_, text.length() * state_size_);
  return options_.modules.vector_of(states, state_size_, text.request.unpooled);
}

void TextBatch::end(Text& text, Finish finish, const std::string& error) {
  text.progress.finish = finish, text.progress.error = error;
  ++(finish == Finish::cancelled ? counts_.cancelled
     : finish == Finish::failed  ? counts_.failed
                                 : counts_.ended);
}

Progress TextBatch::poll(Id id) {
  const auto found = known_.find(id);
  if (found == known_.end()) fail("there is no text {}, or its end was told", id);
  if (found->second->progress.finish == Finish::none) return {};
  Progress progress = std::move(found->second->progress);
  known_.erase(found);
  return progress;
}

void TextBatch::cancel(Id id) {
  const auto found = known_.find(id);
  if (found == known_.end() || found->second->progress.finish != Finish::none) return;
  std::erase(waiting_, found->second);
  end(*found->second, Finish::cancelled);
}

ContinuousBatchCounts TextBatch::counts() const {
  ContinuousBatchCounts counts = counts_;
  counts.waiting = waiting_.size();
  return counts;
}

}  // namespace smelt
