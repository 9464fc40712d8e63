#include "codegen/cuda/prelude.h"

#include <cctype>
#include <vector>

#include "codegen/cuda/device_text.h"

namespace smelt {
namespace {

struct PreludePiece {
  std::string_view name;  // the type or function that it defines
  std::string_view text;
};

/// Appends the pieces of a file of codegen/cuda/device/prelude/. A marked line names the piece after it.
void append_pieces(std::vector<PreludePiece>& pieces, std::string_view file) {
  constexpr std::string_view kMark = "// ==== ";
  for (size_t at = file.find(kMark); at != std::string_view::npos;) {
    const size_t name = at + kMark.size(), text = file.find('\n', name) + 1;
    at = file.find(kMark, text);
    pieces.push_back({file.substr(name, text - 1 - name), file.substr(text, at - text)});
  }
}

/// Every piece calls only pieces before it.
const std::vector<PreludePiece>& prelude_pieces() {
  static const std::vector<PreludePiece> all = [] {
    std::vector<PreludePiece> pieces;
    for (const std::string_view file :
         {device::kPreludeMemory, device::kPreludeFunctions, device::kPreludeThreads})
      append_pieces(pieces, file);
    return pieces;
  }();
  return all;
}

/// A piece may call only pieces before it, so one pass over the table finds all.
void add_needs_of_pieces(PreludeNeeds& needs) {
  const std::vector<PreludePiece>& pieces = prelude_pieces();
  for (size_t i = pieces.size(); i-- > 0;)
    if (needs.count(pieces[i].name) != 0) need_calls(needs, pieces[i].text);
}

}  // namespace

void need_calls(PreludeNeeds& needs, std::string_view text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::set<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > begin) words.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const PreludePiece& piece : prelude_pieces())
    if (words.count(piece.name) != 0) needs.insert(std::string(piece.name));
}

std::string_view cuda_memory_type(DType type) {
  switch (type) {
    case DType::f32:
      return "float";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "double";
    case DType::i32:
      return "int";
    case DType::i64:
      return "i64";
    case DType::u16:
      return "u16";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::boolean:
      return "flag";
  }
  return "";
}

void need_element(PreludeNeeds& needs, DType type) { needs.insert(std::string(cuda_memory_type(type))); }

std::string cuda_prelude(const PreludeNeeds& needs) {
  PreludeNeeds all = needs;
  add_needs_of_pieces(all);
  std::string text;
  for (const PreludePiece& piece : prelude_pieces())
    if (all.count(piece.name) != 0) text += piece.text;
  return text;
}

}  // namespace smelt
