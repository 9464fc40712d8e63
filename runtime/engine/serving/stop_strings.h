// Search for stop texts, which end a sequence, in a text that is received piece by piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class StopStrings {
 public:
  /// Requires: no stop text is empty.
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds a piece, and returns the text that can be shown now and was not returned before. It ends before a
  /// stop text, and does not include an end that may be the beginning of a stop text, which is held back. All
  /// returned texts together do not depend on the division into pieces.
  std::string push(std::string_view piece);
  /// Ends the text, and returns the text that was held back.
  std::string finish();
  /// Returns whether a stop text was found.
  bool found() const { return found_; }

 private:
  struct Place {
    size_t begin, end;
  };
  Place first_stop() const;
  size_t possible_beginning() const;

  std::vector<std::string> stops_;
  std::string held_;
  bool found_ = false;
};

}  // namespace smelt
