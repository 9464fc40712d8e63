#include "runtime/tokenizers/added_tokens.h"

#include <algorithm>

#include "runtime/tokenizers/unicode/classes.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt {
namespace {

std::string normalized_content(const AddedToken& token, const Normalizer* normalizer) {
  if (!token.normalized || !normalizer) return token.content;
  AlignedText text = AlignedText::of(token.content);
  normalizer->normalize(text);
  return text.bytes;
}

uint32_t space_begin(std::string_view text, uint32_t end) {
  while (end > 0 && is(code_point_before(text, end).value, kWhitespace))
    end -= code_point_before(text, end).bytes;
  return end;
}

uint32_t space_end(std::string_view text, uint32_t begin) {
  while (begin < text.size() && is(code_point_at(text, begin).value, kWhitespace))
    begin += code_point_at(text, begin).bytes;
  return begin;
}

}  // namespace

void AddedTokens::Matcher::add(const std::string& content, int32_t id) {
  if (content.empty()) return;
  const uint32_t node = trie.insert(content);
  ids.resize(std::max<size_t>(ids.size(), trie.nodes()), -1);
  ids[node] = id;
  begins[static_cast<unsigned char>(content[0])] = true;
  empty = false;
}

Piece AddedTokens::Matcher::longest(std::string_view text, uint32_t begin) const {
  Piece found{{begin, begin}};
  uint32_t node = ByteTrie::kRoot;
  for (uint32_t at = begin; at < text.size();) {
    node = trie.child(node, text[at++]);
    if (node == ByteTrie::kNone) break;
    if (ids[node] >= 0) found = {{begin, at}, ids[node]};
  }
  return found;
}

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const Vocabulary& model,
                         const Normalizer* normalizer) {
  auto next_id = static_cast<int32_t>(model.size());
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    auto known = id(token.content);
    if (!known) known = model.find(token.content);
    if (!known) {
      known = next_id++;
      ++new_tokens_;
    }
    ids_[token.content] = *known;
    if (token.special) special_.insert(token.content);
    entries_[*known] = {token, normalized_content(token, normalizer)};
  }
  for (const auto& [id, entry] : entries_)
    (entry.token.normalized ? normalized_ : plain_).add(entry.normalized, id);
}

std::optional<int32_t> AddedTokens::id(std::string_view content) const {
  const auto found = ids_.find(content);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string_view> AddedTokens::text(int32_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? std::nullopt : std::optional<std::string_view>(found->second.normalized);
}

bool AddedTokens::is_special_id(int32_t id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.token.special;
}

bool AddedTokens::accepts(const AddedToken& token, std::string_view text, Span match) const {
  if (!token.single_word) return true;
  const bool before = match.begin > 0 && is(code_point_before(text, match.begin).value, kWord);
  const bool behind = match.end < text.size() && is(code_point_at(text, match.end).value, kWord);
  return !before && !behind;
}

std::vector<Piece> AddedTokens::find_in(std::string_view text, const Matcher& matcher, bool special) const {
  std::vector<Piece> pieces;
  uint32_t done = 0;
  const auto size = static_cast<uint32_t>(text.size());
  for (uint32_t at = 0; !matcher.empty && at < size;) {
    if (!matcher.begins[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const Piece found = matcher.longest(text, at);
    at = found.token < 0 ? at + 1 : found.range.end;
    if (found.token < 0) continue;
    const AddedToken& token = entries_.at(found.token).token;
    if ((token.special && !special) || !accepts(token, text, found.range)) continue;
    Span range = found.range;
    if (token.lstrip) range.begin = std::max(space_begin(text, range.begin), done);
    if (token.rstrip) range.end = space_end(text, range.end);
    if (done < range.begin) pieces.push_back({{done, range.begin}});
    pieces.push_back({range, found.token});
    done = range.end;
  }
  if (done < size) pieces.push_back({{done, size}});
  return pieces;
}

void AddedTokens::keep_language_codes(const Vocabulary& model, int32_t unknown) {
  unknown_language_ = unknown;
  model.each([&](const std::string& token, int32_t id) {
    if (token.starts_with(">>")) language_codes_[token] = id;
  });
}

Piece AddedTokens::language_code(std::string_view text) const {
  const size_t end =
      unknown_language_ >= 0 && text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
  if (end == std::string_view::npos) return {};
  const auto size = static_cast<uint32_t>(end + 2);
  const auto known = language_codes_.find(text.substr(0, size));
  return {{0, size}, known == language_codes_.end() ? unknown_language_ : known->second};
}

PieceList AddedTokens::find(std::string_view text, const Normalizer* normalizer, bool special) const {
  PieceList result;
  const AlignedText whole = AlignedText::of(text);
  const auto put = [&](const AlignedText& from, const Piece& piece) {
    const auto begin = static_cast<uint32_t>(result.text.bytes.size());
    result.text.append(from, piece.range);
    result.pieces.push_back({{begin, static_cast<uint32_t>(result.text.bytes.size())}, piece.token});
  };
  for (Piece piece : find_in(text, plain_, special)) {
    if (piece.token >= 0) {
      put(whole, piece);
      continue;
    }
    AlignedText part = whole.slice(piece.range);
    if (const Piece code = language_code(part.bytes); code.token >= 0) {
      put(part, code);
      part = part.slice({code.range.end, static_cast<uint32_t>(part.bytes.size())});
    }
    if (normalizer) normalizer->normalize(part);
    for (const Piece& found : find_in(part.bytes, normalized_, special)) put(part, found);
  }
  return result;
}

}  // namespace smelt
