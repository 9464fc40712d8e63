// The library's log messages, which go to the application's own log. There is no listener at first, and the
// library never prints.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace smelt {

/// debug: recurring events. info: once for each plan, session or call. warning: an application should react.
enum class LogLevel : uint8_t { debug, info, warning };

using LogListener = std::function<void(LogLevel, std::string_view message)>;

/// Sets the listener of the whole process; an empty one removes it. It is called by the working threads,
/// concurrently if there are several. When this function returns, the earlier listener is no longer called. A
/// listener's own calls of the library are not logged, and setting another listener in it throws Error. Its
/// exceptions are ignored.
void set_log(LogListener listener);

/// Returns whether anyone listens.
bool is_logged() noexcept;

namespace log_detail {
void tell(LogLevel level, std::string_view message) noexcept;
}

/// Logs a message, which is formatted only if there is a listener.
template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (is_logged()) log_detail::tell(level, fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace smelt
