// Attention over keys and values that are rows of a table, such as a paged cache, as graphs in text form.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "ir/graph/graph.h"
#include "ir/text/text.h"

namespace smelt::testing {

/// Keys and values are at rows `at` of a state each; `places` is the text that computes `at` from `inputs`.
/// `queries` consecutive queries of each of B rows see the keys up to their own position, %past + t.
inline std::unique_ptr<Module> in_table(std::string_view state, int64_t rows, std::string_view inputs,
                                        std::string_view places, int64_t keys, std::string_view type,
                                        int64_t queries = 1, int64_t width = 16) {
  return parse_module(fmt::format(R"(symbols B <= 3
state "k" : {4}[{0}]
state "v" : {4}[{0}]
graph @main(%q: {4}[B,{6},4,{7}], {1}, %past: i32[B]) {{
  %k = state "k" : {4}[{0}]
  %v = state "v" : {4}[{0}]
  %kt = reshape %k : {4}[{5},2,{7}]
  %vt = reshape %v : {4}[{5},2,{7}]
{2}  %keys = gather %kt, %at {{axis = 0}} : {4}[B,{3},2,{7}]
  %values = gather %vt, %at {{axis = 0}} : {4}[B,{3},2,{7}]
  %y, %lse = attention %q, %keys, %values (%score, %p = %past) {{scale = 0.25}} {{
    %first = broadcast %p {{axes = [0]}} : i32[B,4,{6},{3}]
    %t = iota {{axis = 2}} : i32[B,4,{6},{3}]
    %last = add %first, %t
    %key = iota {{axis = 3}} : i32[B,4,{6},{3}]
    %seen = ge %last, %key
    %low = constant {{value = -inf}} : f32[B,4,{6},{3}]
    %m = select %seen, %score, %low
    return %m
  }} : {4}[B,{6},4,{7}], f32[B,4,{6}]
  return y = %y
}})",
                                  state, inputs, places, keys, type, rows, queries, width));
}

/// rows[b, t] is the row of the cache that has the key of position t, as beams have it.
constexpr const char *kOfRows = R"(  %s = iota {axis = 1} : i32[B,200]
  %n = constant {value = 200} : i32[B,200]
  %begin = mul %rows, %n
  %at = add %begin, %s
)",
                     *kOfPages = R"(  %each = broadcast %pages {axes = [0, 1]} : i32[B,13,16]
  %n = constant {value = 16} : i32[B,13,16]
  %begin = mul %each, %n
  %s = iota {axis = 2} : i32[B,13,16]
  %sum = add %begin, %s
  %at = reshape %sum : i32[B,208]
)";

}  // namespace smelt::testing
