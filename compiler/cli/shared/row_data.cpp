#include "compiler/cli/shared/row_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

constexpr int64_t kMostRepeats = 10'000;          // of a source in an epoch
constexpr int64_t kMostItems = int64_t{1} << 40;  // of an epoch

RowFormat format_of_file(const std::filesystem::path& file, std::optional<RowFormat> format) {
  if (format) return *format;
  if (file == "-")
    fail("'-' is standard input: name its format with --data-format, such as jsonl, csv or text");
  const auto found = row_format_of(file);
  if (!found && file.has_extension())
    fail(
        "'{}': its ending is that of no file with rows: expected .jsonl, .csv, .tsv, .parquet, .arrow or "
        ".txt, or "
        "one of these with .gz or .zst; --data-format, such as text, says what it is, and files of tokens or "
        "records are not given together with rows",
        file.string());
  return found.value_or(RowFormat::text);
}

}  // namespace

RowData::RowData(const Model& model, RowDataOptions options, int64_t longest)
    : options_(std::move(options)), encoder_(model, options_.fields, longest) {
  train_ = encode(options_.data), validation_ = encode(options_.validation);
  require_weights();
  if (kind() == ExampleKind::classes) number_classes();
}

std::vector<RowData::Group> RowData::encode(const std::vector<std::string>& sources) const {
  std::vector<Group> groups;
  for (const std::string& argument : sources) {
    const DataSource source = read_source(argument);
    Group& group = groups.emplace_back(Group{source.text, source.weight, {}});
    for (const auto& file : source.files)
      group.sets.push_back(
          encode_rows(file, format_of_file(file, options_.format), encoder_, options_.bad_rows));
  }
  return groups;
}

/// Shares are those of all sources of --data, or of none.
void RowData::require_weights() const {
  const auto has_weight = [](const Group& group) { return group.weight.has_value(); };
  const auto with = std::ranges::count_if(train_, has_weight);
  if (with != 0 && with != std::ranges::ssize(train_))
    fail("--data: {} of {} sources have a share: give one to each, such as a.jsonl=0.7 b.jsonl=0.3", with,
         train_.size());
  if (std::ranges::any_of(validation_, has_weight))
    fail("--validation-data: shares are those of --data: leave them out");
}

template <typename F>
void RowData::for_each_set(F f) const {
  for (const auto* groups : {&train_, &validation_})
    for (const Group& group : *groups)
      for (const auto& set : group.sets) f(*set);
}

/// Names of the model's directory are the encoder's; else the names of the rows are numbered in their order.
void RowData::number_classes() {
  std::set<std::string> names;
  bool numbered = false;
  for (const auto& [name, number] : encoder_.class_numbers()) {
    class_names_.resize(std::max(class_names_.size(), static_cast<size_t>(number) + 1));
    class_names_[static_cast<size_t>(number)] = name;
  }
  for_each_set([&](const ExampleSet& set) {
    names.insert(set.facts().classes.begin(), set.facts().classes.end());
    numbered |= set.facts().classes.empty();
  });
  if (names.empty()) return;
  const std::string& column = encoder_.columns().back().name;
  if (numbered) fail("'{}' has texts as classes in some files and numbers in others", column);
  constexpr size_t kShown = 8;
  const std::vector<std::string> some(
      names.begin(), std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kShown, names.size()))));
  if (std::ssize(names) > encoder_.classes())
    fail(
        "'{}' has {} classes ('{}'{}), but the model has {}: give its config.json an id2label, or its spec "
        "head.classes, of as many",
        column, names.size(), fmt::join(some, "', '"), names.size() > kShown ? ", ..." : "",
        encoder_.classes());
  class_names_.assign(names.begin(), names.end());
}

std::shared_ptr<const std::vector<int32_t>> RowData::classes_of(const ExampleSet& set) const {
  if (set.facts().classes.empty()) return nullptr;
  std::vector<int32_t> numbers;
  for (const std::string& name : set.facts().classes)
    numbers.push_back(
        static_cast<int32_t>(std::ranges::lower_bound(class_names_, name) - class_names_.begin()));
  return std::make_shared<const std::vector<int32_t>>(std::move(numbers));
}

int64_t RowData::longest() const {
  int64_t longest = 1;
  for_each_set([&](const ExampleSet& set) { longest = std::max(longest, set.facts().longest); });
  return longest;
}

int64_t RowData::longest_labels() const {
  int64_t longest = 1;
  for_each_set([&](const ExampleSet& set) { longest = std::max(longest, set.facts().longest_labels); });
  return longest;
}

int64_t RowData::size_of(const ExampleSet& set) const {
  return kind() == ExampleKind::documents ? set.facts().tokens : set.size();
}

RowData::Slices RowData::all_of(const Group& group) const {
  Slices slices;
  for (const auto& set : group.sets) slices.push_back({set, 0, size_of(*set)});
  return slices;
}

namespace {

template <typename Slices>
int64_t size_of_slices(const Slices& slices) {
  int64_t size = 0;
  for (const auto& slice : slices) size += slice.end - slice.begin;
  return size;
}

/// Returns items [begin, end) of the slices.
template <typename Slices>
Slices cut_slices(const Slices& slices, int64_t begin, int64_t end) {
  Slices part;
  int64_t at = 0;
  for (auto slice : slices) {
    const int64_t size = slice.end - slice.begin, first = slice.begin;
    slice.begin = first + std::clamp<int64_t>(begin - at, 0, size);
    slice.end = first + std::clamp<int64_t>(end - at, 0, size);
    if (slice.begin < slice.end) part.push_back(slice);
    at += size;
  }
  return part;
}

template <typename Slices>
void append(Slices& to, const Slices& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::pair<RowData::Slices, RowData::Slices> RowData::slices() const {
  std::vector<Slices> groups;
  Slices held_back;
  const bool weighted_sources = !train_.empty() && train_[0].weight;
  for (const Group& group : train_) {
    if (groups.empty() || weighted_sources) groups.emplace_back();
    append(groups.back(), all_of(group));
  }
  for (const Group& group : validation_) append(held_back, all_of(group));
  for (Slices& group : groups) {
    const int64_t size = size_of_slices(group);
    const double share = validation_.empty() ? options_.held_back : 0;
    const int64_t kept = size - static_cast<int64_t>(static_cast<double>(size) * share);
    append(held_back, cut_slices(group, kept, size));
    group = cut_slices(group, 0, kept);
  }
  return {weighted_sources ? weighted(groups) : groups.at(0), held_back};
}

/// In an epoch the source that is the largest for its share occurs once, and the others as often as their
/// shares need.
RowData::Slices RowData::weighted(const std::vector<Slices>& groups) const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < groups.size(); ++i)
    least = std::min(
        least, *train_[i].weight / static_cast<double>(std::max<int64_t>(1, size_of_slices(groups[i]))));
  Slices all;
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t size = size_of_slices(groups[i]);
    const double repeats = *train_[i].weight / static_cast<double>(std::max<int64_t>(1, size)) / least;
    const double count = repeats * static_cast<double>(size);
    if (repeats > static_cast<double>(kMostRepeats) || count > static_cast<double>(kMostItems))
      fail(
          "--data: with these shares '{}' occurs {:.0f} times in an epoch: expected at most {}; give it a "
          "smaller share, or more rows",
          train_[i].text, repeats, kMostRepeats);
    for (auto left = static_cast<int64_t>(std::llround(count)); left > 0 && size > 0;
         left -= std::min(left, size))
      append(all, cut_slices(groups[i], 0, std::min(left, size)));
  }
  return all;
}

DataPart RowData::part(Slices slices, const std::vector<Group>& groups, const PlanEntry& entry,
                       const Symbols& symbols, int64_t vocabulary) const {
  std::string description = groups.empty() ? "the data" : "'" + groups[0].text + "'";
  if (groups.size() > 1) description += fmt::format(" and {} more", groups.size() - 1);
  if (kind() == ExampleKind::documents) {
    std::vector<TokenSlice> tokens;
    for (Slice& slice : slices) tokens.push_back({std::move(slice.set), slice.begin, slice.end});
    auto data = std::make_shared<const TokenData>(tokens, vocabulary, std::move(description));
    return TokenRange{data, 0, data->size()};
  }
  std::vector<ExampleSlice> examples;
  for (Slice& slice : slices) {
    auto classes = kind() == ExampleKind::classes ? classes_of(*slice.set) : nullptr;
    examples.push_back({std::move(slice.set), slice.begin, slice.end, std::move(classes)});
  }
  auto data = std::make_shared<const ExampleData>(std::move(examples), kind(), entry, symbols,
                                                  std::move(description));
  return ExampleRange{data, 0, data->size()};
}

DataSplit RowData::split(const PlanEntry& entry, const Symbols& symbols, int64_t vocabulary) const {
  auto [train, held_back] = slices();
  const auto& others = validation_.empty() ? train_ : validation_;
  return {part(std::move(train), train_, entry, symbols, vocabulary),
          part(std::move(held_back), others, entry, symbols, vocabulary)};
}

std::string RowData::summary() const {
  int64_t examples = 0, tokens = 0, skipped = 0, cut = 0;
  std::string first;
  for_each_set([&](const ExampleSet& set) {
    const ExampleFacts& facts = set.facts();
    examples += facts.examples, tokens += facts.tokens, skipped += facts.skipped, cut += facts.cut;
    if (first.empty()) first = facts.first_skipped;
  });
  std::string text = fmt::format("data: {} examples of {} tokens", examples, tokens);
  if (cut > 0)
    text += fmt::format("; {} of them were longer than the model or --length takes and are cut", cut);
  if (skipped > 0)
    text += fmt::format("; {} of {} rows skipped, the first: {}", skipped, skipped + examples, first);
  if (!class_names_.empty()) text += fmt::format("\nclasses: {}", fmt::join(class_names_, ", "));
  return text;
}

}  // namespace smelt::cli
