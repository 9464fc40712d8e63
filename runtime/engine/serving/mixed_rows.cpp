#include "runtime/engine/serving/mixed_rows.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/generation/prompt_lengths.h"

namespace smelt {
namespace {

constexpr size_t kLeastTokens = 16;  // of a run that reads a part of a prompt, padding included

}  // namespace

MixedRows::MixedRows(Session& session, const DecodeInterface& decode, bool shares_prefixes)
    : ChoosingRows(session, decode, shares_prefixes, entry::mixed_pages),
      run_tokens_(exact_rows(session, decode.run_tokens)) {}

MixedRows::Size MixedRows::padded(Size own) const {
  if (!pads_runs()) return own;
  if (own.rows == own.tokens)
    own.rows = own.tokens = padded_size(own.rows, slots());
  else
    own = {slots(), padded_size(std::max(own.tokens, kLeastTokens), run_tokens_)};
  return own;
}

/// Returns all sizes that padded() can return.
std::vector<MixedRows::Size> MixedRows::sizes() const {
  std::vector<Size> all;
  for (size_t rows = 1; rows <= slots(); rows = padded_size(rows, slots()) + 1)
    all.push_back(padded({rows, rows}));
  for (size_t tokens = std::min(kLeastTokens, run_tokens_); tokens <= run_tokens_;
       tokens = padded_size(tokens, run_tokens_) + 1)
    all.push_back(padded({0, tokens}));
  return all;
}

/// The first run of a size chooses kernels, and the second one is captured.
void MixedRows::prepare() {
  if (!pads_runs()) return;
  for (const Size& size : sizes()) {
    padding_ = size;
    session_.repeat(entry_, inputs_for({}).tensors, 2);
  }
  padding_ = {};
  session_.synchronize();
}

size_t MixedRows::add_tokens(RunInputs& inputs, std::span<const RowStep> steps) {
  Size own = {steps.size(), 0};
  for (const RowStep& step : steps) own.tokens += step.tokens.size();
  const Size size = steps.empty() ? padding_ : padded(own);
  std::vector<int32_t> ids(size.tokens, 0), rows(size.tokens, -1), pasts(size.tokens, 0);
  std::vector<int32_t> pages(size.rows * row_pages(), 0), last(size.rows, 0);
  size_t at = 0;
  for (size_t row = 0; row < steps.size(); ++row) {
    const RowStep& step = steps[row];
    const size_t end = step.past + step.tokens.size();
    hold(step.row, end);
    std::ranges::copy(pages_of(step.row), pages.begin() + static_cast<ptrdiff_t>(row * row_pages()));
    for (size_t i = 0; i < step.tokens.size(); ++i, ++at)
      ids[at] = step.tokens[i], rows[at] = static_cast<int32_t>(row),
      pasts[at] = static_cast<int32_t>(step.past + i);
    last[row] = static_cast<int32_t>(at - 1);
    note(step.row, step.request->prompt, std::min(end, step.request->prompt.size()));
  }
  const auto count = static_cast<int64_t>(size.tokens), lists = static_cast<int64_t>(size.rows);
  inputs.add(port::token_ids, {count}, std::move(ids));
  inputs.add(port::token_rows, {count}, std::move(rows));
  inputs.add(port::token_pasts, {count}, std::move(pasts));
  inputs.add(port::pages, {lists, static_cast<int64_t>(row_pages())}, std::move(pages));
  inputs.add(port::last_tokens, {lists}, std::move(last));
  return size.rows;
}

}  // namespace smelt
