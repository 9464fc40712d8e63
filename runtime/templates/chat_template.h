// Chat templates: Jinja2 as `transformers` runs it (ImmutableSandboxedEnvironment, trim_blocks,
// lstrip_blocks, loop controls, {% generation %}). https://jinja.palletsprojects.com/en/stable/templates/
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

/// Returns the current time in a format of strftime.
using Clock = std::function<std::string(const std::string& format)>;
/// Reads the local time of the system. Throws TemplateError if the result is longer than 4 KiB.
std::string system_time(const std::string& format);

struct RenderOptions {
  RenderLimits limits;
  Clock clock = system_time;  // of strftime_now
};

/// Text that a template writes; `assistant` are its parts inside {% generation %}: begin and end in bytes.
struct Rendered {
  std::string text;
  std::vector<std::pair<size_t, size_t>> assistant;
};

/// A parsed template. It does not change, and threads may render it concurrently.
class ChatTemplate {
 public:
  /// `name` is for messages. Throws TemplateError with the line: `syntax` if the template is not valid,
  /// `unsupported` for features that Smelt does not have, `limit` if the template is too large or too deep.
  static ChatTemplate parse(std::string_view source, std::string_view name = "chat template");

  /// Renders with these variables (an object; its members and theirs keep their order). Throws TemplateError
  /// with the line: `raised` if the template calls raise_exception (message() is then its text), `runtime`
  /// where Jinja raises an error, `unsupported` and `limit`.
  std::string render(const nlohmann::ordered_json& variables, const RenderOptions& options = {}) const;
  /// Does the same, and returns the parts inside {% generation %}, too.
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
