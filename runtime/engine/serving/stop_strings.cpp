#include "runtime/engine/serving/stop_strings.h"

#include <algorithm>
#include <utility>

namespace smelt {

std::string StopStrings::push(std::string_view piece) {
  if (found_) return "";
  held_ += piece;
  const Place stop = first_stop();
  found_ = stop.begin != std::string::npos;
  const size_t end = includes_stop_ ? stop.end : stop.begin;
  const size_t shown = found_ ? end : held_.size() - possible_beginning();
  std::string text = held_.substr(0, shown);
  held_ = found_ ? "" : held_.substr(shown);
  return text;
}

std::string StopStrings::finish() { return std::exchange(held_, ""); }

/// The one that is complete first, wherever the others begin: this does not depend on the pieces.
StopStrings::Place StopStrings::first_stop() const {
  Place first{std::string::npos, std::string::npos};
  for (const std::string& stop : stops_) {
    const size_t begin = held_.find(stop);
    if (begin == std::string::npos) continue;
    const Place place{begin, begin + stop.size()};
    if (std::pair(place.end, place.begin) < std::pair(first.end, first.begin)) first = place;
  }
  return first;
}

/// Returns the length of the longest end that a stop text begins with.
size_t StopStrings::possible_beginning() const {
  size_t longest = 0;
  for (const std::string& stop : stops_)
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > longest; --length)
      if (held_.ends_with(std::string_view(stop).substr(0, length))) longest = length;
  return longest;
}

}  // namespace smelt
