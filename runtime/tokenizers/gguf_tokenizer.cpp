#include "runtime/tokenizers/gguf_tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr const char* kPrefix = "tokenizer.ggml.";
constexpr const char* kSpaceMark = "\u2581";  // SentencePiece's mark of a space

/// Values of tokenizer.ggml.token_type.
enum GgufToken : int64_t { normal = 1, unknown, control, user_defined, unused, byte };

constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Division of texts into words, by the names that tokenizer.ggml.pre has for it.
struct WordKind {
  std::vector<std::string_view> names;
  std::vector<const char*> patterns;  // each divides the parts of the one before
  bool nfc = false;                   // texts are normalized first
  bool whole_words = false;           // a word that is a token is not divided
  bool adds_bos = false;              // if the metadata do not have it
};
const std::vector<WordKind>& word_kinds() {
  static const std::vector<WordKind> kinds = {
      {{"gpt-2", "phi-2", "mpt", "olmo"}, {kGpt2Words}},
      {{"llama-bpe", "llama3", "llama-v3"}, {kLlama3Words}, false, true, true},
      {{"qwen2", "deepseek-r1-qwen"}, {kQwen2Words}, true},
      {{"smollm", "starcoder", "refact", "command-r"}, {R"(\p{N})", kGpt2Words}},
  };
  return kinds;
}

class GgufTokenizer {
 public:
  GgufTokenizer(const Json& metadata, std::string_view file) : metadata_(metadata), file_(file) {
    tokens_ = strings("tokens");
    for (const double type : numbers("token_type")) {
      if (!(type >= 0 && type < 100)) refuse(fmt::format("token_type has {}: expected one of 1 to 6", type));
      types_.push_back(static_cast<int64_t>(type));
    }
    if (!types_.empty() && types_.size() != tokens_.size()) refuse_sizes("token_type", types_.size());
    types_.resize(tokens_.size(), GgufToken::normal);
    for (size_t id = 0; id < tokens_.size(); ++id) ids_.emplace(tokens_[id], id);
  }

  Json build() const {
    const Json kind = value("model");
    Json json = {{"version", "1.0"}, {"added_tokens", added_tokens()}};
    if (kind == "gpt2")
      add_byte_pairs(json);
    else if (kind == "llama")
      add_pieces(json);
    else
      fail_with(Status::invalid_file,
                "'{}': a tokenizer '{}', which is not supported: expected gpt2 or llama; give token ids, or "
                "put the "
                "weights beside a config.json and a tokenizer.json",
                file_, kind.is_string() ? kind.get<std::string>() : brief(kind));
    return json;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail_with(Status::invalid_file, "'{}': {}{}", file_, kPrefix, what);
  }
  [[noreturn]] void refuse_sizes(const char* name, size_t size) const {
    refuse(fmt::format("{} has {} elements: expected {}, one per token", name, size, tokens_.size()));
  }

  Json value(const std::string& name) const { return metadata_.value(kPrefix + name, Json(nullptr)); }
  bool flag(const char* name, bool otherwise) const {
    const Json json = value(name);
    return json.is_boolean() ? json.get<bool>() : otherwise;
  }

  std::vector<std::string> strings(const char* name) const {
    const Json list = value(name);
    const bool valid =
        list.is_array() && std::ranges::all_of(list, [](const Json& e) { return e.is_string(); });
    if (!valid) refuse(fmt::format("{}: expected a list of strings", name));
    return list.get<std::vector<std::string>>();
  }
  /// Empty if there are none.
  std::vector<double> numbers(const char* name) const {
    const Json list = value(name);
    if (list.is_null()) return {};
    const bool valid =
        list.is_array() && std::ranges::all_of(list, [](const Json& e) { return e.is_number(); });
    if (!valid) refuse(fmt::format("{}: expected a list of numbers", name));
    return list.get<std::vector<double>>();
  }

  std::optional<size_t> special(const char* name) const {
    const Json id = value(std::string(name) + "_token_id");
    if (!id.is_number_integer()) return std::nullopt;
    if (id < 0 || id >= tokens_.size())
      refuse(fmt::format("{}_token_id is {}: expected one of {} tokens", name, brief(id), tokens_.size()));
    return id.get<size_t>();
  }

  Json added_tokens() const {
    Json added = Json::array();
    for (size_t id = 0; id < tokens_.size(); ++id)
      if (types_[id] == GgufToken::control || types_[id] == GgufToken::user_defined)
        added.push_back({{"id", id},
                         {"content", tokens_[id]},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", types_[id] == GgufToken::control}});
    return added;
  }

  Json vocabulary() const {
    Json vocabulary = Json::object();
    for (size_t id = 0; id < tokens_.size(); ++id)
      if (!vocabulary.emplace(tokens_[id], id).second)
        refuse(fmt::format("tokens: '{}' appears twice, as {} and {}", tokens_[id],
                           vocabulary[tokens_[id]].get<size_t>(), id));
    return vocabulary;
  }

  /// Surrounds a text with the first and the last token, if the model expects them.
  Json surroundings(bool adds_bos) const {
    const auto bos = special("bos"), eos = special("eos");
    Json single = Json::array(), second = Json::array(), specials = Json::object();
    const auto add = [&](Json& to, size_t id) {
      to.push_back({{"SpecialToken", {{"id", tokens_[id]}, {"type_id", 0U}}}});
      specials[tokens_[id]] = {{"id", tokens_[id]}, {"ids", {id}}, {"tokens", {tokens_[id]}}};
    };
    const auto surround = [&](Json& to, const char* sequence) {
      if (bos && flag("add_bos_token", adds_bos)) add(to, *bos);
      to.push_back({{"Sequence", {{"id", sequence}, {"type_id", 0U}}}});
      if (eos && flag("add_eos_token", false)) add(to, *eos);
    };
    surround(single, "A"), surround(second, "B");
    Json pair = single;
    for (const Json& piece : second) pair.push_back(piece);
    return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", specials}};
  }

  const WordKind& word_kind() const {
    const Json name = value("pre");
    std::vector<std::string_view> known;
    for (const WordKind& kind : word_kinds()) {
      if (std::ranges::any_of(kind.names, [&](std::string_view each) { return name == std::string(each); }))
        return kind;
      known.insert(known.end(), kind.names.begin(), kind.names.end());
    }
    refuse(
        fmt::format("pre is {}, a division into words that is not supported: expected one of {}; give token "
                    "ids, or put the weights beside a config.json and a tokenizer.json",
                    brief(name), fmt::join(known, ", ")));
  }

  /// Byte pair encoding of words, in GPT-2's byte alphabet.
  void add_byte_pairs(Json& json) const {
    const WordKind& words = word_kind();
    Json parts = Json::array();
    for (const char* pattern : words.patterns)
      parts.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
    const Json bytes = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    parts.push_back(bytes);
    if (words.nfc) json["normalizer"] = {{"type", "NFC"}};
    json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", parts}};
    json["decoder"] = bytes;
    json["post_processor"] = surroundings(words.adds_bos);
    json["model"] = {{"type", "BPE"},
                     {"vocab", vocabulary()},
                     {"merges", strings("merges")},
                     {"ignore_merges", words.whole_words}};
  }

  /// SentencePiece's BPE: pieces with scores, of which higher ones are merged first.
  void add_pieces(Json& json) const {
    const bool puts_space = flag("add_space_prefix", true);
    Json normalizers = Json::array(), decoders = Json::array();
    if (puts_space) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}});
    decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpaceMark}}}, {"content", " "}});
    decoders.push_back({{"type", "ByteFallback"}});
    decoders.push_back({{"type", "Fuse"}});
    if (puts_space) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1U}, {"stop", 0U}});
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
    json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
    json["post_processor"] = surroundings(true);
    json["model"] = {{"type", "BPE"},
                     {"vocab", vocabulary()},
                     {"merges", merges_of_pieces()},
                     {"byte_fallback", true},
                     {"fuse_unk", true}};
    if (const auto unknown = special("unknown")) json["model"]["unk_token"] = tokens_[*unknown];
  }

  struct Merge {
    std::string left, right;
    double score;
  };

  /// Adds the pairs of pieces that together are the piece `id`.
  void add_merges(size_t id, double score, std::vector<Merge>& merges) const {
    const std::string& piece = tokens_[id];
    for (size_t at = 1; at < piece.size(); ++at) {
      if ((piece[at] & 0xC0) == 0x80) continue;  // within a character
      std::string left = piece.substr(0, at), right = piece.substr(at);
      if (ids_.contains(left) && ids_.contains(right))
        merges.push_back({std::move(left), std::move(right), score});
    }
  }

  Json merges_of_pieces() const {
    const std::vector<double> scores = numbers("scores");
    if (scores.size() != tokens_.size()) refuse_sizes("scores", scores.size());
    std::vector<Merge> merges;
    for (size_t id = 0; id < tokens_.size(); ++id)
      if (types_[id] == GgufToken::normal || types_[id] == GgufToken::user_defined)
        add_merges(id, scores[id], merges);
    std::ranges::stable_sort(merges, [&](const Merge& a, const Merge& b) { return a.score > b.score; });
    Json list = Json::array();
    for (Merge& merge : merges) list.push_back({std::move(merge.left), std::move(merge.right)});
    return list;
  }

  const Json& metadata_;
  std::string file_;
  std::vector<std::string> tokens_;
  std::vector<int64_t> types_;
  std::unordered_map<std::string, size_t> ids_;
};

}  // namespace

bool has_gguf_tokenizer(const Json& metadata) { return metadata.contains(std::string(kPrefix) + "model"); }

Json gguf_tokenizer_json(const Json& metadata, std::string_view file) {
  return GgufTokenizer(metadata, file).build();
}

Json gguf_tokenizer_config(const Json& metadata) {
  constexpr std::string_view kTemplate = "tokenizer.chat_template", kNamed = "tokenizer.chat_template.";
  Json config = Json::object(), templates = Json::array();
  const Json tokens = metadata.value(std::string(kPrefix) + "tokens", Json::array());
  for (const auto& [key, name] : {std::pair("bos", "bos_token"), std::pair("eos", "eos_token"),
                                  std::pair("unknown", "unk_token"), std::pair("padding", "pad_token")}) {
    const Json id = metadata.value(fmt::format("{}{}_token_id", kPrefix, key), Json(nullptr));
    if (id.is_number_unsigned() && id < tokens.size()) config[name] = tokens[id.get<size_t>()];
  }
  for (const auto& [key, text] : metadata.items()) {
    if (!text.is_string() || !key.starts_with(kTemplate)) continue;
    if (key == kTemplate) templates.push_back({{"name", "default"}, {"template", text}});
    if (key.starts_with(kNamed))
      templates.push_back({{"name", key.substr(kNamed.size())}, {"template", text}});
  }
  if (!templates.empty()) config["chat_template"] = templates;
  return config;
}

}  // namespace smelt
