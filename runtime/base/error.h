// Error, the exception class of Smelt. A message states the fault, where it is, what was expected and what to
// do.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace smelt {

/// Kinds of failure, for callers that handle them differently. The C interface returns them as status codes.
enum class Status {
  ok = 0,
  invalid_argument = 1,
  invalid_file = 2,
  out_of_memory = 3,
  io = 4,
  numeric = 5,  // NaN or infinity instead of a number
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

/// Throws an Error (invalid_argument) with the formatted message: fail("{}: expected {}", ...).
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws an Error with this status and the formatted message.
template <typename... Args>
[[noreturn]] void fail_with(Status status, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), status);
}

}  // namespace smelt
