#include "runtime/engine/serving/model_drafter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/sampling.h"
#include "runtime/engine/serving/choosing_rows.h"
#include "runtime/structured/constrained_text.h"

namespace smelt {
namespace {

/// Number of unread tokens from which on they are read even if the text needs no draft now.
constexpr size_t kFarBehind = 16;

/// Gives the tokens that may not come next in a constrained text the score of banned ones.
void ban_disallowed(structured::ConstrainedText& text, std::span<double> scores) {
  constexpr size_t kBits = 32;
  std::vector<uint32_t> allowed(text.words());
  text.fill(allowed);
  for (size_t token = 0; token < scores.size(); ++token)
    if ((allowed[token / kBits] >> token % kBits & 1U) == 0) scores[token] = kBanned;
}

void require_same_vocabulary(int64_t drafting, int64_t checking) {
  if (drafting == checking) return;
  fail(
      "the draft model has a vocabulary of {} tokens, and the model one of {}: a draft model must have the "
      "same tokens",
      drafting, checking);
}

}  // namespace

ModelDrafter::ModelDrafter(Session& session, int64_t vocabulary, bool shares_prefixes)
    : rows_(CacheRows::of(session, shares_prefixes)) {
  require_same_vocabulary(rows_->vocabulary(), vocabulary);
  if (rows_->mixed_tokens() == 0)
    fail("the draft model's plan has no runs of several tokens per row; compile it with --step-tokens=");
  for (size_t row = rows_->slots(); row-- > 0;) free_.push_back(row);
  for (const State& state : session.plan().states)
    if (state.role == Role::cache) cache_bytes_ += state_bytes(session.plan(), state);
}

/// A model is right more often than the text itself, so single failures make no pause.
DraftLength ModelDrafter::first_length() const {
  constexpr size_t kFirst = 4, kPatience = 3;
  return DraftLength(kFirst, kPatience);
}

void ModelDrafter::forget() {
  for (const auto& [number, row] : known_) free_.push_back(row.row);
  known_.clear();
  rows_->forget();
}

void ModelDrafter::end_missing(std::span<const DraftText> texts) {
  std::erase_if(known_, [&](const auto& each) {
    if (std::ranges::count(texts, each.first, &DraftText::number) > 0) return false;
    rows_->end(each.second.row);
    free_.push_back(each.second.row);
    return true;
  });
}

/// Returns the row of a text; null if the caches have no room for one.
ModelDrafter::Row* ModelDrafter::row_of(const DraftText& text) {
  if (const auto found = known_.find(text.number); found != known_.end()) return &found->second;
  const std::vector<int32_t>& prompt = text.request->prompt;
  const size_t longest = std::min(text.longest, rows_->capacity());
  if (free_.empty() || prompt.size() >= longest || !rows_->has_room(prompt, longest, 1, {})) return nullptr;
  Row row{.row = free_.back(), .longest = longest};
  free_.pop_back();
  const size_t held = rows_->begin(row.row, prompt, longest, 1, {});
  row.read.assign(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(held));
  return &known_.emplace(text.number, std::move(row)).first->second;
}

/// The last token of a draft is not read.
size_t ModelDrafter::length_of_draft(const DraftText& text, const Row& row, size_t share) {
  if (text.tokens.size() > row.longest) return 0;
  return std::min(share, row.longest - text.tokens.size() + 1);
}

/// Returns the texts with rows, which now forget what is not part of their texts. At least the last token of
/// a text is left to be read, because the logits after it are needed.
std::vector<ModelDrafter::Growing> ModelDrafter::begin(std::span<DraftText> texts, size_t left) {
  std::vector<Growing> all;
  auto others =
      static_cast<size_t>(std::ranges::count_if(texts, [](const DraftText& text) { return text.most > 0; }));
  for (DraftText& text : texts) {
    const size_t share = text.most == 0 ? 0 : draft_share(text, left, --others);
    left -= share;
    Row* row = row_of(text);
    if (row == nullptr || text.tokens.size() > row->longest) continue;
    const auto known = text.tokens.first(text.tokens.size() - 1);
    const auto differs = std::ranges::mismatch(row->read, known).in1;
    row->read.erase(differs, row->read.end());
    all.push_back({&text, row, length_of_draft(text, *row, share), {text.tokens.begin(), text.tokens.end()}});
    if (const auto& constrained = text.request->constrained; constrained && all.back().most > 0)
      all.back().constrained = *constrained;
  }
  return all;
}

/// Returns the texts whose unread tokens the next run reads, the most urgent first.
std::vector<ModelDrafter::Growing*> ModelDrafter::catching_up(std::vector<Growing>& all) const {
  std::vector<Growing*> urgent, behind;
  for (Growing& each : all)
    if (each.most > 0)
      urgent.push_back(&each);
    else if (each.unread() > kFarBehind)
      behind.push_back(&each);
  std::ranges::stable_sort(urgent, {}, &Growing::unread);
  urgent.insert(urgent.end(), behind.begin(), behind.end());
  return urgent;
}

/// Reads unread tokens of texts, as many as one run can read.
void ModelDrafter::catch_up(std::vector<Growing>& all) {
  size_t left = rows_->mixed_tokens(), prompts = rows_->mixed_prompts();
  std::vector<std::pair<Growing*, size_t>> reads;
  for (Growing* each : catching_up(all)) {
    const size_t count = std::min(each->unread(), prompts == 0 ? std::min<size_t>(left, 1) : left);
    if (count == 0) continue;
    reads.emplace_back(each, count);
    left -= count;
    if (count > 1) --prompts;
  }
  run(std::move(reads));
}

/// Reads the given number of tokens of each text. If all tokens of a text are then read, samples the next
/// token of its draft.
void ModelDrafter::run(std::vector<std::pair<Growing*, size_t>> reads) {
  if (reads.empty()) return;
  std::ranges::sort(reads, {}, [](const auto& read) { return read.first->row->row; });
  std::vector<RowStep> steps;
  for (const auto& [each, count] : reads)
    steps.push_back({.row = each->row->row,
                     .tokens = std::span(each->tokens).subspan(each->row->read.size(), count),
                     .past = each->row->read.size(),
                     .request = each->text->request});
  const std::span<const float> logits = rows_->run(steps);
  const auto words = static_cast<size_t>(rows_->vocabulary());
  for (size_t i = 0; i < reads.size(); ++i) {
    Growing& each = *reads[i].first;
    each.row->read.insert(each.row->read.end(), steps[i].tokens.begin(), steps[i].tokens.end());
    if (ChoosingRows* rows = rows_->choosing())
      rows->pass_over(rows->slot(each.row->row), each.row->read.size());
  }
  for (size_t i = 0; i < reads.size(); ++i)
    if (Growing& each = *reads[i].first; each.unread() == 0 && each.grows())
      take(each, logits.subspan(i * words, words));
}

/// Ends the draft at an end token, and where no token can be sampled: the other model then decides.
void ModelDrafter::take(Growing& growing, std::span<const float> logits) const {
  try {
    const int32_t token = choose(growing, logits);
    growing.tokens.push_back(token);
    growing.text->draft.push_back(token);
    growing.is_open = !growing.text->request->options.ends(token);
    if (growing.constrained && growing.is_open)
      growing.is_open = growing.constrained->advance(token) && !growing.constrained->must_end();
  } catch (const Error&) {
    growing.is_open = false;
  }
}

/// Samples as RunningSequence does for the text with its draft.
int32_t ModelDrafter::choose(Growing& growing, std::span<const float> logits) {
  const Request& request = *growing.text->request;
  std::vector<double> scores(logits.begin(), logits.end());
  process_scores(request.options, {growing.tokens, request.prompt.size(), 0, request.prompt}, scores);
  if (growing.constrained) ban_disallowed(*growing.constrained, scores);
  return draw(candidates(scores, request.options),
              uniform_number(request.options.seed, growing.tokens.size(), request.index));
}

void ModelDrafter::draft(std::span<DraftText> texts, size_t left) {
  end_missing(texts);
  std::vector<Growing> all = begin(texts, left);
  catch_up(all);
  for (;;) {
    std::vector<std::pair<Growing*, size_t>> reads;
    for (Growing& each : all)
      if (!each.text->draft.empty() && each.grows()) reads.emplace_back(&each, 1);
    if (reads.empty()) return;
    run(std::move(reads));
  }
}

}  // namespace smelt
