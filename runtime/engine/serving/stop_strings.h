// Search for stop texts, which end a sequence, in a text that is received piece by piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class StopStrings {
 public:
  /// `includes_stop`: the text ends after the first stop text, not before it. Requires: no stop text is
  /// empty.
  explicit StopStrings(std::vector<std::string> stops, bool includes_stop = false)
      : stops_(std::move(stops)), includes_stop_(includes_stop) {}

  /// Adds a piece, and returns the text that can be shown now: the part of the text so far that was not
  /// returned before, up to the first stop text, or with it. An end that may be the beginning of a stop text
  /// is held back until more pieces are added. The concatenation of all results does not depend on how the
  /// text is divided into pieces. After a stop text was found, returns an empty text.
  std::string push(std::string_view piece);
  /// Ends the text, and returns the text that was held back.
  std::string finish();
  /// Returns whether a stop text was found.
  bool found() const { return found_; }

 private:
  /// Range of a stop text in `held_`; npos if there is none.
  struct Place {
    size_t begin, end;
  };
  /// Returns the stop text that ends first.
  Place first_stop() const;
  /// Returns the length of the longest end of `held_` with which a stop text begins.
  size_t possible_beginning() const;

  std::vector<std::string> stops_;
  bool includes_stop_;
  std::string held_;  // received text that was not returned yet
  bool found_ = false;
};

}  // namespace smelt
