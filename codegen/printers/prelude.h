// The helpers that kernels of a GPU call, as text. The text is divided into pieces, each of which defines one
// type or function, and a kernel's source contains only the pieces that it needs.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

/// Names of the pieces that a kernel needs. A piece has the name of the type or function that it defines.
/// Names that no piece has are ignored.
using PreludeNeeds = std::set<std::string, std::less<>>;

/// The pieces of one language: those of codegen/printers/device/prelude, and its own.
class Prelude {
 public:
  /// `own`: texts of the language's files, in which a line "// ==== NAME" begins a piece. The n-th piece of a
  /// name takes the place of the n-th shared piece of this name. Any other piece comes before the next piece
  /// of its file that takes a place, or after all others if there is none.
  explicit Prelude(std::initializer_list<std::string_view> own);

  /// Adds the piece of every function of the prelude that `text` calls.
  void need_calls(PreludeNeeds& needs, std::string_view text) const;
  /// Returns the text of the pieces, and of the pieces that they need themselves, in an order that compiles.
  std::string text(const PreludeNeeds& needs) const;
  /// Returns whether there is a piece of this name, and its text is not empty.
  bool defines(std::string_view name) const;

 private:
  struct Piece {
    std::string_view name;  // the type or function that it defines
    std::string_view text;
  };
  static std::vector<Piece> pieces_of(std::string_view file);
  std::vector<Piece>::iterator place_of(std::string_view name, size_t n);
  void add_file(std::string_view file);

  std::vector<Piece> pieces_;  // every piece calls only pieces before it
};

}  // namespace smelt
