// TemplateError: an error in a chat template or in its rendering, with the line of the template.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace smelt::templates {

/// Kinds of errors, for callers that report them differently.
enum class Fault {
  syntax,       // the template is not valid
  unsupported,  // valid Jinja that Smelt does not render
  runtime,      // an operation that Python or Jinja refuses for these values
  raised,       // the template called raise_exception
  limit         // a limit of RenderLimits is exceeded
};

class TemplateError : public Error {
 public:
  /// `line` is 0 if the line is not known yet.
  TemplateError(Fault fault, const std::string& message, int line = 0)
      : Error(message), fault_(fault), line_(line), message_(message) {}
  /// `what` is the message with the name and line of the template, and `message` the message without them.
  TemplateError(Fault fault, const std::string& what, int line, std::string message)
      : Error(what), fault_(fault), line_(line), message_(std::move(message)) {}
  Fault fault() const { return fault_; }
  int line() const { return line_; }
  const std::string& message() const { return message_; }

 private:
  Fault fault_;
  int line_;
  std::string message_;  // without the name and line of the template
};

/// Throws a TemplateError of this kind with a formatted message.
template <typename... Args>
[[noreturn]] void fault(Fault kind, fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(kind, fmt::format(format, std::forward<Args>(args)...));
}
/// Throws a TemplateError of the kind Fault::runtime, for an operation for which Python or Jinja raises an
/// error.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(Fault::runtime, fmt::format(format, std::forward<Args>(args)...));
}
/// Throws a TemplateError of the kind Fault::unsupported, for an operation that Smelt does not have.
template <typename... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw TemplateError(Fault::unsupported, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace smelt::templates
