// ChatText makes the prompt of a chat with the chat template in a model's directory. The prompt is the same
// as that of apply_chat_template in Hugging Face transformers.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/templates/chat_template.h"

namespace smelt::cli {

/// A chat for which a model generates the next message.
struct Chat {
  nlohmann::ordered_json messages;             // objects with at least "role"
  nlohmann::ordered_json tools = nullptr;      // JSON Schemas; null: none
  nlohmann::ordered_json documents = nullptr;  // null: none
  nlohmann::ordered_json variables =
      nlohmann::ordered_json::object();  // other variables that the template reads
  bool add_generation_prompt = true;     // the prompt ends with the beginning of an answer
  bool continue_final_message = false;   // the prompt ends with the last message, which the model continues
};

class ChatText {
 public:
  /// Reads the templates and the special tokens of a model directory, or of a GGUF file. Templates are in
  /// chat_template.jinja and in the directory additional_chat_templates. If neither exists, they are in
  /// chat_template.json, or else in the field chat_template of tokenizer_config.json. Returns nothing if
  /// there is no template. Throws Error (invalid_file) for a damaged file and for a template that is not
  /// valid.
  static std::optional<ChatText> load(const std::filesystem::path& directory);

  /// Returns the prompt. The template has already written the special tokens into it, so the tokenizer must
  /// not add any. For a chat with tools, the template "tool_use" is used if there is one, else "default".
  /// Throws Error if the template raises an exception or cannot be rendered.
  std::string render(const Chat& chat) const;
  /// Returns the source of the template that is used with tools; empty if there is none.
  const std::string& source_with_tools() const;

 private:
  struct Named {
    std::string source;
    templates::ChatTemplate parsed;
  };
  using Templates = std::map<std::string, Named>;  // the key is the template's name

  /// Returns nothing if there are no sources, which are by name.
  static std::optional<ChatText> of(const std::map<std::string, std::string>& sources,
                                    nlohmann::ordered_json special_tokens);
  /// Returns templates_.end() if there is no such template.
  Templates::const_iterator template_for(bool has_tools) const;

  Templates templates_;
  nlohmann::ordered_json special_tokens_ = nlohmann::ordered_json::object();
};

}  // namespace smelt::cli
