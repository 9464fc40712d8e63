#include "codegen/printers/prelude.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "codegen/printers/device_text.h"

namespace smelt {

Prelude::Prelude(std::initializer_list<std::string_view> own) {
  for (const std::string_view file : {shared_device::kPreludeMemory, shared_device::kPreludeFunctions})
    for (const Piece& piece : pieces_of(file)) pieces_.push_back(piece);
  for (const std::string_view file : own) add_file(file);
}

std::vector<Prelude::Piece> Prelude::pieces_of(std::string_view file) {
  constexpr std::string_view kMark = "// ==== ";
  std::vector<Piece> pieces;
  for (size_t at = file.find(kMark); at != std::string_view::npos;) {
    const size_t name = at + kMark.size(), text = file.find('\n', name) + 1;
    at = file.find(kMark, text);
    pieces.push_back({file.substr(name, text - 1 - name), file.substr(text, at - text)});
  }
  return pieces;
}

/// Returns the n-th piece of a name; the end if there are fewer.
std::vector<Prelude::Piece>::iterator Prelude::place_of(std::string_view name, size_t n) {
  auto place = pieces_.begin();
  while (place != pieces_.end() && (place->name != name || n-- > 0)) ++place;
  return place;
}

void Prelude::add_file(std::string_view file) {
  std::vector<Piece> others;  // which wait for the next piece that takes a place
  std::map<std::string_view, size_t> seen;
  for (const Piece& piece : pieces_of(file)) {
    const auto place = place_of(piece.name, seen[piece.name]);
    if (place == pieces_.end()) {
      others.push_back(piece);
      continue;
    }
    ++seen[piece.name];
    place->text = piece.text;
    pieces_.insert(place, others.begin(), others.end());
    others.clear();
  }
  pieces_.insert(pieces_.end(), others.begin(), others.end());
}

void Prelude::need_calls(PreludeNeeds& needs, std::string_view text) const {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::set<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > begin) words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const Piece& piece : pieces_)
    if (words.count(piece.name) != 0) needs.insert(std::string(piece.name));
}

/// A piece may call only pieces before it, so one pass over the table finds all.
std::string Prelude::text(const PreludeNeeds& needs) const {
  PreludeNeeds all = needs;
  for (size_t i = pieces_.size(); i-- > 0;)
    if (all.count(pieces_[i].name) != 0) need_calls(all, pieces_[i].text);
  std::string text;
  for (const Piece& piece : pieces_)
    if (all.count(piece.name) != 0) text += piece.text;
  return text;
}

bool Prelude::defines(std::string_view name) const {
  return std::ranges::any_of(pieces_,
                             [&](const Piece& piece) { return piece.name == name && !piece.text.empty(); });
}

}  // namespace smelt
