#include "runtime/templates/chat_template.h"

#include <ctime>

#include "runtime/templates/interpreter.h"
#include "runtime/tokenizers/unicode/utf8.h"

namespace smelt::templates {
namespace {

/// Runs f, and names the template and the line in the message of its errors.
template <typename F>
auto located(const std::string& name, F f) {
  try {
    return f();
  } catch (const TemplateError& error) {
    const std::string place = error.line() ? fmt::format("{}:{}: ", name, error.line()) : name + ": ";
    throw TemplateError(error.fault(), place + error.what(), error.line(), error.message());
  }
}

}  // namespace

std::string system_time(const std::string& format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  // strftime returns 0 both for an empty result and for one that is too long: a mark makes all results
  // longer.
  const std::string marked = format + "|";
  std::string out(4096, '\0');
  const size_t size = std::strftime(out.data(), out.size(), marked.c_str(), &local);
  if (size == 0) fault(Fault::limit, "a time has more than {} bytes", out.size());
  out.resize(size - 1);
  return repair_utf8(out);
}

ChatTemplate::ChatTemplate(std::string name, std::unique_ptr<const Tree> tree)
    : name_(std::move(name)), tree_(std::move(tree)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string_view source, std::string_view name) {
  const std::string title(name);
  return located(title, [&] { return ChatTemplate(title, parse_template(source)); });
}

Rendered ChatTemplate::render_parts(const nlohmann::ordered_json& variables,
                                    const RenderOptions& options) const {
  return located(name_, [&] {
    Budget budget(options.limits);
    const Value values = from_json(budget, variables);
    if (!values.dict()) refuse("the variables of a template are an object, not '{}'", values.type());
    return Interpreter(*tree_, budget, values, options.clock).run();
  });
}

std::string ChatTemplate::render(const nlohmann::ordered_json& variables,
                                 const RenderOptions& options) const {
  return render_parts(variables, options).text;
}

}  // namespace smelt::templates
