// What the library has to say of its work, to whoever listens: an application's own log. Nobody listens at
// first, and nothing is ever printed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace smelt {

/// debug: what happens again and again. info: once for each plan, session or call. warning: what an
/// application should look at.
enum class LogLevel : uint8_t { debug, info, warning };

using LogListener = std::function<void(LogLevel, std::string_view message)>;

/// For the whole process; an empty one ends listening. It is called by the thread that works, and by several
/// at once where several work. When this returns, the listener before is called no more. What a listener does
/// with the library is not told to it, and it may not set another: that throws Error. What it throws is
/// passed over.
void set_log(LogListener listener);

/// Whether anyone listens.
bool is_logged() noexcept;

namespace log_detail {
void tell(LogLevel level, std::string_view message) noexcept;
}

/// The message is made only where someone listens.
template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (is_logged()) log_detail::tell(level, fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace smelt
