#include "frontend/data/row_of_texts.h"

#include <algorithm>
#include <array>
#include <string>

namespace smelt {
namespace {

constexpr size_t kMostMembers = 16;  // names are compared with each other
constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

/// Bytes that end a run of plain ones in a string.
constexpr std::array<bool, 256> kEndsRun = [] {
  std::array<bool, 256> ends{};
  for (size_t control = 0; control < ' '; ++control) ends[control] = true;
  ends['"'] = ends['\\'] = true;
  return ends;
}();

class Scanner {
 public:
  explicit Scanner(std::string_view line) : rest_(line) {}

  /// Skips spaces, and takes the character if it is the next one.
  bool take(char expected) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool take_string(std::string& text) {
    if (!take('"')) return false;
    while (true) {
      take_run(text);
      if (rest_.empty()) return false;
      const char end = rest_[0];
      rest_.remove_prefix(1);
      if (end == '"') return true;
      if (end != '\\' || !take_escape(text)) return false;
    }
  }

  bool is_at_end() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty();
  }

 private:
  void take_run(std::string& text) {
    const auto* end = std::find_if(rest_.begin(), rest_.end(),
                                   [](char c) { return kEndsRun[static_cast<unsigned char>(c)]; });
    text.append(rest_.begin(), end);
    rest_.remove_prefix(static_cast<size_t>(end - rest_.begin()));
  }

  bool take_escape(std::string& text) {
    const size_t number = rest_.empty() ? kEscapes.npos : kEscapes.find(rest_[0]);
    if (number == kEscapes.npos) return false;
    text += kEscaped[number];
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

/// Takes a member and adds it to the row; returns false for a name that the row has already, or too many.
bool take_member(Scanner& scanner, Cell& row) {
  std::string name, text;
  if (!scanner.take_string(name) || !scanner.take(':') || !scanner.take_string(text)) return false;
  if (row.size() == kMostMembers || row.contains(name)) return false;
  row[name] = std::move(text);
  return true;
}

}  // namespace

std::optional<Cell> row_of_texts(std::string_view line) {
  Scanner scanner(line);
  Cell row = Cell::object();
  if (!scanner.take('{')) return std::nullopt;
  do {
    if (!take_member(scanner, row)) return std::nullopt;
  } while (scanner.take(','));
  return scanner.take('}') && scanner.is_at_end() ? std::optional(std::move(row)) : std::nullopt;
}

}  // namespace smelt
