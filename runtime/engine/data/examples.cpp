#include "runtime/engine/data/examples.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char *kInputIds = "input_ids", *kAttentionMask = "attention_mask",
                     *kTokenTypes = "token_type_ids", *kLabelsInput = "labels";

const Port* find_port(const PlanEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.inputs, name, &Port::name);
  return found == entry.inputs.end() ? nullptr : &*found;
}

std::string_view words_for(ExampleKind kind) {
  switch (kind) {
    case ExampleKind::classes:
      return "labels i32[B]: a model that classifies texts";
    case ExampleKind::numbers:
      return "labels f32[B]: a regression";
    default:
      return "labels i32[B,T]: a language model or an encoder-decoder";
  }
}

bool takes(const Port& labels, ExampleKind kind) {
  const bool is_float = labels.dtype == DType::f32, is_one = labels.shape.size() == 1;
  if (kind == ExampleKind::classes) return !is_float && is_one;
  if (kind == ExampleKind::numbers) return is_float && is_one;
  return !is_float && labels.shape.size() == 2;
}

}  // namespace

ExampleData::ExampleData(std::vector<ExampleSlice> slices, ExampleKind kind, const PlanEntry& entry,
                         const Symbols& symbols, std::string description)
    : slices_(std::move(slices)), kind_(kind), description_(std::move(description)) {
  entry_.name = entry.name, entry_.inputs = entry.inputs;
  std::erase_if(slices_, [](const ExampleSlice& slice) { return slice.begin == slice.end; });
  int64_t longest = 1, longest_labels = 1;
  for (const ExampleSlice& slice : slices_) {
    begins_.push_back(size_), size_ += slice.end - slice.begin;
    longest = std::max(longest, slice.set->facts().longest);
    longest_labels = std::max(longest_labels, slice.set->facts().longest_labels);
  }
  const Port* labels = find_port(entry_, kLabelsInput);
  if (!labels || !takes(*labels, kind_))
    fail("{}: these fields need an entry with the input {}; '{}' of this model has {}", description_,
         words_for(kind_), entry.name,
         labels ? fmt::format("labels {}{}", name(labels->dtype), str(labels->shape)) : "no labels");
  if (labels->ids) ignored_label_ = static_cast<int32_t>(labels->ids->ignored.value_or(ignored_label_));
  ids_ = sequence(kInputIds, longest, symbols);
  if (has_label_sequence()) labels_ = sequence(kLabelsInput, longest_labels, symbols);
  check_ids();
  if (kind_ == ExampleKind::classes) check_labels();
}

ExampleData::Sequence ExampleData::sequence(const char* name, int64_t longest, const Symbols& symbols) const {
  Sequence made{.port = find_port(entry_, name), .longest = longest};
  if (!made.port || made.port->shape.size() != 2)
    fail("{}: entry '{}' has no input {} i32[B,T]: expected a model that reads tokens", description_,
         entry_.name, name);
  const std::vector<Dim::Term> terms = made.port->shape[1].terms();
  if (terms.size() == 1) made.multiple = std::max<int64_t>(1, terms[0].coefficient);
  const int64_t most = symbols.upper(made.port->shape[1]);
  if (extent(made, longest) > most)
    fail(
        "{}: an example has {} {}, but the plan takes at most {}: give --length {}, or a plan for longer "
        "rows",
        description_, longest, name, most, most);
  return made;
}

void ExampleData::check_ids() const {
  const auto& valid = ids_.port->ids;
  for (const ExampleSlice& slice : slices_)
    if (valid && slice.set->facts().largest_id >= valid->below)
      fail(
          "{}: the tokenizer has made the id {}, but the model's vocabulary has {} tokens: give the model "
          "the "
          "tokenizer that it was made with",
          description_, slice.set->facts().largest_id, valid->below);
}

void ExampleData::check_labels() const {
  const auto& valid = find_port(entry_, kLabelsInput)->ids;
  for (int64_t row = 0; valid && row < size_; ++row)
    if (const int32_t label = labels(row)[0]; !valid->holds(label))
      fail("{}: example {} has the label {}: expected {}", description_, row, label, str(*valid));
}

ExampleData::Place ExampleData::place(int64_t row) const {
  const auto i = static_cast<size_t>(std::ranges::upper_bound(begins_, row) - begins_.begin()) - 1;
  const ExampleSlice& slice = slices_[i];
  return {&slice, slice.begin + row - begins_[i]};
}

std::span<const int32_t> ExampleData::ids(int64_t row) const {
  const Place at = place(row);
  return at.slice->set->ids(at.example);
}

std::span<const int32_t> ExampleData::labels(int64_t row) const {
  const Place at = place(row);
  const auto stored = at.slice->set->labels(at.example);
  if (kind_ != ExampleKind::classes || !at.slice->classes || stored[0] < 0) return stored;
  return {&at.slice->classes->at(static_cast<size_t>(stored[0])), 1};
}

std::string ExampleData::fingerprint() const {
  Checksum sum;
  for (const ExampleSlice& slice : slices_) {
    sum.add(std::as_bytes(std::span(slice.set->facts().checksum)));
    const int64_t numbers[] = {slice.begin, slice.end};
    sum.add(std::as_bytes(std::span(numbers)));
    if (slice.classes) sum.add(std::as_bytes(std::span(*slice.classes)));
  }
  return sum.hex();
}

int64_t ExampleData::extent(const Sequence& sequence, int64_t longest) const {
  return (longest + sequence.multiple - 1) / sequence.multiple * sequence.multiple;
}

template <typename Values>
void ExampleData::add_sequences(const char* name, std::span<const int64_t> rows, int64_t extent,
                                int32_t padding, Batch& batch, Values values) const {
  std::byte* bytes = batch.add(name, DType::i32, {static_cast<int64_t>(rows.size()), extent});
  auto* out = reinterpret_cast<int32_t*>(bytes);
  for (const int64_t row : rows) {
    int32_t* end = values(row, out);
    out += extent;
    std::fill(end, out, padding);
  }
}

void ExampleData::add_label(std::span<const int64_t> rows, Batch& batch) const {
  const DType dtype = kind_ == ExampleKind::numbers ? DType::f32 : DType::i32;
  auto* out = reinterpret_cast<int32_t*>(batch.add(kLabelsInput, dtype, {std::ssize(rows)}));
  for (const int64_t row : rows) *out++ = labels(row)[0];
}

void ExampleData::read(std::span<const int64_t> rows, Batch& batch) const {
  batch.clear();
  int64_t longest = 1, longest_labels = 1;
  for (const int64_t row : rows) {
    longest = std::max<int64_t>(longest, std::ssize(ids(row)));
    longest_labels = std::max<int64_t>(longest_labels, std::ssize(labels(row)));
  }
  const int64_t width = extent(ids_, longest);
  batch.tokens = std::ssize(rows) * width;
  add_sequences(kInputIds, rows, width, 0, batch,
                [&](int64_t row, int32_t* out) { return std::ranges::copy(ids(row), out).out; });
  if (find_port(entry_, kAttentionMask))
    add_sequences(kAttentionMask, rows, width, 0, batch,
                  [&](int64_t row, int32_t* out) { return std::fill_n(out, ids(row).size(), 1); });
  if (find_port(entry_, kTokenTypes))
    add_sequences(kTokenTypes, rows, width, 0, batch, [&](int64_t row, int32_t* out) {
      const Place at = place(row);
      return std::ranges::copy(at.slice->set->types(at.example), out).out;
    });
  if (!has_label_sequence()) return add_label(rows, batch);
  const int64_t label_width = kind_ == ExampleKind::completions ? width : extent(labels_, longest_labels);
  if (kind_ == ExampleKind::pairs) batch.tokens += std::ssize(rows) * label_width;
  add_sequences(kLabelsInput, rows, label_width, ignored_label_, batch,
                [&](int64_t row, int32_t* out) { return std::ranges::copy(labels(row), out).out; });
}

std::vector<InputTensor> ExampleData::largest(int64_t rows) const {
  const int64_t width = extent(ids_, ids_.longest);
  std::vector<InputTensor> inputs = {{kInputIds, DType::i32, {rows, width}, nullptr}};
  for (const char* name : {kAttentionMask, kTokenTypes})
    if (find_port(entry_, name)) inputs.push_back({name, DType::i32, {rows, width}, nullptr});
  if (has_label_sequence())
    inputs.push_back({kLabelsInput,
                      DType::i32,
                      {rows, kind_ == ExampleKind::completions ? width : extent(labels_, labels_.longest)},
                      nullptr});
  else
    inputs.push_back(
        {kLabelsInput, kind_ == ExampleKind::numbers ? DType::f32 : DType::i32, {rows}, nullptr});
  return inputs;
}

std::vector<DocumentColumn> ExampleData::document_columns() const {
  if (kind_ != ExampleKind::completions)
    fail("{}: only examples with a label per token can be packed: leave out --pack", description_);
  return {{kInputIds, DType::i32, {}, 0}, {kLabelsInput, DType::i32, {}, ignored_label_}};
}

int64_t ExampleData::length(int64_t row) const { return std::ssize(ids(row)); }

void ExampleData::read_document(int64_t row, size_t column, std::byte* out) const {
  std::ranges::copy(column == 0 ? ids(row) : labels(row), reinterpret_cast<int32_t*>(out));
}

}  // namespace smelt
