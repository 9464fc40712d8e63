// The one exception of Smelt. A message states the fault, its place, the expected value and a remedy.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace smelt {

/// Classes of failure that a caller can act on; the C interface returns them as status codes.
enum class Status {
  ok = 0,
  invalid_argument = 1,
  invalid_file = 2,
  out_of_memory = 3,
  io = 4,
  numeric = 5,
  internal = 6,
  unavailable = 7  // a device, driver or library that this machine lacks
};

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, Status status = Status::invalid_argument)
      : std::runtime_error(message), status_(status) {}
  Status status() const { return status_; }

 private:
  Status status_;
};

/// fail("{}: expected {}", ...) throws an Error with the formatted message.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void fail_with(Status status, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), status);
}

}  // namespace smelt
