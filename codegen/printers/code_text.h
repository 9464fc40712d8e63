// Code under construction, line by line. Each line is indented by two spaces per open block.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace smelt {

/// Text to which lines of code are appended.
class CodeText {
 public:
  /// Appends a line.
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::string(2 * depth_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  /// Appends a line that opens a block: "for (...)" becomes "for (...) {".
  template <typename... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    const std::string head = fmt::format(format, std::forward<Args>(args)...);
    text_ += std::string(2 * depth_, ' ') + (head.empty() ? "{" : head + " {") + "\n";
    ++depth_;
  }
  /// Appends the line that closes the innermost open block.
  void close() {
    --depth_;
    text_ += std::string(2 * depth_, ' ') + "}\n";
  }
  /// Appends "#pragma unroll", not indented.
  void pragma_unroll() { text_ += "#pragma unroll\n"; }
  void pragma_unroll(int64_t times) { text_ += fmt::format("#pragma unroll {}\n", times); }
  const std::string& text() const { return text_; }
  /// Indents the following lines by two more spaces, without opening a block.
  void indent() { ++depth_; }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace smelt
