// Grammar nodes for JSON texts. The grammar of a JSON Schema is built from them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/structured/grammar.h"
#include "runtime/structured/language.h"

namespace smelt::structured {

/// The layout of JSON texts. There is no white space before and after the text.
struct JsonLayout {
  /// Largest number of white-space characters between two symbols; 0: the compact form.
  uint32_t most_whitespace = 0;
};

/// Builders of nodes for JSON. Equal rules are made once per grammar.
class JsonGrammar {
 public:
  JsonGrammar(Grammar& grammar, JsonLayout layout) : grammar_(grammar), layout_(layout) {}

  Grammar& grammar() { return grammar_; }
  /// White space between symbols.
  NodeId space();
  /// A comma with the white space around it.
  NodeId comma() { return grammar_.sequence({space(), grammar_.bytes(","), space()}); }
  /// A colon with the white space around it.
  NodeId colon() { return grammar_.sequence({space(), grammar_.bytes(":"), space()}); }
  /// value() matches any JSON value. Each of the next five functions matches any value of one type.
  NodeId value();
  NodeId object();
  NodeId array();
  NodeId string();
  NodeId number();
  NodeId integer();
  /// A string of `least` to `most` code points, where each code point is written as itself or as an escape.
  NodeId string_of_length(uint32_t least, uint32_t most);
  /// A string whose text is in a language. Only characters that must be escaped are escaped.
  NodeId string_in(const Language& language);
  /// The string with exactly this text. Only characters that must be escaped are escaped.
  NodeId literal_string(std::string_view text);

 private:
  NodeId named(const char* name, const std::function<NodeId()>& body);
  NodeId character();
  NodeId spelled(const CodePointSet& set);
  NodeId bracketed(const char* open, NodeId element, const char* close);

  Grammar& grammar_;
  JsonLayout layout_;
  std::map<std::string, RuleId> rules_;
  std::map<CodePointSet, NodeId> spelled_;
};

}  // namespace smelt::structured
