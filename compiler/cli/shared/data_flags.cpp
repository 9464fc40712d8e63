#include "compiler/cli/shared/data_flags.h"

#include <algorithm>

#include "compiler/cli/shared/encoded_files.h"
#include "compiler/cli/shared/image_folders.h"
#include "compiler/cli/shared/row_data.h"
#include "runtime/base/error.h"
#include "runtime/tokenizers/tokenizer.h"

namespace smelt::cli {
namespace {

using Files = std::vector<std::string>;

std::vector<std::filesystem::path> paths(const Files& files) { return {files.begin(), files.end()}; }

bool is_records(const std::string& file) { return std::filesystem::path(file).extension() == ".safetensors"; }

std::shared_ptr<const TokenData> read_tokens(const Model& model, const Files& files, TokenFormat format) {
  if (format != TokenFormat::automatic)
    return std::make_shared<const TokenData>(paths(files), format, model.vocabulary());
  const EncodedFiles encoded(model, files);
  return std::make_shared<const TokenData>(encoded.paths(), format, model.vocabulary());
}

std::shared_ptr<const RecordData> read_records(const Files& files, const Plan& plan, std::string_view entry) {
  const PlanEntry* found = plan.find_entry(entry);
  if (!found) fail("the plan has no entry '{}': compile the model with --mode=train", entry);
  return std::make_shared<const RecordData>(paths(files), *found, plan.symbols);
}

/// Windows are input and target at once, which is the task of a decoder alone.
void require_decoder_alone(const Model& model) {
  if (!model.about.is_object()) return;
  const Json* layers = find_path(model.about, "spec.encoder.layers");
  if (layers && layers->is_number_integer() && layers->get<int64_t>() > 0)
    fail(
        "text and token files teach a decoder alone what comes next, but this model has an encoder: give a "
        "data set of records (.safetensors; see docs/guides/data.md)");
}

/// Text goes through the model's tokenizer, or is read as bytes, which are the tokens of few models.
void require_text_model(const Model& model, const Files& files) {
  if (model.reads_bytes() || !Tokenizer::files_in(model.path).empty()) return;
  for (const std::string& file : files)
    if (format_of(file) == TokenFormat::bytes)
      fail(
          "'{}' is text, which is read as bytes, but the model's {} tokens are not bytes: put the model's "
          "tokenizer beside it, encode the text into a token file (docs/guides/data.md), give the spec "
          "\"tokenizer\": \"bytes\", or give --data-format=bytes to take bytes as they are",
          file, model.vocabulary());
}

/// The largest width of a tensor [records, width] in the files; 0 where there is none.
int64_t width_of(const Files& files, std::string_view name) {
  int64_t width = 0;
  for (const std::string& file : files) {
    const Checkpoint opened = Checkpoint::open(file);
    const TensorView* tensor = opened.find(name);
    if (tensor && tensor->shape.size() == 2) width = std::max(width, tensor->shape[1]);
  }
  return width;
}

}  // namespace

void DataFlags::add_to(CLI::App& app) {
  app.add_option(
      "--data", data,
      "files of text or tokens; rows of texts (.jsonl, .csv, .tsv, .parquet, .arrow, each also with "
      ".gz or .zst), directories or patterns of them, or - (standard input); data sets of records "
      "(.safetensors); or directories of images (CLASS/*.jpg, CLASS/*.png). Several are read one after "
      "another, or with shares, such as a.jsonl=0.7 "
      "b.parquet=0.3 (docs/guides/data.md)");
  app.add_option("--validation-data,--validation", validation, "held-back files; default: the end of --data");
  app.add_option(
         "--data-format", format,
         "automatic (by name and content), bytes (of text), llmc (.bin of llm.c), u16 (raw numbers); of "
         "rows: text (a file is a document), jsonl, csv, tsv, parquet, arrow")
      ->check(CLI::IsMember(
          {"automatic", "bytes", "llmc", "u16", "text", "jsonl", "csv", "tsv", "parquet", "arrow"}))
      ->capture_default_str();
  app.add_option("--text-field", fields.text,
                 "column of the text in rows, with --label-field also two columns (a pair); default: text");
  app.add_option("--label-field", fields.label,
                 "column of the class (a number or a text) or of the number; of images, a column of their "
                 "metadata.jsonl or metadata.csv");
  app.add_option("--prompt-field", fields.prompt,
                 "column of the text before the completion; of an encoder-decoder the source");
  app.add_option("--completion-field", fields.completion,
                 "column of the text that the model learns to write; of an encoder-decoder the target");
  app.add_option(
      "--messages-field", fields.messages,
      "column of chats, lists of messages with role and content: the assistant's answers are learnt");
  app.add_option("--on-bad-row", on_bad_row,
                 "what a row or an image that is not valid does: stop, or skip (counted)")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->capture_default_str();
  app.add_option("--held-back", held_back, "share of --data that is held back for validation")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  app.add_flag("--pack", pack,
               "fill rows of --length tokens with whole texts or records, one behind the other; default for "
               "rows of texts without other fields");
  app.add_flag("--no-pack", no_pack, "windows or single examples instead of packed rows");
  app.add_option("--document-end", document_end,
                 "token ids in a row that end a text of --pack; default: the model's end of text; files end "
                 "one too")
      ->delimiter(',');
}

bool DataFlags::holds_records() const {
  Files all = data;
  all.insert(all.end(), validation.begin(), validation.end());
  const auto records = std::ranges::count_if(all, is_records);
  if (records != 0 && holds_rows())
    fail("--data and --validation mix data sets (.safetensors) with rows of texts: give one kind");
  if (records != 0 && records != std::ranges::ssize(all))
    fail("--data and --validation mix data sets (.safetensors) with text or token files: give one kind");
  return records > 0;
}

bool DataFlags::holds_rows() const {
  if (parse_row_format(format) || fields.given()) return true;
  if (format != "automatic") return false;
  return std::ranges::any_of(data, names_rows) || std::ranges::any_of(validation, names_rows);
}

bool DataFlags::has_examples() const {
  return !fields.label.empty() || !fields.prompt.empty() || !fields.messages.empty();
}

bool DataFlags::packs(const Model& model) const {
  if (pack && no_pack) fail("--pack and --no-pack say different things: give one of them");
  if (pack || no_pack || !holds_rows() || has_examples()) return pack;
  const TransformerSpec* spec = model.spec();
  return spec && spec->encoder.layers == 0 && spec->decoder.layers > 0;
}

namespace {

/// The length of rows: the user's bound, the model's maximum, or 512.
int64_t longest_row(const TransformerSpec* spec, const std::vector<Symbols::Bound>& bounds) {
  constexpr int64_t kDefault = 512;
  for (const Symbols::Bound& bound : bounds)
    if (bound.factors == std::vector<std::string>{"T"}) return bound.upper;
  return spec && spec->max_positions > 0 ? spec->max_positions : kDefault;
}

}  // namespace

bool DataFlags::holds_images(const Model& model) const {
  if (format != "automatic" || !image_shape(model)) return false;
  const auto images = [](const Files& files) { return std::ranges::count_if(files, names_images); };
  const auto all = images(data) + images(validation);
  if (all != 0 && all != std::ssize(data) + std::ssize(validation))
    fail("--data and --validation mix images with other files: give one kind");
  return all > 0;
}

std::shared_ptr<const ReadData> DataFlags::read_images(const Model& model) const {
  if (!fields.text.empty() || !fields.prompt.empty() || !fields.completion.empty() ||
      !fields.messages.empty())
    fail(
        "--text-field, --prompt-field, --completion-field and --messages-field are columns of rows of texts: "
        "leave them out for images");
  return std::make_shared<const ImageFolders>(
      model, ImageFoldersOptions{data, validation, fields.label,
                                 on_bad_row == "skip" ? BadRows::skip : BadRows::stop, held_back});
}

std::shared_ptr<const ReadData> DataFlags::read(const Model& model,
                                                const std::vector<Symbols::Bound>& bounds) const {
  if (holds_images(model)) return read_images(model);
  if (!data.empty() && !holds_rows() && on_bad_row == "skip")
    fail("--on-bad-row is for rows of texts, such as .jsonl, and images; the files of --data are others");
  if (data.empty() || !holds_rows()) return nullptr;
  holds_records();
  return std::make_shared<const RowData>(
      model,
      RowDataOptions{data, validation, parse_row_format(format), fields,
                     on_bad_row == "skip" ? BadRows::skip : BadRows::stop, held_back},
      longest_row(model.spec(), bounds));
}

void DataFlags::bound_lengths(const Model& model, const ReadData* read, std::vector<Symbols::Bound>& bounds,
                              DefaultBounds& defaults) const {
  const auto* rows = dynamic_cast<const RowData*>(read);
  const TransformerSpec* spec = model.spec();
  if (rows && !packs(model) && rows->kind() != ExampleKind::documents) {
    const bool pairs = rows->kind() == ExampleKind::pairs;
    defaults.add(bounds, "T", pairs ? rows->longest_labels() : rows->longest(), "the length of --data");
    if (pairs) defaults.add(bounds, "S", rows->longest(), "the length of --data");
  }
  if (!spec || read || packs(model) || !holds_records()) return;
  Files all = data;
  all.insert(all.end(), validation.begin(), validation.end());
  const bool both = spec->encoder.layers > 0 && spec->decoder.layers > 0;
  const auto bound = [&](const char* symbol, const char* tensor) {
    const int64_t width = width_of(all, tensor);
    const int64_t most = spec->max_positions > 0 ? spec->max_positions : width;
    if (width > 0) defaults.add(bounds, symbol, std::min(width, most), "the width of --data");
  };
  bound("T", both ? "labels" : "input_ids");
  if (both) bound("S", "input_ids");
}

void DataFlags::read_segments(const Model& model, BuildOptions& build) const {
  if (!packs(model)) return;
  const TransformerSpec* spec = model.spec();
  build.segment_ids = true;
  build.position_ids = !spec || !spec->positions.counted;  // else the model counts them in each segment
}

std::vector<int32_t> DataFlags::document_end_of(const Model& model) const {
  if (!packs(model) || !document_end.empty()) return document_end;
  const Json* ends = model.about.is_object() ? find_path(model.about, "eos_token_id") : nullptr;
  if (!ends || !ends->is_array() || ends->empty()) return {};
  return {ends->front().get<int32_t>()};
}

DataSplit DataFlags::open(const Model& model, std::string_view entry, const ReadData* read) const {
  if (read) {
    const PlanEntry* found = model.plan->find_entry(entry);
    if (!found) fail("the plan has no entry '{}': compile the model with --mode=train", entry);
    return read->split(*found, model.plan->symbols, model.vocabulary());
  }
  if (data.empty()) fail("there is no data: name text, token or .safetensors files with --data");
  if (holds_records()) {
    const auto train = read_records(data, *model.plan, entry);
    return split<RecordData>(
        train, validation.empty() ? nullptr : read_records(validation, *model.plan, entry), held_back);
  }
  require_decoder_alone(model);
  const TokenFormat kind = *parse_token_format(format);
  if (kind == TokenFormat::automatic)
    for (const Files* files : {&data, &validation}) require_text_model(model, *files);
  const auto train = read_tokens(model, data, kind);
  return split<TokenData>(train, validation.empty() ? nullptr : read_tokens(model, validation, kind),
                          held_back);
}

}  // namespace smelt::cli
