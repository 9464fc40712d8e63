// Seconds by part of the work, for reports of where time goes.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

using SecondsByPart = std::vector<std::pair<std::string, double>>;

class Stopwatch {
 public:
  /// Adds the time from its construction to its destruction.
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

  /// `part` must outlive the lap.
  [[nodiscard]] Lap lap(std::string_view part) { return {*this, part}; }
  void add(std::string_view part, double seconds) {
    const auto found = std::ranges::find(parts_, part, &SecondsByPart::value_type::first);
    if (found == parts_.end())
      parts_.emplace_back(part, seconds);
    else
      found->second += seconds;
  }
  /// Returns the parts in the order of their first laps.
  const SecondsByPart& parts() const { return parts_; }

 private:
  SecondsByPart parts_;
};

}  // namespace smelt
