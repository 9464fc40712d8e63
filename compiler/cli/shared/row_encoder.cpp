#include "compiler/cli/shared/row_encoder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>

#include "compiler/cli/shared/class_names.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_file.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using Messages = nlohmann::ordered_json;

constexpr const char *kText = "text", *kTools = "tools", *kAssistant = "assistant";
constexpr int32_t kIgnored = -100;

/// The files of a model that decide how texts are encoded; some may not be there.
std::vector<fs::path> encoding_files(const fs::path& directory) {
  std::vector<fs::path> files = Tokenizer::files_in(directory), templates;
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "chat_template.jinja", "chat_template.json"})
    files.push_back(directory / name);
  if (const fs::path more = directory / "additional_chat_templates"; fs::is_directory(more))
    for (const auto& entry : fs::directory_iterator(more)) templates.push_back(entry.path());
  std::ranges::sort(templates);
  files.insert(files.end(), templates.begin(), templates.end());
  return files;
}

/// A checksum of them; of a GGUF file, of its metadata.
std::string checksum_of(const fs::path& model) {
  Checksum sum;
  if (is_gguf_file(model)) {
    const std::string metadata =
        read_gguf_metadata(model).dump(-1, ' ', false, Json::error_handler_t::replace);
    sum.add(std::as_bytes(std::span(metadata)));
    return sum.hex();
  }
  const std::vector<fs::path> files = encoding_files(model);
  for (const fs::path& file : files)
    if (fs::is_regular_file(file)) sum.add(MappedFile(file).bytes());
  return sum.hex();
}

std::string brief_cell(const Cell& cell) {
  constexpr size_t kShown = 60;
  std::string text = cell.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return repair_utf8(text);
}

std::optional<int64_t> integer_in(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> number_in(const Cell& cell) {
  if (cell.is_boolean()) return cell.get<bool>() ? 1.0 : 0.0;
  if (cell.is_number()) return cell.get<double>();
  if (!cell.is_string()) return std::nullopt;
  const std::string text = cell.get<std::string>();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> integer_in(const Cell& cell) {
  if (cell.is_string()) return integer_in(cell.get<std::string>());
  const std::optional<double> value = number_in(cell);
  if (!value || *value != std::floor(*value) || std::abs(*value) > 1e15) return std::nullopt;
  return static_cast<int64_t>(*value);
}

void require_messages(const Cell& messages, const std::string& column) {
  const auto is_message = [](const Cell& message) {
    return message.is_object() && message.contains("role") && message["role"].is_string();
  };
  if (!messages.is_array() || messages.empty() || !std::ranges::all_of(messages, is_message))
    fail("'{}' is {}: expected a list of messages, objects with \"role\" and \"content\"", column,
         brief_cell(messages));
}

/// Returns what the template writes after the content of the last message.
std::string text_after(const std::string& rendered, const std::string& content) {
  const size_t at = rendered.rfind(content);
  return content.empty() || at == rendered.npos ? "" : rendered.substr(at + content.size());
}

std::string trimmed_content(const Cell& message) {
  if (!message.contains("content") || !message["content"].is_string()) return "";
  const std::string text = message["content"].get<std::string>();
  constexpr const char* kSpace = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kSpace), end = text.find_last_not_of(kSpace);
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

[[noreturn]] void refuse_encoder(bool decodes) {
  if (decodes)
    fail(
        "this model has an encoder and a decoder: name the columns of the source and of the target with "
        "--prompt-field and --completion-field");
  fail(
      "this model is an encoder without classes: rows of texts train no such model; give a data set of "
      "records "
      "(.safetensors; docs/guides/data.md)");
}

}  // namespace

RowEncoder::RowEncoder(const Model& model, RowFields fields, int64_t longest)
    : fields_(std::move(fields)), longest_(longest) {
  const TransformerSpec* spec = model.spec();
  if (!spec)
    fail("'{}': rows of texts need a model's directory or its spec, which a plan or graph is not",
         model.path.string());
  ends_.assign(spec->tokens.eos.begin(), spec->tokens.eos.end());
  vocabulary_ = spec->vocab_size;
  choose_kind(model);
  choose_columns();
  if (!Tokenizer::files_in(model.path).empty()) {
    tokenizer_ = Tokenizer::load(model.path);
    tokenizer_->set_truncation(std::nullopt), tokenizer_->set_padding(std::nullopt);
    cut_tokenizer_ = *tokenizer_;
    cut_tokenizer_->set_truncation(Truncation{.max_length = static_cast<size_t>(longest)});
  } else if (spec->tokenizer != TokenizerKind::bytes) {
    fail(
        "'{}' has no tokenizer, and its {} tokens are not bytes: put the model's tokenizer beside it, or "
        "give "
        "the spec \"tokenizer\": \"bytes\"",
        model.path.string(), vocabulary_);
  }
  if (!fields_.messages.empty()) chat_ = ChatText::load(model.path);
  if (!fields_.messages.empty() && !chat_)
    fail(
        "'{}' has no chat template, which --messages-field needs: put chat_template.jinja into that "
        "directory",
        model.path.string());
  model_key_ = fs::is_directory(model.path) || is_gguf_file(model.path) ? checksum_of(model.path) : "bytes";
}

void RowEncoder::choose_kind(const Model& model) {
  const TransformerSpec& spec = *model.spec();
  const bool pairs = !fields_.prompt.empty() || !fields_.completion.empty();
  const int tasks = (pairs ? 1 : 0) + (fields_.label.empty() ? 0 : 1) + (fields_.messages.empty() ? 0 : 1);
  if (tasks > 1 || (!fields_.text.empty() && tasks > 0 && fields_.label.empty()))
    fail(
        "the fields are those of several tasks: give --text-field, or --text-field and --label-field, or "
        "--prompt-field and --completion-field, or --messages-field");
  if (pairs && (fields_.prompt.empty() || fields_.completion.empty()))
    fail("--prompt-field and --completion-field belong together: give both");
  if (fields_.text.size() > 2 || (fields_.text.size() == 2 && fields_.label.empty()))
    fail("--text-field: expected one column, or with --label-field also the two of a pair");
  const bool classifies = spec.head.kind == HeadKind::sequence_classes;
  const bool encodes = spec.encoder.layers > 0, decodes = spec.decoder.layers > 0;
  if (!fields_.label.empty()) {
    if (!classifies)
      fail("--label-field: this model has no classes (no sequence classification): choose another model");
    if (spec.head.problem == Problem::several_classes)
      fail("--label-field: one label per row, but several classes of this model may apply: give records");
    kind_ = spec.head.problem == Problem::regression ? ExampleKind::numbers : ExampleKind::classes;
    classes_ = spec.head.classes;
    if (kind_ == ExampleKind::classes) read_class_names(model);
  } else if (classifies) {
    fail("this model classifies texts: name the column of the class with --label-field");
  } else if (pairs && encodes && decodes) {
    kind_ = ExampleKind::pairs;
  } else if (encodes) {
    refuse_encoder(decodes);
  } else {
    kind_ = pairs || !fields_.messages.empty() ? ExampleKind::completions : ExampleKind::documents;
  }
}

void RowEncoder::choose_columns() {
  if (!fields_.messages.empty()) {
    columns_ = {{fields_.messages}, {kTools, true}};
  } else if (!fields_.prompt.empty()) {
    columns_ = {{fields_.prompt}, {fields_.completion}};
  } else {
    if (fields_.text.empty()) fields_.text = {kText};
    for (const std::string& name : fields_.text) columns_.push_back({name});
    if (!fields_.label.empty()) columns_.push_back({fields_.label});
  }
}

void RowEncoder::read_class_names(const Model& model) {
  const std::vector<std::string> names = class_names_of(model.path);
  for (size_t i = 0; i < names.size(); ++i) class_numbers_.emplace(names[i], static_cast<int32_t>(i));
}

std::string RowEncoder::key() const {
  std::vector<std::string> names = {fields_.label, fields_.prompt, fields_.completion, fields_.messages};
  for (const ColumnName& column : columns_) names.push_back(column.name);
  const int64_t longest = kind_ == ExampleKind::documents ? 0 : longest_;
  return fmt::format("{} {} {} {} {} {} {} {}", SMELT_VERSION, static_cast<int>(kind_), model_key_, longest,
                     classes_, ends_, names, class_numbers_);
}

std::string RowEncoder::text_of(const std::vector<Cell>& cells, size_t column) const {
  const Cell& cell = cells[column];
  if (!cell.is_string())
    fail("'{}' is {}: expected a text", columns_[column].name, cell.is_null() ? "null" : brief_cell(cell));
  std::string text = cell.get<std::string>();
  if (text.empty()) fail("'{}' is empty: expected a text", columns_[column].name);
  return text;
}

RowEncoder::Ids RowEncoder::encode(const std::string& text, bool special, bool target) const {
  if (tokenizer_)
    return tokenizer_
        ->encode(text, {.add_special_tokens = special, .target = target && tokenizer_->has_target()})
        .ids;
  Ids ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

void RowEncoder::add_end(Ids& ids) const {
  if (!ends_.empty() && (ids.empty() || ids.back() != ends_.front())) ids.push_back(ends_.front());
}

EncodedRow RowEncoder::encode(const std::vector<Cell>& cells) const {
  if (!fields_.messages.empty()) return chat(cells);
  switch (kind_) {
    case ExampleKind::documents:
      return document(cells);
    case ExampleKind::completions:
      return completion(cells);
    case ExampleKind::pairs:
      return pair(cells);
    default:
      return labelled(cells);
  }
}

EncodedRow RowEncoder::document(const std::vector<Cell>& cells) const {
  EncodedRow row;
  row.example.ids = encode(text_of(cells, 0), false);
  add_end(row.example.ids);
  return row;
}

/// The prompt is encoded alone, as in generation. The end token of a prompt is not part of it.
EncodedRow RowEncoder::completion(const std::vector<Cell>& cells) const {
  Ids ids = encode(text_of(cells, 0), true);
  while (!ids.empty() && std::ranges::find(ends_, ids.back()) != ends_.end() && ids.size() > 1)
    ids.pop_back();
  Ids labels(ids.size(), kIgnored), answer = encode(text_of(cells, 1), false);
  add_end(answer);
  ids.insert(ids.end(), answer.begin(), answer.end());
  labels.insert(labels.end(), answer.begin(), answer.end());
  return cut_completion(std::move(ids), std::move(labels));
}

EncodedRow RowEncoder::cut_completion(Ids ids, Ids labels) const {
  const auto whole = ids.size(), most = static_cast<size_t>(longest_);
  if (whole > most) ids.resize(most), labels.resize(most);
  const auto counts = [](int32_t label) { return label != kIgnored; };
  if (labels.size() < 2 || std::ranges::none_of(labels.begin() + 1, labels.end(), counts))
    fail(
        "no token of the answer counts within {} of its {} tokens: expected a shorter prompt, or a larger "
        "--length",
        ids.size(), whole);
  EncodedRow row;
  row.example.is_cut = whole > most;
  row.example.ids = std::move(ids), row.example.labels = std::move(labels);
  return row;
}

EncodedRow RowEncoder::pair(const std::vector<Cell>& cells) const {
  EncodedRow row;
  Example& example = row.example;
  example.ids = encode(text_of(cells, 0), true), example.labels = encode(text_of(cells, 1), true, true);
  const auto most = static_cast<size_t>(longest_);
  for (Ids* ids : {&example.ids, &example.labels}) {
    add_end(*ids);
    if (ids->size() <= most) continue;
    example.is_cut = true;
    ids->resize(most);
    if (!ends_.empty()) ids->back() = ends_.front();
  }
  return row;
}

EncodedRow RowEncoder::labelled(const std::vector<Cell>& cells) const {
  const bool two = fields_.text.size() == 2;
  EncodedRow row;
  Example& example = row.example;
  if (!tokenizer_) {
    example.ids = encode(text_of(cells, 0) + (two ? "\n" + text_of(cells, 1) : ""), false);
    example.is_cut = std::ssize(example.ids) > longest_;
    if (example.is_cut) example.ids.resize(static_cast<size_t>(longest_));
  } else {
    const Encoding whole = two ? cut_tokenizer_->encode_pair(text_of(cells, 0), text_of(cells, 1))
                               : cut_tokenizer_->encode(text_of(cells, 0));
    example.ids = whole.ids, example.types = whole.type_ids;
    example.is_cut = std::ssize(example.ids) == longest_ && is_longer(cells);
  }
  set_label(cells.back(), row);
  return row;
}

/// Returns whether the texts have more tokens than are kept.
bool RowEncoder::is_longer(const std::vector<Cell>& cells) const {
  const Encoding whole = fields_.text.size() == 2
                             ? tokenizer_->encode_pair(text_of(cells, 0), text_of(cells, 1))
                             : tokenizer_->encode(text_of(cells, 0));
  return std::ssize(whole.ids) > longest_;
}

void RowEncoder::set_label(const Cell& cell, EncodedRow& row) const {
  const auto refuse = [&](const char* expected) {
    fail("'{}' is {}: expected {}", columns_.back().name, cell.is_null() ? "null" : brief_cell(cell),
         expected);
  };
  if (kind_ == ExampleKind::numbers) {
    const std::optional<double> number = number_in(cell);
    if (!number || !std::isfinite(*number)) refuse("a finite number");
    row.example.labels = {std::bit_cast<int32_t>(static_cast<float>(*number))};
    return;
  }
  if (cell.is_string()) {
    const std::string text = cell.get<std::string>();
    const auto known = class_numbers_.find(text);
    if (known != class_numbers_.end()) return set_class(known->second, row);
    if (text.empty()) refuse("a class");
    if (const auto number = integer_in(text)) return set_class(*number, row);
    if (!class_numbers_.empty()) refuse("one of the classes that the model's directory names");
    row.class_name = text, row.example.labels = {0};
    return;
  }
  const std::optional<int64_t> number = integer_in(cell);
  if (!number) refuse("a class, as a whole number or a text");
  set_class(*number, row);
}

void RowEncoder::set_class(int64_t label, EncodedRow& row) const {
  if ((label < 0 || label >= classes_) && label != kIgnored)
    fail("'{}' is {}: expected a class from 0 to {}", columns_.back().name, label, classes_ - 1);
  row.example.labels = {static_cast<int32_t>(label)};
}

EncodedRow RowEncoder::chat(const std::vector<Cell>& cells) const {
  require_messages(cells[0], fields_.messages);
  const std::string text =
      chat_->render({.messages = cells[0], .tools = cells[1], .add_generation_prompt = false});
  const std::vector<TextRange> ranges = answers(cells[0], cells[1], text);
  Ids ids, labels;
  if (tokenizer_) {
    const Encoding whole = tokenizer_->encode(text, {.add_special_tokens = false, .byte_offsets = true});
    ids = whole.ids, labels.assign(ids.size(), kIgnored);
    for (size_t i = 0; i < ids.size(); ++i)
      for (const TextRange& range : ranges)
        if (whole.offsets[i].begin >= range.begin && whole.offsets[i].end <= range.end) labels[i] = ids[i];
  } else {
    ids = encode(text, false), labels.assign(ids.size(), kIgnored);
    for (const TextRange& range : ranges)
      std::copy(ids.begin() + range.begin, ids.begin() + range.end, labels.begin() + range.begin);
  }
  return cut_completion(std::move(ids), std::move(labels));
}

/// An answer begins after the prompt that the messages before it make. It ends where the messages up to it
/// end, or, if the template writes the last message differently, after the answer's own text.
std::vector<TextRange> RowEncoder::answers(const Cell& messages, const Cell& tools,
                                           const std::string& text) const {
  std::vector<TextRange> ranges;
  Cell before = Cell::array();
  for (const Cell& message : messages) {
    const bool is_answer = message["role"] == kAssistant;
    const std::string prompt =
        is_answer && !before.empty() ? chat_->render({.messages = before, .tools = tools}) : "";
    before.push_back(message);
    if (!is_answer) continue;
    if (!text.starts_with(prompt))
      fail(
          "'{}': the chat template writes the messages before answer {} differently when the answer follows, "
          "so "
          "that the answer cannot be told from them",
          fields_.messages, ranges.size() + 1);
    const std::string with =
        chat_->render({.messages = before, .tools = tools, .add_generation_prompt = false});
    size_t end = with.size();
    if (!text.starts_with(with) || end < prompt.size()) {
      const std::string content = trimmed_content(message);
      const size_t at = content.empty() ? text.npos : text.find(content, prompt.size());
      if (at == text.npos)
        fail("'{}': the chat template does not write the text of answer {}", fields_.messages,
             ranges.size() + 1);
      const std::string after = text_after(with, content);
      end = at + content.size();
      if (std::string_view(text).substr(end).starts_with(after)) end += after.size();
    }
    ranges.push_back({static_cast<uint32_t>(prompt.size()), static_cast<uint32_t>(end)});
  }
  if (ranges.empty())
    fail("'{}' has no message of the assistant, whose answers are learnt", fields_.messages);
  return ranges;
}

}  // namespace smelt::cli
