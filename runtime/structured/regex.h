// Regular expressions: the subset that ECMAScript and Python have in common.
#pragma once

#include <string_view>

#include "runtime/structured/grammar.h"

namespace smelt::structured {

/// Parses an expression in UTF-8 to a node that may contain anchors. Supported: literals, escapes, classes,
/// groups with and without capture or name, alternatives, greedy and lazy quantifiers (a lazy one matches the
/// same texts). \d and \w are ASCII, \s is the white space of ECMAScript, and . is any character except \n,
/// \r, U+2028 and U+2029. Throws Error (invalid_argument) that names the construct for everything else:
/// look-around, back references, \b, \p, flags, possessive quantifiers and atomic groups.
NodeId parse_regex(std::string_view expression, Grammar& grammar);

/// Returns the node of the texts that the expression matches as a whole. Throws Error if an anchor is not at
/// an end of the expression or of one of its alternatives.
NodeId whole_match(NodeId expression, Grammar& grammar);

/// Returns the node of the texts that have a match of the expression somewhere. Throws Error like
/// whole_match.
NodeId match_anywhere(NodeId expression, Grammar& grammar);

/// Returns the grammar of the texts that an expression matches as a whole. Throws Error like parse_regex and
/// whole_match.
Grammar regex_grammar(std::string_view expression);

}  // namespace smelt::structured
