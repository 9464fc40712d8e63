// Hand-written score_mods ("bodies", codegen/cuda/attention/attention_hooks.h) for tests of the attention
// kernels that use mma instructions.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/cuda/attention/attention_mma.h"
#include "runtime/base/error.h"

namespace smelt::test {

/// A body as CUDA text. The functions, and the names that the statements use, are those of attention_hooks.h.
struct BodyText {
  std::string name;
  std::vector<std::string> types = {}, values = {};  // types and names of the members of BodyArguments
  std::string tile = "return 2;";                    // statements of body_tile
  std::string modified = "modified = score;";        // statement that computes the modified score
  std::string factor = "";                           // statement for the factor of the weight; empty: it is 1
  /// Statements that compute `dscore` and `gradients` from `dmodified`, the gradient of the modified score.
  std::string derivative = "dscore = dmodified;";
  int row = 0, column = 0, element = 0;  // AttentionHooks::row_gradients, column_gradients, element_gradients
  bool plain = true;                     // AttentionHooks::plain_when_unmasked
  bool keeps_or_drops = true;            // if there is a factor, sets AttentionHooks::kept
};

/// Returns the bodies of the tests.
inline const std::vector<BodyText>& attention_bodies() {
  static const std::string kBand = R"(
  if (s0 > t1 - 1 + (int)a.shift || s1 - 1 <= t0 + (int)a.shift - (int)a.window) return 0;
  return s1 - 1 <= t0 + (int)a.shift && s0 > t1 - 1 + (int)a.shift - (int)a.window ? 2 : 1;)";
  static const std::string kCausal = R"(
  if (s0 > t1 - 1 + (int)a.shift) return 0;
  return s1 - 1 <= t0 + (int)a.shift ? 2 : 1;)";
  static const std::string kSeenFromHere =
      "modified = kUnmasked || t + (int)a.shift >= s ? score : -hook_infinity();";
  static const std::vector<std::string> kRandomTypes = {"const unsigned*", "long long"},
                                        kRandomValues = {"random", "id"};
  static const std::string kDropout = "factor = draws[0] >= 6553u ? 65536.0f / (65536 - 6553) : 0.0f;";
  static const auto with_random = [](std::vector<std::string> list, const std::vector<std::string>& random) {
    list.insert(list.end(), random.begin(), random.end());
    return list;
  };
  static const std::vector<BodyText> bodies = {
      {.name = "none"},
      {.name = "causal",
       .types = {"long long"},
       .values = {"shift"},
       .tile = kCausal,
       .modified = kSeenFromHere},
      {.name = "window",
       .types = {"long long", "long long"},
       .values = {"shift", "window"},
       .tile = kBand,
       .modified =
           "const int ahead = t + (int)a.shift - s;\n"
           "  modified = kUnmasked || (ahead >= 0 && ahead < (int)a.window) ? score : -hook_infinity();"},
      {.name = "cap",
       .types = {"const float*", "long long", "const float*"},
       .values = {"slopes", "shift", "cap"},
       .modified = "const float cap = __ldg(a.cap), bent = hook_tanh(score / cap);\n"
                   "  const float distance = fabsf((float)(t + (int)a.shift - s));\n"
                   "  modified = cap * bent - __ldg(a.slopes + h) * distance;",
       .derivative = "const float cap = __ldg(a.cap), bent = hook_tanh(score / cap);\n"
                     "  dscore = dmodified * (1.0f - bent * bent);\n"
                     "  gradients[0] = -dmodified * fabsf((float)(t + (int)a.shift - s));",
       .row = 1,
       .plain = false},
      {.name = "bias",
       .types = {"const float*", "long long", "long long"},
       .values = {"bias", "bias_h", "bias_t"},
       .modified = "modified = score + __ldg(a.bias + h * a.bias_h + t * a.bias_t + s);",
       .derivative = "dscore = gradients[0] = dmodified;",
       .element = 1,
       .plain = false},
      {.name = "key_bias",
       .types = {"const float*", "long long"},
       .values = {"bias", "bias_b"},
       .modified = "modified = score + __ldg(a.bias + b * a.bias_b + s);",
       .derivative = "dscore = gradients[0] = dmodified;",
       .column = 1,
       .plain = false},
      {.name = "segments",
       .types = {"const int*", "const int*", "long long", "long long"},
       .values = {"query_ids", "key_ids", "query_b", "key_b"},
       .tile = R"(
  // The ids of a row never decrease.
  const int* q = a.query_ids + b * a.query_b;
  const int* k = a.key_ids + b * a.key_b;
  const int q0 = __ldg(q + t0), q1 = __ldg(q + t1 - 1), k0 = __ldg(k + s0), k1 = __ldg(k + s1 - 1);
  if (k0 > q1 || k1 < q0) return 0;
  return q0 == q1 && k0 == k1 ? 2 : 1;)",
       .modified = "modified = kUnmasked || __ldg(a.query_ids + b * a.query_b + t) == __ldg(a.key_ids + b * "
                   "a.key_b + s)\n"
                   "                 ? score : -hook_infinity();"},
      {.name = "dropout", .types = kRandomTypes, .values = kRandomValues, .factor = kDropout},
      {.name = "causal_dropout",
       .types = with_random({"long long"}, kRandomTypes),
       .values = with_random({"shift"}, kRandomValues),
       .tile = kCausal,
       .modified = kSeenFromHere,
       .factor = kDropout},
      {.name = "bias_dropout",
       .types = with_random({"const float*", "long long", "long long"}, kRandomTypes),
       .values = with_random({"bias", "bias_h", "bias_t"}, kRandomValues),
       .modified = "modified = score + __ldg(a.bias + h * a.bias_h + t * a.bias_t + s);",
       .factor = kDropout,
       .derivative = "dscore = gradients[0] = dmodified;",
       .element = 1,
       .plain = false},
  };
  return bodies;
}

/// Functions that the bodies call.
inline constexpr const char* kHookFunctions = R"(
SM float hook_infinity() { return __uint_as_float(0x7f800000u); }
SM float hook_tanh(float x) {
  const float e = __expf(2.0f * x);
  return 1.0f - __fdividef(2.0f, e + 1.0f);
}
SM void hook_philox(unsigned (&c)[4], const unsigned* random, unsigned id, unsigned row, unsigned group) {
  unsigned k0 = random[0], k1 = id;
  c[0] = random[1], c[1] = random[2], c[2] = row, c[3] = group;
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned long long p0 = 0xD2511F53ull * c[0], p1 = 0xCD9E8D57ull * c[2];
    c[0] = (unsigned)(p1 >> 32) ^ c[1] ^ k0, c[2] = (unsigned)(p0 >> 32) ^ c[3] ^ k1;
    c[1] = (unsigned)p1, c[3] = (unsigned)p0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
}
)";

/// Returns the hooks of a body, with the text of all their functions.
inline AttentionHooks hooks_of(const BodyText& body) {
  std::string members;
  for (size_t i = 0; i < body.types.size(); ++i)
    members += fmt::format(" {} {};", body.types[i], body.values[i]);
  const bool draws = !body.factor.empty();
  AttentionHooks hooks;
  hooks.draws = draws, hooks.has_factor = draws, hooks.plain_when_unmasked = body.plain;
  if (draws && body.keeps_or_drops)
    hooks.kept = KeptDraws{.factor = 65536.0 / (65536 - 6553), .from = 6553, .keeps_from = true};
  hooks.row_gradients = body.row, hooks.column_gradients = body.column,
  hooks.element_gradients = body.element;
  hooks.text =
      fmt::format("struct BodyArguments {{{} }};\n", members) + kHookFunctions +
      "SM int body_tile(const BodyArguments& a, int b, int h, int t0, int t1, int s0, int s1) {\n  " +
      body.tile +
      "\n}\nSM void body_draw(const BodyArguments& a, int op, long long row, int column8, unsigned "
      "(&words)[4]) {\n" +
      (draws ? "  hook_philox(words, a.random, (unsigned)a.id, (unsigned)row, (unsigned)column8);\n" : "") +
      "}\ntemplate <bool kUnmasked>\nSM void body_forward(const BodyArguments& a, int b, int h, int t, int "
      "s, "
      "const unsigned* draws, float score,\n                     float& modified, float& factor) {\n  factor "
      "= 1.0f;\n  " +
      body.factor + "\n  " + body.modified +
      "\n}\nSM void body_backward(const BodyArguments& a, int b, int h, int t, int s, "
      "const unsigned* draws, float score,\n                      float weight, float product, float delta, "
      "float& "
      "mixed, float& dscore,\n                      float* gradients) {\n  float factor = 1.0f;\n  " +
      body.factor +
      "\n  mixed = weight * factor;\n  const float dmodified = weight * (factor * product - delta);\n  " +
      body.derivative + "\n}\n";
  return hooks;
}

inline const BodyText& body_named(const std::string& name) {
  for (const BodyText& body : attention_bodies())
    if (body.name == name) return body;
  fail("no body is called {}", name);
}

/// Returns the CUDA text of an attention kernel with this body. `name` is the name of the kernel.
inline std::string kernel_text(const MmaAttention& attention, const BodyText& body, const std::string& name) {
  static constexpr const char *kHalf = "const Half*", *kNumbers = "const float*";
  static const std::vector<std::string> kPointers[] = {
      {kHalf, kHalf, kHalf, "Half*", "Half*", "float*"},
      {kHalf, kHalf, kHalf, kHalf, kNumbers, kNumbers, "Half*", "Half*"},
      {kHalf, kHalf, kHalf, kHalf, kNumbers, kNumbers, "Half*"},
      {kHalf, kHalf, kHalf, kHalf, kNumbers, kNumbers, "float*"}};
  static constexpr int kMatrices[] = {5, 6, 5, 4};
  const auto part = static_cast<size_t>(attention.part);
  std::string parameters, arguments, values;
  const auto add = [&](const std::string& type, std::string& list) {
    const std::string separator = list.empty() ? "" : ", ", parameter = fmt::format("p{}", parameters.size());
    parameters += (parameters.empty() ? "" : ", ") + type + " " + parameter;
    list += separator + parameter;
  };
  for (const std::string& type : kPointers[part]) add(type, arguments);
  const int gradients = attention.part == AttentionPart::key_gradients     ? body.column
                        : attention.part == AttentionPart::query_gradients ? body.row
                                                                           : 0;
  for (int i = 0; i < gradients; ++i) add("float*", arguments);
  for (int i = 0; i < 5 + 3 * kMatrices[part]; ++i) add("long long", arguments);
  if (attention.part == AttentionPart::forward) arguments += ", nullptr, 0, 0";  // keys are in no table
  add("float", arguments);
  for (const std::string& type : body.types) add(type, values);
  return "#define SM static __device__ __forceinline__\n" + attention_mma_text(attention) +
         fmt::format(
             "extern \"C\" __global__ void __launch_bounds__(kThreads, kBlocks) {}({}) {{\n"
             "  const BodyArguments body = {{{}}};\n  attention({}, body);\n}}\n",
             name, parameters, values, arguments);
}

}  // namespace smelt::test
