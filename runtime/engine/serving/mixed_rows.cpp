#include "runtime/engine/serving/mixed_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/generation/prompt_lengths.h"

namespace smelt {
namespace {

constexpr size_t kLeastTokens = 16;  // of a run that reads a part of a prompt, padding included

}  // namespace

MixedRows::MixedRows(Session& session, const DecodeInterface& decode, bool shares_prefixes)
    : ChoosingRows(session, decode, shares_prefixes,
                   decode.tiles_prompts ? entry::tiled_pages : entry::mixed_pages),
      run_tokens_(exact_rows(session, decode.run_tokens)),
      texts_(slots()),
      tiles_prompts_(decode.tiles_prompts),
      has_next_row_(decode.has_next_row) {}

size_t MixedRows::mixed_prompts() const { return tiles_prompts_ ? kMostTiledPrompts : slots(); }

const char* MixedRows::entry_for(std::span<const RowStep> steps) const {
  if (!only_continues(steps)) return entry_;
  return has_next_row_ && size_of(steps).rows == 1 ? entry::next_row : entry::next_pages;
}

/// If the host samples for a row of next_pages or next_row, the token that is sampled, too, is passed over. A
/// row that leaves its logits needs its slot, where its last token is.
int32_t MixedRows::slot_of(const RowStep& step, std::span<const RowStep> steps) const {
  const bool samples =
      step.sampling == Sampling::plan || step.sampling == Sampling::allowed || only_continues(steps);
  return samples ? ChoosingRows::slot_of(step, steps) : -1;
}

MixedRows::Size MixedRows::own_size(std::span<const RowStep> steps) {
  Size own = {steps.size(), 0, true};
  for (const RowStep& step : steps) own.tokens += step.tokens.size();
  own.one_each = own.rows == own.tokens &&
                 std::ranges::count(steps, Sampling::none, &RowStep::sampling) == 0 &&
                 std::ranges::adjacent_find(steps, {}, &RowStep::row) == steps.end();
  return own;
}

MixedRows::Size MixedRows::size_of(std::span<const RowStep> steps) const {
  return steps.empty() ? padding_ : padded(own_size(steps));
}

MixedRows::Size MixedRows::padded(Size own) const {
  if (!pads_runs()) return own;
  if (own.one_each) {
    const size_t rows = padded_size(own.rows, slots());
    return {rows, rows, true};
  }
  const size_t tokens = padded_size(std::max(own.tokens, kLeastTokens), run_tokens_);
  return {padded_rows(own.rows, tokens), tokens, false};
}

/// Returns all sizes that padded() can return.
std::vector<MixedRows::Size> MixedRows::sizes() const {
  std::vector<Size> all;
  for (size_t rows = 1; rows <= texts_; rows = padded_size(rows, slots()) + 1)
    all.push_back(padded({rows, rows, true}));
  for (size_t tokens = std::min(kLeastTokens, run_tokens_); tokens <= run_tokens_;
       tokens = padded_size(tokens, run_tokens_) + 1) {
    all.push_back(padded({0, tokens, false}));
    if (texts_ < std::min(slots(), tokens)) all.push_back(padded({texts_ + 1, tokens, false}));
  }
  return all;
}

/// The first run of a size chooses kernels, and the second one is captured.
void MixedRows::prepare() {
  if (!pads_runs()) return;
  for (const Size& size : sizes()) {
    padding_ = size;
    session_.repeat(entry_for({}), inputs_for({}).tensors, 2);
  }
  padding_ = {0, 0, true};
  session_.synchronize();
}

/// A row that reads one token has a query of its own. The tokens of any other row are divided into tiles.
void MixedRows::add_tiles(RunInputs& inputs, std::span<const RowStep> steps, Size size) {
  const size_t tile = kTileTokens, tiles = (size.tokens + tile - 1) / tile + kMostTiledPrompts;
  std::vector<int32_t> singles(size.rows, -1), firsts(tiles, -1), results(size.tokens, 0);
  size_t at = 0, next = 0;
  for (size_t row = 0; row < steps.size(); ++row) {
    const size_t count = steps[row].tokens.size();
    if (count == 1) singles[row] = static_cast<int32_t>(at), results[at] = static_cast<int32_t>(row);
    for (size_t i = 0; count > 1 && i < count; ++i) {
      if (i % tile == 0) firsts[next++] = static_cast<int32_t>(at + i);
      results[at + i] = static_cast<int32_t>(size.rows + (next - 1) * tile + i % tile);
    }
    at += count;
  }
  inputs.add(port::single_tokens, {static_cast<int64_t>(size.rows)}, std::move(singles));
  inputs.add(port::first_tokens, {static_cast<int64_t>(tiles)}, std::move(firsts));
  inputs.add(port::token_results, {static_cast<int64_t>(size.tokens)}, std::move(results));
}

size_t MixedRows::add_tokens(RunInputs& inputs, std::span<const RowStep> steps) {
  const Size size = size_of(steps);
  std::vector<int32_t> ids(size.tokens, 0), rows(size.tokens, -1), pasts(size.tokens, 0);
  std::vector<int32_t> pages(size.rows * row_pages(), 0), last(size.rows, 0), adapters(size.rows, -1);
  size_t at = 0;
  for (size_t row = 0; row < steps.size(); ++row) {
    const RowStep& step = steps[row];
    const size_t end = step.past + step.tokens.size();
    hold(step.row, end);
    adapters[row] = adapter_of(step.row);
    std::ranges::copy(pages_of(step.row), pages.begin() + static_cast<ptrdiff_t>(row * row_pages()));
    for (size_t i = 0; i < step.tokens.size(); ++i, ++at)
      ids[at] = step.tokens[i], rows[at] = static_cast<int32_t>(row),
      pasts[at] = static_cast<int32_t>(step.past + i);
    last[row] = static_cast<int32_t>(at - 1);
    note(step.row, step.request->prompt, std::min(end, step.request->prompt.size()));
  }
  const auto count = static_cast<int64_t>(size.tokens), lists = static_cast<int64_t>(size.rows);
  if (has_adapters_) inputs.add(port::adapters, {lists}, std::move(adapters));
  inputs.add(port::pages, {lists, static_cast<int64_t>(row_pages())}, std::move(pages));
  if (only_continues(steps)) {
    inputs.add(port::input_ids, {count, 1}, std::move(ids));
    inputs.add(port::past_length, {count}, std::move(pasts));
    return size.rows;
  }
  if (tiles_prompts_) add_tiles(inputs, steps, size);
  inputs.add(port::token_ids, {count}, std::move(ids));
  inputs.add(port::token_rows, {count}, std::move(rows));
  inputs.add(port::token_pasts, {count}, std::move(pasts));
  inputs.add(port::last_tokens, {lists}, std::move(last));
  return size.rows;
}

}  // namespace smelt
