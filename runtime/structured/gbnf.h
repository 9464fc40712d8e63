// Grammars in text form: GBNF, the EBNF of llama.cpp.
#pragma once

#include <string_view>

#include "runtime/structured/grammar.h"

namespace smelt::structured {

/// Parses rules `name ::= ...`, of which `root` is the start. Expressions have strings "...", classes [...]
/// and [^...], any character (.), groups, alternatives (|) and repetitions (*, +, ?, {n}, {n,}, {n,m}, {,m});
/// a comment begins with #. Escapes are \n, \r, \t, \\, \", \', \[, \], \-, \^, \/, \xHH, \uHHHH and
/// \UHHHHHHHH, each a code point. Throws Error (invalid_argument) for everything else, and for a rule that is
/// defined twice or missing. The message has the position in bytes.
Grammar parse_gbnf(std::string_view text);

}  // namespace smelt::structured
