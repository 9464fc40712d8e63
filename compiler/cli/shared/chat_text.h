// ChatText: prompts of chats, by the chat template in a model's directory. A template is rendered as
// transformers' apply_chat_template renders it.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/templates/chat_template.h"

namespace smelt::cli {

/// A chat whose next message is wanted.
struct Chat {
  nlohmann::ordered_json messages;                                      // objects with at least "role"
  nlohmann::ordered_json tools = nullptr;                               // JSON Schemas; null: none
  nlohmann::ordered_json documents = nullptr;                           // null: none
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  // others that the template reads
  bool add_generation_prompt = true;    // ends with the beginning of an answer
  bool continue_final_message = false;  // ends within the last message, which the model continues
};

class ChatText {
 public:
  /// Reads the templates and the special tokens of a model directory: chat_template.jinja,
  /// additional_chat_templates, chat_template.json, and the field chat_template of tokenizer_config.json, the
  /// first file that has one. Returns nothing if there is no template. Throws Error (invalid_file) for a
  /// damaged file and for a template that is not valid.
  static std::optional<ChatText> load(const std::filesystem::path& directory);

  /// Returns the prompt. Special tokens are part of it, so it is encoded without adding any. With tools, the
  /// template "tool_use" is used if there is one, else "default". Throws Error, also the one that the
  /// template raises.
  std::string render(const Chat& chat) const;

 private:
  const templates::ChatTemplate& template_for(const Chat& chat) const;

  std::map<std::string, templates::ChatTemplate> templates_;  // by name
  nlohmann::ordered_json special_tokens_ = nlohmann::ordered_json::object();
};

}  // namespace smelt::cli
