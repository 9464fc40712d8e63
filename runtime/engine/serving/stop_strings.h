// Finds texts that end a sequence in text that comes piece by piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

class StopStrings {
 public:
  /// None of them may be empty.
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Returns the text that may be shown and was not yet: all text before a stop text, without an end that may
  /// be the beginning of one. The total does not depend on how the text is split into pieces.
  std::string push(std::string_view piece);
  /// Returns the text that was held back, at the end of the text.
  std::string finish();
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
