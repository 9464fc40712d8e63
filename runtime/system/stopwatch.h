// Stopwatch: measures the seconds that each part of some work takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

/// Names of parts, and their seconds.
using SecondsByPart = std::vector<std::pair<std::string, double>>;

class Stopwatch {
 public:
  /// Timer of a part. Its destructor adds the time since its construction to the part.
  class Lap {
   public:
    Lap(Stopwatch& watch, std::string_view part) : watch_(watch), part_(part) {}
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;
    ~Lap() {
      watch_.add(part_, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count());
    }

   private:
    Stopwatch& watch_;
    std::string_view part_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  /// Starts a timer of `part`. Requires: the text `part` outlives the result.
  [[nodiscard]] Lap lap(std::string_view part) { return {*this, part}; }
  /// Adds seconds to a part.
  void add(std::string_view part, double seconds) {
    const auto found = std::ranges::find(parts_, part, &SecondsByPart::value_type::first);
    if (found == parts_.end())
      parts_.emplace_back(part, seconds);
    else
      found->second += seconds;
  }
  /// Returns the parts in the order in which they were first added.
  const SecondsByPart& parts() const { return parts_; }

 private:
  SecondsByPart parts_;
};

}  // namespace smelt
