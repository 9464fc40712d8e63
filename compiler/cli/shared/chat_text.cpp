#include "compiler/cli/shared/chat_text.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/engine/weights/gguf/gguf_file.h"
#include "runtime/system/file.h"
#include "runtime/system/json_text.h"
#include "runtime/tokenizers/gguf_tokenizer.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using Ordered = nlohmann::ordered_json;

constexpr const char *kDefault = "default", *kToolUse = "tool_use";

Json object_in(const fs::path& file) {
  if (!fs::is_regular_file(file)) return Json::object();
  Json json = read_json_file(file);
  if (!json.is_object())
    fail_with(Status::invalid_file, "'{}' is {}: expected an object", file.string(), kind_of(json));
  return json;
}

using Sources = std::map<std::string, std::string>;  // template texts by name

void add_files(const fs::path& directory, Sources& sources) {
  if (fs::is_regular_file(directory / "chat_template.jinja"))
    sources[kDefault] = read_text_file(directory / "chat_template.jinja");
  const fs::path more = directory / "additional_chat_templates";
  if (!fs::is_directory(more)) return;
  for (const auto& entry : fs::directory_iterator(more))
    if (entry.path().extension() == ".jinja")
      sources[entry.path().stem().string()] = read_text_file(entry.path());
}

/// A field chat_template: a text, or a list of {"name": ..., "template": ...}.
void add_field(const fs::path& file, const Json& all, Sources& sources) {
  const auto field = all.find("chat_template");
  if (field == all.end() || field->is_null()) return;
  if (field->is_string()) {
    sources[kDefault] = field->get<std::string>();
    return;
  }
  const auto is_named = [](const Json& each) {
    return each.is_object() && each.contains("name") && each["name"].is_string() &&
           each.contains("template") && each["template"].is_string();
  };
  if (!field->is_array() || !std::ranges::all_of(*field, is_named))
    fail_with(Status::invalid_file,
              "'{}': chat_template is {}: expected a text, or a list of names and templates", file.string(),
              brief(*field));
  for (const Json& each : *field)
    sources[each["name"].get<std::string>()] = each["template"].get<std::string>();
}

Sources sources_in(const fs::path& directory) {
  Sources sources;
  add_files(directory, sources);
  for (const char* file : {"chat_template.json", "tokenizer_config.json"})
    if (sources.empty()) add_field(directory / file, object_in(directory / file), sources);
  return sources;
}

/// Adds the texts of bos_token and the like, which templates read as variables.
void add_special_tokens(const Json& all, Ordered& tokens) {
  for (const auto& [name, value] : all.items()) {
    if (!name.ends_with("_token")) continue;
    if (value.is_string()) tokens[name] = value.get<std::string>();
    if (value.is_object() && value.contains("content") && value["content"].is_string())
      tokens[name] = value["content"].get<std::string>();
  }
}

Ordered special_tokens_in(const fs::path& directory) {
  Ordered tokens = Ordered::object();
  for (const char* file : {"special_tokens_map.json", "tokenizer_config.json"})
    add_special_tokens(object_in(directory / file), tokens);
  return tokens;
}

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n\f\v";
  const size_t begin = text.find_first_not_of(kSpace), end = text.find_last_not_of(kSpace);
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

/// Returns the text of the last message: its content, or the text of its last part.
std::string text_of_last(const Ordered& messages) {
  const Ordered content = messages.empty() ? Ordered() : messages.back().value("content", Ordered());
  if (content.is_string()) return content.get<std::string>();
  if (content.is_array())
    for (size_t i = content.size(); i-- > 0;)
      if (content[i].is_object() && content[i].contains("text") && content[i]["text"].is_string())
        return content[i]["text"].get<std::string>();
  fail("continue_final_message: the last message has no text to continue");
}

/// Cuts the prompt after the text of its last message. Templates may trim that text.
std::string up_to(std::string prompt, const std::string& last) {
  const std::string text = trimmed(last);
  const size_t at = text.empty() ? prompt.npos : prompt.rfind(text);
  if (at == prompt.npos)
    fail("continue_final_message: the template does not write the last message's text as it is");
  const size_t whole = prompt.rfind(last);
  prompt.resize(whole != prompt.npos && whole <= at ? whole + last.size() : at + text.size());
  return prompt;
}

Ordered without_nulls(const Ordered& message) {
  Ordered given = Ordered::object();
  for (const auto& [name, value] : message.items())
    if (!value.is_null()) given[name] = value;
  return given;
}

/// Gives a message's reasoning, which clients name in three ways, the two names that templates read.
Ordered with_reasoning(const Ordered& message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    if (!message.contains(name)) continue;
    Ordered named = {{"thinking", message[name]}};
    named.update(message);
    named["reasoning_content"] = message[name];
    return named;
  }
  return message;
}

/// Returns the messages as transformers prepares them: null members are missing ones.
Ordered prepared(Ordered messages) {
  for (Ordered& message : messages)
    if (message.is_object()) message = with_reasoning(without_nulls(message));
  return messages;
}

/// Variables that are not the caller's to choose.
void refuse_own_names(const Ordered& variables) {
  for (const char* name :
       {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"})
    if (variables.contains(name))
      fail("chat_template_kwargs: '{}' is a field of the request: give it there", name);
}

}  // namespace

std::optional<ChatText> ChatText::load(const fs::path& directory) {
  if (is_gguf_file(directory)) {
    const Json settings = gguf_tokenizer_config(read_gguf_metadata(directory));
    Sources sources;
    Ordered tokens = Ordered::object();
    add_field(directory, settings, sources), add_special_tokens(settings, tokens);
    return of(sources, std::move(tokens));
  }
  return fs::is_directory(directory) ? of(sources_in(directory), special_tokens_in(directory)) : std::nullopt;
}

std::optional<ChatText> ChatText::of(const std::map<std::string, std::string>& sources,
                                     nlohmann::ordered_json special_tokens) {
  if (sources.empty()) return std::nullopt;
  ChatText text;
  for (const auto& [name, source] : sources)
    text.templates_.emplace(
        name, Named{source, templates::ChatTemplate::parse(source, "chat template '" + name + "'")});
  text.special_tokens_ = std::move(special_tokens);
  return text;
}

ChatText::Templates::const_iterator ChatText::template_for(bool has_tools) const {
  auto found = has_tools ? templates_.find(kToolUse) : templates_.end();
  if (found == templates_.end()) found = templates_.find(kDefault);
  if (found == templates_.end() && templates_.size() == 1) found = templates_.begin();
  return found;
}

const std::string& ChatText::source_with_tools() const {
  static const std::string none;
  const auto found = template_for(true);
  return found == templates_.end() ? none : found->second.source;
}

std::string ChatText::render(const Chat& chat) const {
  if (chat.add_generation_prompt && chat.continue_final_message)
    fail("continue_final_message and add_generation_prompt exclude each other: give one of them");
  refuse_own_names(chat.variables);
  Ordered variables = special_tokens_;
  variables["messages"] = prepared(chat.messages);
  variables["tools"] = chat.tools, variables["documents"] = chat.documents;
  variables["add_generation_prompt"] = chat.add_generation_prompt;
  for (const auto& [name, value] : chat.variables.items()) variables[name] = value;
  const auto found = template_for(chat.tools.is_array() && !chat.tools.empty());
  if (found == templates_.end())
    fail("there is no chat template 'default' among the {} of the model", templates_.size());
  std::string prompt = found->second.parsed.render(variables);
  return chat.continue_final_message ? up_to(std::move(prompt), text_of_last(chat.messages)) : prompt;
}

}  // namespace smelt::cli
