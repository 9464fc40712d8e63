// Log messages of the library. They go to a listener that the application sets; initially there is none. The
// library never prints.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace smelt {

/// Level of a message. debug: recurring events. info: events that happen once per plan, session or call.
/// warning: conditions to which an application should react.
enum class LogLevel : uint8_t { debug, info, warning };

using LogListener = std::function<void(LogLevel, std::string_view message)>;

/// Sets the listener of the whole process; an empty function removes it. The listener is called in the
/// threads that do the work, possibly concurrently. When this function returns, the earlier listener is no
/// longer called. Library functions that a listener calls log nothing. set_log throws Error if a listener
/// calls it. Exceptions of a listener are ignored.
void set_log(LogListener listener);

/// Returns whether a message would be logged: there is a listener, and this thread is not within a call of
/// the listener.
bool is_logged() noexcept;

namespace log_detail {
/// Calls the listener.
void tell(LogLevel level, std::string_view message) noexcept;
}  // namespace log_detail

/// Logs a message. It is formatted only if is_logged().
template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (is_logged()) log_detail::tell(level, fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace smelt
