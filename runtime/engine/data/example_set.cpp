#include "runtime/engine/data/example_set.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

namespace fs = std::filesystem;

constexpr const char *kIds = "ids.i32", *kEnds = "ends.i64", *kLabelValues = "labels.i32",
                     *kLabelEnds = "label_ends.i64", *kTypes = "types.i32", *kFacts = "examples.json";

Json facts_json(const ExampleFacts& facts) {
  return {{"version", 1},
          {"kind", static_cast<int>(facts.kind)},
          {"examples", facts.examples},
          {"tokens", facts.tokens},
          {"skipped", facts.skipped},
          {"cut", facts.cut},
          {"longest", facts.longest},
          {"longest_labels", facts.longest_labels},
          {"largest_id", facts.largest_id},
          {"first_skipped", facts.first_skipped},
          {"checksum", facts.checksum},
          {"classes", facts.classes}};
}

ExampleFacts facts_of(const fs::path& file) {
  const Json json = read_json_file(file);
  try {
    return {.kind = static_cast<ExampleKind>(json.at("kind").get<int>()),
            .examples = json.at("examples"),
            .tokens = json.at("tokens"),
            .skipped = json.at("skipped"),
            .cut = json.at("cut"),
            .longest = json.at("longest"),
            .longest_labels = json.at("longest_labels"),
            .largest_id = json.at("largest_id"),
            .first_skipped = json.at("first_skipped"),
            .checksum = json.at("checksum"),
            .classes = json.at("classes")};
  } catch (const Json::exception& error) {
    fail_with(Status::invalid_file, "'{}' is damaged ({}): remove its directory", file.string(),
              error.what());
  }
}

template <typename T>
std::span<const T> values_of(const MappedFile& file) {
  return {reinterpret_cast<const T*>(file.bytes().data()), file.bytes().size() / sizeof(T)};
}

}  // namespace

ExampleWriter::ExampleWriter(fs::path directory, ExampleKind kind) : directory_(std::move(directory)) {
  make_directories(directory_.parent_path());
  std::string name = directory_.string() + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    fail_with(Status::io, "cannot make a directory '{}': {}", name, std::strerror(errno));
  temporary_ = name;
  facts_.kind = kind;
  ids_ = make(kIds), ends_ = make(kEnds), labels_ = make(kLabelValues), label_ends_ = make(kLabelEnds);
  types_ = make(kTypes);
}

ExampleWriter::~ExampleWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

ExampleWriter::File ExampleWriter::make(const char* name) const {
  File file(std::fopen((temporary_ / name).c_str(), "wb"));
  if (!file)
    fail_with(Status::io, "cannot write '{}': {}", (temporary_ / name).string(), std::strerror(errno));
  return file;
}

template <typename T>
void ExampleWriter::write(const File& file, std::span<const T> values) {
  if (values.empty()) return;  // its address may be null, which fwrite must not get
  if (std::fwrite(values.data(), sizeof(T), values.size(), file.get()) != values.size())
    fail_with(Status::io, "cannot write encoded data to '{}': {}", temporary_.string(), std::strerror(errno));
}

void ExampleWriter::add(const Example& example) {
  const bool has_types = !example.types.empty();
  write(ids_, std::span(example.ids));
  write(labels_, std::span(example.labels));
  if (has_types) write(types_, std::span(example.types));
  sum_.add(std::as_bytes(std::span(example.ids)));
  sum_.add(std::as_bytes(std::span(example.labels)));
  const auto size = std::ssize(example.ids), labels = std::ssize(example.labels);
  ++facts_.examples, facts_.cut += example.is_cut ? 1 : 0;
  facts_.tokens += size;
  facts_.longest = std::max<int64_t>(facts_.longest, size);
  facts_.longest_labels = std::max<int64_t>(facts_.longest_labels, labels);
  for (const int32_t id : example.ids) facts_.largest_id = std::max(facts_.largest_id, id);
  if (facts_.kind == ExampleKind::pairs)
    for (const int32_t id : example.labels) facts_.largest_id = std::max(facts_.largest_id, id);
  write(ends_, std::span<const int64_t>(&facts_.tokens, 1));
  if (facts_.kind != ExampleKind::pairs) return;
  label_end_ += labels;
  write(label_ends_, std::span<const int64_t>(&label_end_, 1));
}

void ExampleWriter::finish() {
  facts_.checksum = sum_.hex();
  for (File* file : {&ids_, &ends_, &labels_, &label_ends_, &types_})
    if (std::fclose(file->release()) != 0)
      fail_with(Status::io, "cannot write encoded data to '{}': {}", temporary_.string(),
                std::strerror(errno));
  write_file(temporary_ / kFacts, facts_json(facts_).dump(1) + "\n");
  std::error_code error;
  fs::rename(temporary_, directory_, error);
  if (error && !fs::exists(directory_ / kFacts))  // else another process has just written the same
    fail_with(Status::io, "cannot rename '{}' to '{}': {}", temporary_.string(), directory_.string(),
              error.message());
}

std::shared_ptr<const ExampleSet> ExampleSet::open(const fs::path& directory) {
  auto set = std::make_shared<ExampleSet>();
  set->facts_ = facts_of(directory / kFacts);
  set->ids_ = MappedFile(directory / kIds), set->ends_ = MappedFile(directory / kEnds);
  set->labels_ = MappedFile(directory / kLabelValues);
  set->label_ends_ = MappedFile(directory / kLabelEnds);
  set->types_ = MappedFile(directory / kTypes);
  set->check();
  return set;
}

/// Sizes alone: the files are this program's own.
void ExampleSet::check() const {
  const auto n = static_cast<size_t>(facts_.examples), tokens = static_cast<size_t>(facts_.tokens);
  const bool pairs = facts_.kind == ExampleKind::pairs;
  const size_t labels = values_of<int32_t>(labels_).size(), types = values_of<int32_t>(types_).size();
  const auto last = [](std::span<const int64_t> ends) { return ends.empty() ? 0 : ends.back(); };
  bool good = all_ids().size() == tokens && ends().size() == n && last(ends()) == facts_.tokens;
  good &= types == 0 || types == tokens;
  if (pairs)
    good &= values_of<int64_t>(label_ends_).size() == n &&
            last(values_of<int64_t>(label_ends_)) == static_cast<int64_t>(labels);
  else
    good &= labels == (facts_.kind == ExampleKind::documents     ? 0
                       : facts_.kind == ExampleKind::completions ? tokens
                                                                 : n);
  if (!good)
    fail_with(Status::invalid_file, "encoded data in '{}' are damaged: remove that directory",
              ids_.path().parent_path().string());
}

std::span<const int32_t> ExampleSet::all_ids() const { return values_of<int32_t>(ids_); }
std::span<const int64_t> ExampleSet::ends() const { return values_of<int64_t>(ends_); }

std::span<const int32_t> ExampleSet::part(const MappedFile& values, const MappedFile& ends, int64_t example) {
  const auto all = values_of<int64_t>(ends);
  const auto i = static_cast<size_t>(example);
  const int64_t begin = i == 0 ? 0 : all[i - 1];
  return values_of<int32_t>(values).subspan(static_cast<size_t>(begin), static_cast<size_t>(all[i] - begin));
}

std::span<const int32_t> ExampleSet::labels(int64_t example) const {
  if (facts_.kind == ExampleKind::pairs) return part(labels_, label_ends_, example);
  if (facts_.kind == ExampleKind::completions) return part(labels_, ends_, example);
  return values_of<int32_t>(labels_).subspan(static_cast<size_t>(example), 1);
}

std::span<const int32_t> ExampleSet::types(int64_t example) const {
  return types_.bytes().empty() ? std::span<const int32_t>() : part(types_, ends_, example);
}

}  // namespace smelt
