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

  /// What may be shown of the text so far and was not yet: all before a stop text, without an end that may be
  /// the beginning of one. How the text is cut into pieces changes nothing of what is shown in all.
  std::string push(std::string_view piece);
  /// What was held back, where nothing follows it.
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
