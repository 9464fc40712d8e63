#include <algorithm>
#include <array>

#include "runtime/base/error.h"
#include "runtime/tokenizers/models/merge_queue.h"
#include "runtime/tokenizers/models/merge_table.h"
#include "runtime/tokenizers/models/model.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

constexpr uint32_t kNoSymbol = ~0u;
constexpr size_t kLongWord = 1 << 16;  // symbols; from here on lists by rank are quicker than a heap
constexpr char32_t kFrequent = 0x800;

/// A token in the making; one of no bytes has been merged into another.
struct Symbol {
  int32_t id;
  uint32_t bytes;
  uint32_t before, after;
};

class BpeModel : public TokenModel {
 public:
  BpeModel(Vocabulary vocabulary, const BpeOptions& options)
      : TokenModel(std::move(vocabulary)),
        options_(options),
        merges_(options.merges.size()),
        bytes_(options.byte_fallback ? byte_token_ids(vocabulary_) : std::vector<int32_t>()) {
    for (const auto& [left, right] : options_.merges) add_merge(left, right);
    options_.merges.clear();
    for (char32_t c = 0; c < kFrequent; ++c) {
      std::string text;
      append_utf8(text, c);
      frequent_[c] = vocabulary_.find(text).value_or(-1);
    }
  }

  void encode(std::string_view piece, std::vector<ModelToken>& tokens) const override {
    if (piece.empty()) return;
    if (options_.ignore_merges) {
      if (const auto id = vocabulary_.find(piece)) {
        tokens.push_back({*id, {0, static_cast<uint32_t>(piece.size())}});
        return;
      }
    }
    thread_local std::vector<Symbol> symbols;
    symbols.clear();
    add_symbols(piece, symbols);
    merge(symbols);
    uint32_t at = 0;
    for (const Symbol& symbol : symbols) {
      if (symbol.bytes == 0) continue;
      tokens.push_back({symbol.id, {at, at + symbol.bytes}});
      at += symbol.bytes;
    }
    if (symbols.size() >= kLongWord) symbols = {};
  }

 private:
  void add_merge(const std::string& left, const std::string& right) {
    const size_t prefix = std::min(options_.continuing_subword_prefix.size(), right.size());
    const auto id = [&](const std::string& token) {
      const auto found = vocabulary_.find(token);
      if (!found)
        fail_with(Status::invalid_file, "tokenizer: merge '{} {}': the vocabulary has no '{}'", left, right,
                  token);
      return *found;
    };
    const int32_t first = id(left), second = id(right);
    merges_.add(first, second, id(left + right.substr(prefix)));
  }

  int32_t find_symbol(std::string_view text, char32_t c, bool first, bool last) const {
    const bool decorated = (!first && !options_.continuing_subword_prefix.empty()) ||
                           (last && !options_.end_of_word_suffix.empty());
    if (!decorated) return c < kFrequent ? frequent_[c] : vocabulary_.find(text).value_or(-1);
    return vocabulary_.find(decorate(text, first, last)).value_or(-1);
  }

  std::string decorate(std::string_view text, bool first, bool last) const {
    return (first ? "" : options_.continuing_subword_prefix) + std::string(text) +
           (last ? options_.end_of_word_suffix : "");
  }

  void add_symbols(std::string_view piece, std::vector<Symbol>& symbols) const {
    Symbol unknown{-1, 0, 0, 0};
    const auto flush = [&] {
      if (unknown.bytes > 0) add(symbols, unknown.id, unknown.bytes);
      unknown.bytes = 0;
    };
    for (uint32_t at = 0; at < piece.size();) {
      const CodePoint c = code_point_at(piece, at);
      const std::string_view text = piece.substr(at, c.bytes);
      const bool first = at == 0, last = at + c.bytes == piece.size();
      const int32_t id = find_symbol(text, c.value, first, last);
      at += c.bytes;
      if (id >= 0) {
        flush();
        add(symbols, id, c.bytes);
      } else if (!add_bytes(decorate(text, first, last), symbols) && options_.unk_token) {
        if (!options_.fuse_unk) flush();
        unknown.id = require_unknown(*options_.unk_token);
        unknown.bytes += c.bytes;
      }
    }
    flush();
  }

  /// Pending unknown text to be fused comes after the bytes, as in Hugging Face's tokenizers.
  bool add_bytes(const std::string& text, std::vector<Symbol>& symbols) const {
    const auto id = [&](char byte) { return bytes_[static_cast<unsigned char>(byte)]; };
    if (bytes_.empty() || std::any_of(text.begin(), text.end(), [&](char byte) { return id(byte) < 0; }))
      return false;
    for (const char byte : text) add(symbols, id(byte), 1);
    return true;
  }

  static void add(std::vector<Symbol>& symbols, int32_t id, uint32_t bytes) {
    const auto at = static_cast<uint32_t>(symbols.size());
    if (at > 0) symbols.back().after = at;
    symbols.push_back({id, bytes, at == 0 ? kNoSymbol : at - 1, kNoSymbol});
  }

  void merge(std::vector<Symbol>& symbols) const {
    if (symbols.size() < 2) return;
    if (symbols.size() < kLongWord) {
      thread_local ShortMergeQueue queue;
      merge_all(symbols, queue);
    } else {
      LongMergeQueue queue(merges_.size());
      merge_all(symbols, queue);
    }
  }

  template <typename Queue>
  void merge_all(std::vector<Symbol>& symbols, Queue& queue) const {
    for (uint32_t at = 0; at + 1 < symbols.size(); ++at) offer(symbols, at, queue);
    while (!queue.empty()) {
      const Candidate next = queue.pop();
      Symbol& left = symbols[next.position];
      if (left.bytes == 0 || left.after == kNoSymbol) continue;
      Symbol& right = symbols[left.after];
      const Merge* merge = merges_.find(left.id, right.id);
      if (!merge || merge->id != merges_.id(next.rank)) continue;  // the pair is another by now
      left.id = merge->id;
      left.bytes += right.bytes;
      left.after = right.after;
      right.bytes = 0;
      if (left.after != kNoSymbol) symbols[left.after].before = next.position;
      if (left.before != kNoSymbol) offer(symbols, left.before, queue);
      if (left.after != kNoSymbol) offer(symbols, next.position, queue);
    }
  }

  template <typename Queue>
  void offer(const std::vector<Symbol>& symbols, uint32_t at, Queue& queue) const {
    if (const Merge* merge = merges_.find(symbols[at].id, symbols[symbols[at].after].id))
      queue.push({merge->rank, at});
  }

  BpeOptions options_;
  MergeTable merges_;
  std::vector<int32_t> bytes_;
  std::array<int32_t, kFrequent> frequent_{};  // code points that are tokens
};

}  // namespace

std::unique_ptr<TokenModel> bpe_model(Vocabulary vocabulary, const BpeOptions& options) {
  return std::make_unique<BpeModel>(std::move(vocabulary), options);
}

}  // namespace smelt
