// Chat templates, which render the messages of a chat as the text of a prompt. The language is Jinja2 as
// `transformers` runs it: ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loop controls and
// the tag `generation`. https://jinja.palletsprojects.com/en/stable/templates/
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/templates/limits.h"
#include "runtime/templates/template_error.h"

namespace smelt::templates {

struct Tree;

/// Function that returns the current time as text. `format` is a format of strftime.
using Clock = std::function<std::string(const std::string& format)>;
/// Returns the local time of the system in a format of strftime. Throws TemplateError if the result is longer
/// than 4 KiB.
std::string system_time(const std::string& format);

/// Options of one rendering.
struct RenderOptions {
  RenderLimits limits;
  Clock clock = system_time;  // for the template's function strftime_now
};

/// The text that a template has written. `assistant` has the ranges of the text (begin and end, in bytes)
/// that were written inside {% generation %}.
struct Rendered {
  std::string text;
  std::vector<std::pair<size_t, size_t>> assistant;
};

/// A parsed template. It never changes, and several threads may render it concurrently.
class ChatTemplate {
 public:
  /// `name` is for messages. Throws TemplateError with the line: `syntax` if the template is not valid,
  /// `unsupported` for features that Smelt does not have, `limit` if the template is too large or its nesting
  /// too deep.
  static ChatTemplate parse(std::string_view source, std::string_view name = "chat template");

  /// Renders the template. `variables` is an object with one member per variable of the template; the order
  /// of members becomes the order of Python's dicts. Throws TemplateError with the line: `raised` if the
  /// template calls raise_exception (message() is then the argument of the call), `runtime` if Jinja would
  /// raise an error, `unsupported` for features that Smelt does not have, `limit` if a limit of `options` is
  /// exceeded.
  std::string render(const nlohmann::ordered_json& variables, const RenderOptions& options = {}) const;
  /// Does the same, and also returns the ranges of the text inside {% generation %}.
  Rendered render_parts(const nlohmann::ordered_json& variables, const RenderOptions& options = {}) const;

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

 private:
  ChatTemplate(std::string name, std::unique_ptr<const Tree> tree);
  std::string name_;
  std::unique_ptr<const Tree> tree_;
};

}  // namespace smelt::templates
